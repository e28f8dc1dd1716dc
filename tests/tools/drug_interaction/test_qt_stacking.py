"""What the family about the QT interval calls right."""

import re

from healthgym.registry import load_domain
from healthgym.tasks import Suite


def test_two_qt_prolonging_drugs_are_never_kept_at_500_ms_or_more():
    # AHA/ACCF scientific statement, Circulation 2010;121:1047-1060: above 500 ms the offending drug is stopped.
    watched = 0
    for case in Suite([load_domain("drug_interaction")]).cases(families=("qt_stacking",)):
        (chart,) = case.charts.values()
        qtc = int(re.search(r"QTc (\d+) ms", chart.studies["ecg"].report)[1])
        if case.task.criteria.answer["action"].gold == "monitor":
            watched += 1
            assert qtc < 500, case.task.id
    assert watched >= 5
