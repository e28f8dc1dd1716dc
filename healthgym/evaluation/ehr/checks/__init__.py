"""The second way to every answer: plain Python over one patient's rows, written from the questions' words alone.

A module offers `CHECKS = {template name: function}`. A function takes the patient's rows and the question's fields and
returns the answer, None where nothing was measured. It shares no query with the template.
"""

from collections.abc import Callable, Mapping

from healthgym.evaluation.ehr.answers import Value
from healthgym.evaluation.ehr.checks.rows import Fields, PatientRows

Check = Callable[[PatientRows, Fields], Value]


def checks_of(database: str) -> Mapping[str, Check]:
    """Return the checks of a database by template name."""
    from healthgym.evaluation.ehr.checks import eicu, mimic3_course, mimic3_labs, mimic3_scores, mimic3_treatment

    if database == "eicu":
        return eicu.CHECKS
    return {**mimic3_labs.CHECKS, **mimic3_scores.CHECKS, **mimic3_treatment.CHECKS, **mimic3_course.CHECKS}
