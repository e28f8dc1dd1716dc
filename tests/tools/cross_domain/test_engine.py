"""Doses, scores, the clock, services, treatment effects and the data files of the care pathways."""

from collections import Counter

import pytest
from walking import DOMAIN, calls, give, is_call, patient, result

from healthgym.errors import ContentError
from healthgym.tasks import SPLITS, Call, Suite
from healthgym.tools.cross_domain.doses import accepted, clearance, dose_range, usual
from healthgym.tools.cross_domain.loading import _check, pathways
from healthgym.tools.cross_domain.risk_scores import blatchford_points, simplified_pesi_points, treatment_line_mg_l
from healthgym.tools.cross_domain.steps import split_step
from healthgym.world import World

SUITE = Suite([DOMAIN])
CASES = tuple(SUITE.cases())


def rule(pathway, dose):
    return pathways()[pathway].doses[dose]


@pytest.mark.parametrize(
    ("pathway", "dose", "age", "weight", "low", "high"),
    [
        ("stroke", "alteplase", 70, 80, 72, 72),  # 0.9 x 80
        ("stroke", "alteplase", 70, 110, 90, 90),  # 99, at most 90
        ("chest_pain", "heparin", 60, 70, 4900, 7000),  # 70 to 100 x 70
        ("chest_pain", "heparin@nstemi", 60, 90, 4000, 4000),  # 5400, at most 4000
        ("chest_pain", "tenecteplase", 60, 59.9, 30, 30),
        ("chest_pain", "tenecteplase", 60, 60, 35, 35),
        ("chest_pain", "tenecteplase", 74, 95, 50, 50),
        ("chest_pain", "tenecteplase", 75, 95, 25, 25),  # half from 75 years
        ("chest_pain", "clopidogrel", 75, 70, 300, 300),
        ("chest_pain", "clopidogrel", 76, 70, 75, 75),  # no loading dose above 75 years
        ("chest_pain", "enoxaparin", 80, 80, 60, 60),  # 0.75 x 80
        ("dka", "insulin", 40, 70, 7, 7),  # 0.1 x 70
        ("sepsis", "crystalloid", 60, 70, 2100, 2100),  # 30 x 70
        ("sepsis", "noradrenaline", 60, 80, 4, 8),  # 0.05 to 0.1 x 80 micrograms/min
        ("postoperative_pe", "fondaparinux", 60, 49.9, 5, 5),
        ("postoperative_pe", "fondaparinux", 60, 50, 7.5, 7.5),
        ("postoperative_pe", "fondaparinux", 60, 100, 7.5, 7.5),
        ("postoperative_pe", "fondaparinux", 60, 101, 10, 10),
        ("paediatric_fever", "gentamicin", 0.04, 3.5, 14, 14),  # 4 x 3.5
        ("paediatric_fever", "ceftriaxone", 5, 60, 4000, 4000),  # 4800 to 6000, at most 4000
        ("overdose", "acetylcysteine", 30, 60, 9000, 9000),  # 150 x 60
        ("overdose", "acetylcysteine", 30, 110, 15000, 15000),  # at most 15000
        ("eclampsia", "levetiracetam", 30, 80, 4500, 4500),  # 4800, at most 4500
        ("eclampsia", "lorazepam", 30, 80, 4, 4),  # 8, at most 4
        ("hip_fracture", "paracetamol", 80, 50, 750, 750),  # 15 x 50
    ],
)
def test_doses_by_hand(pathway, dose, age, weight, low, high):
    assert dose_range(rule(pathway, dose), age, weight) == pytest.approx((low, high))
    bottom, top = accepted(rule(pathway, dose), age, weight)
    assert bottom <= usual(rule(pathway, dose), age, weight) <= top


def test_only_amounts_by_weight_may_be_rounded():
    assert accepted(rule("stroke", "alteplase"), 70, 80) == pytest.approx((68.4, 75.6))  # 72 less and plus 5 %
    assert accepted(rule("chest_pain", "tenecteplase"), 60, 65) == (35, 35)


def test_blatchford_by_hand():
    # urea 70 mg/dL 6, haemoglobin 9 in a man 6, systolic 85 3, pulse 100 1, melaena 1, fainted 2, liver 2, heart 2 = 23
    assert blatchford_points(70, 9, 85, 100, "male", True, True, True, True) == 23
    assert blatchford_points(18.1, 13, 110, 99, "male", False, False, False, False) == 0
    assert blatchford_points(18.2, 13, 110, 99, "male", False, False, False, False) == 2
    assert blatchford_points(10, 12.9, 120, 80, "male", False, False, False, False) == 1
    assert blatchford_points(10, 11.9, 120, 80, "female", False, False, False, False) == 1
    assert blatchford_points(10, 12.0, 109, 80, "female", False, False, False, False) == 1


def test_simplified_pesi_by_hand():
    assert simplified_pesi_points(80, False, False, 109, 100, 90) == 0
    assert simplified_pesi_points(81, True, True, 110, 99, 89) == 6


def test_the_treatment_line_halves_every_four_hours():
    assert [treatment_line_mg_l(hours) for hours in (4, 8, 12)] == pytest.approx([150, 75, 37.5])


def test_a_kidney_complication_lowers_the_clearance_and_nothing_else_does():
    assert 13 < clearance(patient("postoperative_pe", "low_risk", "kidney_failure", "hard").charts["P1"]) < 30
    assert clearance(patient("postoperative_pe", "low_risk").charts["P1"]) > 55


def toolkit(case):
    return DOMAIN.toolkit(World(case.charts))


def test_what_another_service_does_is_refused_until_the_patient_is_there():
    case = patient("chest_pain", "stemi_pci")
    kit = toolkit(case)
    refused = kit.call("start_treatment", {"patient_id": "P1", "treatment": "primary_pci"})
    assert refused.error is not None and "cath_lab" in refused.error and "emergency" in refused.error
    assert kit.call("transfer", {"patient_id": "P1", "to": "cath_lab"}).error is None
    assert kit.call("start_treatment", {"patient_id": "P1", "treatment": "primary_pci"}).error is None
    assert "interventional" in kit.call("read_brief", {"patient_id": "P1"}).content


def test_a_unit_or_drug_that_does_not_fit_is_explained():
    kit = toolkit(patient("dka", "potassium_mid"))
    wrong_unit = kit.call("give_drug", dict(give("insulin_regular", 7, "mg").arguments))
    assert wrong_unit.error is not None and "units/h" in wrong_unit.error
    unknown = kit.call("give_drug", dict(give("insulin", 7, "units/h").arguments))
    assert unknown.error is not None and "insulin_regular" in unknown.error


def test_potassium_rises_only_after_it_was_given_and_time_has_passed():
    case = patient("dka", "potassium_low", labs={"potassium": (2.8, 2.8), "ph_venous": (7.1, 7.1)})
    kit = toolkit(case)
    assert kit.lab("P1", "potassium", 300) == 2.8
    kit.call("give_drug", dict(give("potassium_chloride", 15, "mmol/h").arguments))
    assert (kit.lab("P1", "potassium", 44), kit.lab("P1", "potassium", 45)) == (2.8, 3.7)


def test_a_patient_deteriorates_unless_treated():
    case = patient("sepsis", "fluid_responsive")
    treated = result(case, calls(case))
    assert "Mottled" not in " ".join(call.content for call in treated.episode.world.calls)
    neglected = result(case, [Call("wait", minutes=60), Call("wait", minutes=20)])
    assert "[minute 70, P1] Mottled" in neglected.episode.world.calls[-1].content
    assert neglected.episode.world.vital_signs("P1").systolic_bp_mmhg == 68


def test_the_timeline_tells_what_was_done_and_what_is_awaited():
    case = patient("sepsis", "fluid_responsive")
    made = [Call("order_test", patient_id="P1", test="lactate"), give("crystalloid", 2000, "mL")]
    played = result(case, [*made, Call("timeline", patient_id="P1")])
    told = played.episode.world.calls[-1].content
    assert "minute 0: order_test lactate" in told and "minute 1: give_drug crystalloid 2000.0 mL" in told
    assert "lactate at minute 20" in told


def test_a_treatment_that_looks_inside_tells_what_it_found():
    case = patient("gi_bleed", "bleeding_ulcer")
    played = result(case, calls(case))
    endoscopy = next(call for call in played.episode.world.calls if is_call(call, "start_treatment", "endoscopy"))
    assert "Forrest Ia" in endoscopy.content and "P1.reports.endoscopy" in endoscopy.learnt


def test_there_are_enough_tasks_and_splits_share_neither_patients_nor_wordings():
    counts = Counter(case.task.split for case in CASES)
    assert sum(counts.values()) == 250 and counts == {"train": 170, "val": 20, "test": 40, "test_ood": 20}
    templates = {split: {c.task.template for c in CASES if c.task.split == split} for split in SPLITS}
    assert not any(templates[a] & templates[b] for a in SPLITS for b in SPLITS if a < b)
    assert len({repr(case.charts["P1"]) for case in CASES}) == 250


def test_held_out_branches_appear_in_test_ood_only():
    for case in CASES:
        branch = pathways()[case.task.family].branch(case.task.tags["branch"])
        assert branch.held_out == (case.task.split == "test_ood"), case.task.id


@pytest.mark.parametrize("name", list(pathways()))
def test_every_family_covers_all_difficulties_and_all_its_branches(name):
    tasks = [case.task for case in CASES if case.task.family == name]
    assert {task.difficulty for task in tasks} == {"easy", "medium", "hard"}
    assert {task.tags["branch"] for task in tasks} == {branch.id for branch in pathways()[name].branches}


@pytest.mark.parametrize("field", ["decision", "disposition", "next_action", "due_in_minutes"])
def test_no_gold_is_common(field):
    for split in ("train", "test", "test_ood"):
        golds = Counter(c.task.criteria.answer[field].gold for c in CASES if c.task.split == split)
        assert golds.most_common(1)[0][1] <= 0.35 * sum(golds.values()), (field, split)


@pytest.mark.parametrize("pathway", list(pathways().values()), ids=list(pathways()))
def test_the_guide_names_everything_that_the_right_paths_ask_for(pathway):
    for branch in pathway.branches:
        assert branch.decision in pathway.guide or branch.decision in pathway.decisions
        for step in branch.steps:
            verb, item = split_step(step)
            if verb == "start":
                assert item in pathway.guide, (branch.id, item)
            if verb == "give":
                assert pathway.doses[item].drug.split("_")[0] in pathway.guide, (branch.id, item)
            if verb == "consult":
                assert item in pathway.guide, (branch.id, item)


def test_every_limit_names_a_source_and_a_number():
    for pathway in pathways().values():
        for branch in pathway.branches:
            for limit in branch.limits:
                assert any(character.isdigit() for character in limit.source), (branch.id, limit.step)


def test_a_branch_that_names_nothing_known_is_refused(tmp_path):
    pathway = pathways()["stroke"]
    branch = pathway.branches[0].model_copy(update={"condition": "ischemic_strok"})
    with pytest.raises(ContentError, match="ischaemic_stroke"):
        _check(pathway, branch, tmp_path / "stroke.yaml")


def test_a_step_with_an_unknown_verb_is_refused():
    with pytest.raises(ContentError, match="known: observe"):
        split_step("inject aspirin")


def test_nobody_waits_below_34_weeks_with_symptoms_or_hellp():
    # ACOG practice bulletin 222, 2020, and SMFM, Am J Obstet Gynecol 2011;205:191: HELLP (platelets below 100, enzymes above
    # twice the limit) and lasting headache, visual disturbance or upper abdominal pain rule expectant management out.
    waiting = [case for case in CASES if case.task.tags["branch"] == "severe_early"]
    assert waiting
    for case in waiting:
        chart = case.charts["P1"]
        told = {finding.id for finding in chart.findings if finding.present}
        assert not told & {"headache", "visual_spots", "upper_belly_pain_pregnancy", "seizure_witnessed"}
        labs = {name: result.value for name, result in chart.lab_results.items()}
        assert labs["platelets"] >= 100
        assert max(labs["alt"], labs["ast"]) <= 2 * 40
        assert labs["creatinine"] <= 1.1
