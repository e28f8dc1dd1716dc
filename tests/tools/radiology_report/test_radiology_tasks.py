"""Radiology tasks: oracles, splits, critical calls and their deadline, hazards of a report, templates."""

from collections import Counter
from functools import lru_cache

import pytest

from healthgym.registry import load_domain
from healthgym.tasks import Call, Suite
from healthgym.validation.replay import play
from healthgym.world import World

pytest.importorskip("skimage")

DOMAIN = "radiology_report"


@lru_cache(maxsize=1)
def suite() -> Suite:
    return Suite([load_domain(DOMAIN)])


@lru_cache(maxsize=1)
def critical_case():
    """A stroke call with early ischaemia: ischaemia must be called to the stroke team."""
    ids = suite().ids(DOMAIN, "train", ["stroke_ct"])
    return next(c for c in map(suite().case, ids) if "P1.critical_recipient" in c.task.criteria.end_state)


def run(case, calls):
    return play(case, load_domain(DOMAIN), [[call] for call in calls])


@pytest.mark.parametrize("family", sorted(load_domain(DOMAIN).families))
def test_solutions_earn_full_marks(family):
    for split in ("train", "test_ood"):
        case = suite().case(f"{DOMAIN}/{family}/{split}/0001")
        assert run(case, case.task.solution).reward == 1.0


def test_there_are_enough_tasks_spread_over_difficulties_and_splits():
    counts = suite().counts()[DOMAIN]
    total = sum(counts.values())
    assert total >= 250
    assert 0.65 < counts["train"] / total < 0.75
    tasks = [case.task for case in suite().cases(DOMAIN)]
    assert min(Counter(task.difficulty for task in tasks).values()) > total / 5
    own = {name for name, spec in load_domain(DOMAIN).tools.items() if spec.domain == DOMAIN}
    assert len(own) >= 14


def test_held_out_conditions_and_wordings_appear_in_test_ood_alone():
    tasks = [case.task for case in suite().cases(DOMAIN)]
    for field in ("condition", "template"):
        seen = {(task.family, getattr(task, field)) for task in tasks if task.split != "test_ood"}
        held = {(task.family, getattr(task, field)) for task in tasks if task.split == "test_ood"}
        shared = {name for name in seen & held if name[0] not in SAME_CONDITION or field == "template"}
        assert not shared


SAME_CONDITION = ("liver_observation", "thyroid_nodule", "incidental_nodule", "treatment_response")
"""Families that hold out a feature or a number of lesions of the same condition."""


def test_a_critical_result_not_called_is_a_critical_hazard():
    case = critical_case()
    silent = [call for call in case.task.solution if call.tool != "call_critical_result"]
    played = run(case, silent)
    assert played.grade.is_critical and played.reward <= 0.1


def test_a_critical_result_called_after_31_minutes_is_late():
    case = critical_case()
    opened, first, *rest = case.task.solution
    # Each look takes a minute: 31 of them pass the limit of 30 minutes after the first.
    calls = [opened, first, *[first] * 31, *rest]
    played = run(case, calls)
    assert "critical result not called in time" in {hit.label for hit in played.grade.hazards}


def test_an_alarm_for_nothing_is_wrong():
    ids = suite().ids(DOMAIN, "train", ["lung_screening"])
    case = suite().case(ids[0])
    alarm = Call("call_critical_result", patient_id="P1", finding="nodule", recipient="surgery")
    played = run(case, [*case.task.solution[:-1], alarm, case.task.solution[-1]])
    assert not played.grade.success
    assert "alarm without a critical finding" in {hit.label for hit in played.grade.hazards}


def test_a_report_that_leaves_out_the_critical_finding_or_names_the_wrong_side_harms():
    case = critical_case()
    *looks, submit = case.task.solution
    none = Call("submit_report", patient_id="P1", findings=[{"finding": "early_ischaemia", "present": False}])
    assert "critical finding missed" in {hit.label for hit in run(case, [*looks, none]).grade.hazards}
    turned = {"left": "right", "right": "left"}
    findings = [
        {**item, "location": turned[item["location"].split("_")[0]] + "_" + item["location"].split("_")[1]}
        if item["present"] else item
        for item in submit.arguments["findings"]
        if item["finding"] != "old_infarct"
    ]  # fmt: skip
    wrong = Call("submit_report", **{**submit.arguments, "findings": findings})
    assert "wrong side" in {hit.label for hit in run(case, [*looks, wrong]).grade.hazards}


def test_findings_are_graded_part_by_part_and_further_negatives_are_free():
    case = suite().case(f"{DOMAIN}/renal_cyst/train/0001")
    *looks, submit = case.task.solution
    mass = dict(submit.arguments["findings"][0])
    place = "left_upper_pole" if mass["location"] != "left_upper_pole" else "right_upper_pole"
    played = run(
        case, [*looks, Call("submit_report", **{**submit.arguments, "findings": [{**mass, "location": place}]})]
    )
    # finding, present, size and descriptors are right, location is not: 4 of 5 parts.
    assert played.grade.parts["answer.findings"] == pytest.approx(0.8)
    free = [*submit.arguments["findings"], {"finding": "cystic_mass", "present": False}]
    assert run(case, [*looks, Call("submit_report", **{**submit.arguments, "findings": free})]).reward == 1.0


def test_a_report_may_use_only_the_words_of_its_template():
    case = suite().case(f"{DOMAIN}/renal_cyst/train/0001")
    toolkit = load_domain(DOMAIN).toolkit(World(case.charts))
    entry = {"finding": "cistic_mass", "present": True}
    answer = toolkit.call("submit_report", {"patient_id": "P1", "findings": [entry]})
    assert answer.error and "cystic_mass" in answer.error
    draft = toolkit.call("check_draft", {"patient_id": "P1", "findings": []}).content
    assert "cystic_mass is not stated" in draft and "category is empty" in draft


def test_a_report_without_looking_earns_nothing():
    case = critical_case()
    played = run(case, [case.task.solution[-2], case.task.solution[-1]])
    assert played.grade.evidence_share == 0 and played.reward == 0
