"""On each pathway the right path earns everything, and each important mistake loses what it should."""

from dataclasses import replace

import pytest
from walking import (
    CRITICAL,
    SERIOUS,
    also,
    before_handover,
    calls,
    changed,
    earlier,
    give,
    is_call,
    labels,
    late,
    patient,
    result,
    without,
)

from healthgym.tasks import Call
from healthgym.tools.cross_domain.loading import pathways

ALL = [(name, branch.id) for name, pathway in pathways().items() for branch in pathway.branches]
TWISTED = [
    (name, branch, twist.id) for name, pathway in pathways().items() for twist in pathway.twists for branch in twist.branches
]  # fmt: skip


@pytest.mark.parametrize(("pathway", "branch"), ALL)
def test_the_right_path_earns_everything(pathway, branch):
    case = patient(pathway, branch)
    played = result(case, calls(case))
    assert (played.reward, played.grade.success, labels(played)) == (1.0, True, "")


@pytest.mark.parametrize(("pathway", "branch", "twist"), TWISTED)
def test_every_complication_has_a_right_path(pathway, branch, twist):
    case = patient(pathway, branch, twist, "hard")
    assert result(case, calls(case)).reward == 1.0


LATE = [
    # (pathway, branch, minutes lost, before which call, reward, what is told); the limits stand in the pathway files
    ("chest_pain", "stemi_pci", 12, ("order_test", "ecg"), SERIOUS, "test ecg later than 10 min"),
    ("chest_pain", "stemi_pci", 75, ("give_drug", "aspirin"), CRITICAL, "start primary_pci later than 90 min"),
    ("chest_pain", "stemi_lysis", 25, ("give_drug", "tenecteplase"), CRITICAL, "give tenecteplase later than 30 min"),
    ("dka", "potassium_mid", 55, ("give_drug", "crystalloid"), CRITICAL, "give crystalloid later than 60 min"),
    ("stroke", "lysis", 40, ("give_drug", "alteplase"), CRITICAL, "give alteplase later than 60 min"),
    ("stroke", "thrombectomy", 45, ("start_treatment", "thrombectomy"), SERIOUS, "start thrombectomy later than 90 min"),
    ("sepsis", "fluid_responsive", 55, ("give_drug", "piperacillin_tazobactam"), CRITICAL, "later than 60 min"),
    ("sepsis", "refractory_shock", 90, ("give_drug", "noradrenaline"), SERIOUS, "noradrenaline later than 120 min"),
    ("postoperative_pe", "high_risk", 50, ("give_drug", "heparin"), CRITICAL, "give heparin later than 60 min"),
    ("paediatric_fever", "septic_shock", 60, ("give_drug", "ceftriaxone"), CRITICAL, "later than 60 min"),
    ("gi_bleed", "varices", 60, ("give_drug", "octreotide"), SERIOUS, "give octreotide later than 60 min"),
    ("eclampsia", "eclampsia", 25, ("give_drug", "magnesium_sulfate"), CRITICAL, "later than 20 min"),
    ("eclampsia", "severe_late", 50, ("give_drug", "labetalol"), CRITICAL, "give labetalol later than 60 min"),
    ("overdose", "above_the_line", 90, ("give_drug", "acetylcysteine"), CRITICAL, "later than 120 min"),
    ("overdose", "methadone", 10, ("give_drug", "naloxone"), CRITICAL, "give naloxone later than 10 min"),
    ("hip_fracture", "fit", 30, ("give_drug", "paracetamol"), SERIOUS, "give paracetamol later than 30 min"),
]  # fmt: skip


@pytest.mark.parametrize(("pathway", "branch", "minutes", "call", "reward", "told"), LATE)
def test_a_late_step_costs_what_its_limit_says(pathway, branch, minutes, call, reward, told):
    case = patient(pathway, branch)
    played = result(case, late(case, minutes, *call))
    assert told in labels(played)
    # two antibiotics or two limits may be late together: then no more than the first costs
    assert played.reward <= reward + 1e-9 and played.reward > 0
    if reward == SERIOUS and labels(played).count("later than") == 1:
        assert played.reward == pytest.approx(SERIOUS)


HARM = [
    # (pathway, branch, call too many, what is told)
    ("chest_pain", "stemi_pci", give("tenecteplase", 40, "mg"), "fibrinolysis although primary PCI is in time"),
    ("chest_pain", "nstemi", give("tenecteplase", 40, "mg"), "fibrinolysis without ST elevation"),
    ("chest_pain", "dissection", give("aspirin", 300, "mg"), "antithrombotic in dissection"),
    ("dka", "potassium_high", give("potassium_chloride", 10, "mmol/h"), "although it is above 5.0"),
    ("stroke", "too_late", give("alteplase", 60, "mg"), "thrombolysis later than 4.5 hours"),
    ("stroke", "haemorrhage", give("alteplase", 60, "mg"), "thrombolysis in bleeding"),
    ("stroke", "lysis", give("prothrombin_complex", 2000, "units"), "coagulation factors"),
    ("sepsis", "no_shock", give("crystalloid", 2000, "mL"), "fluid bolus without hypotension in heart failure"),
    ("postoperative_pe", "intermediate_high", give("alteplase", 100, "mg"), "within 3 weeks of surgery"),
    ("paediatric_fever", "first_weeks", give("ceftriaxone", 200, "mg"), "ceftriaxone in the first weeks"),
    ("gi_bleed", "very_low_risk", give("packed_red_cells", 1, "units"), "transfusion without need"),
    ("eclampsia", "epilepsy", give("magnesium_sulfate", 4, "g"), "magnesium for an epileptic fit"),
    ("overdose", "tricyclic", give("flumazenil", 0.2, "mg"), "flumazenil with a tricyclic"),
    ("overdose", "below_the_line", give("acetylcysteine", 9000, "mg"), "antidote below the line"),
    ("hip_fracture", "fit", give("ketorolac", 15, "mg"), "NSAID in hip fracture"),
]


@pytest.mark.parametrize(("pathway", "branch", "call", "told"), HARM)
def test_what_is_contraindicated_caps_the_reward(pathway, branch, call, told):
    case = patient(pathway, branch)
    played = result(case, before_handover(case, call))
    assert told in labels(played)
    assert played.reward <= CRITICAL


@pytest.mark.parametrize(
    ("pathway", "branch", "twist", "call"),
    [
        ("chest_pain", "nstemi", "aspirin_allergy", give("aspirin", 300, "mg")),
        ("sepsis", "fluid_responsive", "penicillin_allergy", give("piperacillin_tazobactam", 4.5, "g")),
        ("paediatric_fever", "septic_shock", "cephalosporin_allergy", give("ceftriaxone", 1400, "mg")),
        ("gi_bleed", "varices", "cephalosporin_allergy", give("ceftriaxone", 1, "g")),
        ("postoperative_pe", "low_risk", "heparin_thrombocytopenia", give("heparin", 5000, "units")),
        ("postoperative_pe", "low_risk", "kidney_failure", give("enoxaparin", 70, "mg")),
        ("stroke", "lysis_after_pressure", "asthma", give("labetalol", 10, "mg")),
        ("eclampsia", "severe_late", "asthma", give("labetalol", 20, "mg")),
        ("hip_fracture", "fit", "kidney_failure", give("morphine", 2.5, "mg")),
    ],
)
def test_allergy_kidneys_and_asthma_forbid_the_first_choice(pathway, branch, twist, call):
    case = patient(pathway, branch, twist, "hard")
    assert result(case, before_handover(case, call)).reward <= CRITICAL


@pytest.mark.parametrize(
    ("pathway", "branch", "first", "before", "reward", "told"),
    [
        ("dka", "potassium_mid", ("give_drug", "insulin_regular"), ("wait", None), CRITICAL, "insulin before the potassium"),
        ("dka", "potassium_low", ("give_drug", "insulin_regular"), ("wait", 60), CRITICAL, "while the potassium is below"),
        ("stroke", "lysis", ("give_drug", "alteplase"), ("wait", None), CRITICAL, "before CT has excluded bleeding"),
        ("stroke", "too_late", ("give_drug", "aspirin"), ("start_treatment", "swallow_screen"), SERIOUS, "wrong order"),
        ("sepsis", "fluid_responsive", ("give_drug", "piperacillin_tazobactam"), ("start_treatment", "blood_cultures"),
         SERIOUS, "piperacillin_tazobactam before blood_cultures"),
        ("sepsis", "meningitis", ("give_drug", "ceftriaxone"), ("give_drug", "dexamethasone"), SERIOUS, "wrong order"),
        ("paediatric_fever", "first_weeks", ("give_drug", "ampicillin"), ("order_test", "csf_wbc"), SERIOUS, "wrong order"),
        ("overdose", "methadone", ("give_drug", "naloxone"), ("start_treatment", "bag_mask_ventilation"), SERIOUS,
         "wrong order"),
    ],
)  # fmt: skip
def test_the_wrong_order_costs(pathway, branch, first, before, reward, told):
    case = patient(pathway, branch)
    played = result(case, earlier(case, first, before))
    assert told in labels(played)
    assert played.reward == pytest.approx(reward)


def test_thrombolysis_while_the_pressure_is_too_high_caps_the_reward():
    # 194 mmHg or more at arrival; labetalol needs 10 minutes, so alteplase right after it meets 185 mmHg or more
    case = patient("stroke", "lysis_after_pressure")
    played = result(case, without(case, "give_drug", "labetalol"))
    assert "systolic pressure of 185" in labels(played)
    assert played.reward <= CRITICAL


@pytest.mark.parametrize("pathway", list(pathways()))
def test_each_missing_heading_of_a_handover_costs_the_success(pathway):
    branch = pathways()[pathway].branches[0]
    case = patient(pathway, branch.id)
    to, headings = next(iter(branch.notes.items()))
    note = next(call for call in calls(case) if is_call(call, "write_handover", to)).arguments["note"]
    parts = note.rstrip(".").split("; ")
    assert len(parts) == len(headings)
    for left_out in range(len(parts)):
        shorter = "; ".join(part for place, part in enumerate(parts) if place != left_out) + "."
        played = result(case, changed(case, "write_handover", to, note=shorter))
        assert not played.grade.success, parts[left_out]
        assert played.grade.parts[f"state.P1.handover.{to}"] == pytest.approx((len(parts) - 1) / len(parts))
        assert played.reward < 0.25 / 0.85


def test_a_note_that_denies_an_allergy_or_runs_on_fails():
    case = patient("sepsis", "fluid_responsive", "penicillin_allergy", "hard")
    note = next(call for call in calls(case) if call.tool == "write_handover").arguments["note"]
    assert "allergic to penicillin" in note
    denied = result(case, changed(case, "write_handover", note=f"{note} No known allergies."))
    # five headings said, one untruth: (5 - 1) / 5
    assert denied.grade.parts["state.P1.handover.high_dependency"] == pytest.approx(4 / 5)
    wordy = result(case, changed(case, "write_handover", note=note + " and so on" * 60))
    assert wordy.grade.parts["state.P1.handover.high_dependency"] == 0.0


def test_a_move_without_a_handover_is_a_hazard():
    case = patient("stroke", "lysis")
    played = result(case, without(case, "write_handover"))
    assert "moved without a handover: stroke_unit" in labels(played)
    assert not played.grade.success


@pytest.mark.parametrize("pathway", list(pathways()))
def test_another_decision_place_action_or_time_is_wrong(pathway):
    path = pathways()[pathway]
    branch = path.branches[0]
    case = patient(pathway, branch.id)
    other = next(item for item in path.decisions if item != branch.decision)
    action = next(item for item in path.next_actions if item != branch.next.action)
    for arguments in ({"decision": other}, {"disposition": "theatre"}, {"next_action": action}, {"due_in_minutes": 7}):
        played = result(case, changed(case, "submit_pathway", **arguments))
        assert not played.grade.success and played.reward < 0.25 / 0.85


def test_a_dose_for_another_weight_fails_and_an_overdose_is_a_hazard():
    # alteplase 0.9 mg/kg at 80 kg is 72 mg, right from 68.4 to 75.6; 1.3 times that (98.3 mg) is an overdose
    case = patient("stroke", "lysis", weight_kg=(80, 80))
    assert (
        result(case, changed(case, "give_drug", "alteplase", amount=70.0)).grade.parts["state.P1.doses.alteplase"] == 1
    )
    low = result(case, changed(case, "give_drug", "alteplase", amount=60.0))
    assert not low.grade.success and "overdose" not in labels(low)
    high = result(case, changed(case, "give_drug", "alteplase", amount=100.0))
    assert "overdose of alteplase" in labels(high)


def test_a_second_dose_is_a_wrong_dose():
    case = patient("sepsis", "fluid_responsive")
    twice = result(case, also(case, give("piperacillin_tazobactam", 4.5, "g")))
    assert not twice.grade.success


def test_what_is_not_indicated_is_a_serious_hazard():
    case = patient("dka", "potassium_mid")
    played = result(case, also(case, Call("start_treatment", patient_id="P1", treatment="withhold_sglt2")))
    assert "withhold_sglt2 is not indicated" in labels(played)
    assert played.reward == pytest.approx(SERIOUS)


@pytest.mark.parametrize("spelling", ["alteplase", " Alteplase "])
def test_a_guard_sees_a_drug_under_every_spelling_that_the_tool_takes(spelling):
    case = patient("stroke", "lysis_after_pressure")
    case = replace(
        case, task=replace(case.task, solution=tuple(changed(case, "give_drug", "alteplase", drug=spelling)))
    )
    assert result(case, calls(case)).reward == 1.0
    played = result(case, without(case, "give_drug", "labetalol"))
    assert "thrombolysis with a systolic pressure of 185 mmHg or more" in labels(played)
    assert played.reward <= CRITICAL
