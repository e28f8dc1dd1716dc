"""What the tools of clinical diagnosis show, hide, refuse and write."""

from dataclasses import replace

import numpy as np
import pytest

from healthgym.knowledge_base import load
from healthgym.knowledge_base.patients import sample_patient
from healthgym.registry import load_domain
from healthgym.tasks import grade_field
from healthgym.tools.clinical_diagnosis.cases import icd10_field, with_labs, with_negatives
from healthgym.tools.clinical_diagnosis.hazards import HAZARD_RULES
from healthgym.tools.clinical_diagnosis.safety import first_safe, obstacles, trimester_of
from healthgym.world import Allergy, Chart, ExecutedCall, Medication, Persona, World

DOMAIN = "clinical_diagnosis"


def patient(condition: str = "pneumonia", **changes) -> Chart:
    chart = sample_patient(
        np.random.default_rng(3), condition, age_years=50.0, sex="male", allergies=(), persona=Persona()
    )
    healthy_kidneys = with_labs(with_negatives(chart), {"creatinine": 0.9})
    return replace(healthy_kidneys, **{"comorbidities": (), "medications": (), **changes})


def desk(chart: Chart):
    world = World({"P1": chart})
    return world, load_domain(DOMAIN).toolkit(world)


def ask(toolkit, tool: str, **arguments) -> str:
    result = toolkit.call(tool, arguments)
    assert result.error is None, result.error
    return result.content


def error(toolkit, tool: str, **arguments) -> str:
    result = toolkit.call(tool, arguments)
    assert result.error is not None, result.content
    return result.error


def test_the_domain_has_its_own_tools_and_its_instruments():
    tools = load_domain(DOMAIN).tools
    assert sum(spec.domain == DOMAIN for spec in tools.values()) >= 20
    instruments = {
        "curb65", "wells_pe", "wells_dvt", "perc", "cha2ds2_vasc", "has_bled", "heart_score", "meld_3_0", "child_pugh",
        "egfr_ckd_epi", "anion_gap", "corrected_sodium", "corrected_calcium", "alveolar_arterial_gradient",
    }  # fmt: skip
    assert instruments <= set(tools)


def test_a_result_is_unknown_until_its_turnaround_has_passed():
    world, toolkit = desk(with_labs(patient(), {"sodium": 122, "troponin_i": 5}))
    # sodium takes 30 minutes
    assert "result in 30 min" in ask(toolkit, "order_labs", patient_id="P1", tests=["sodium"])
    assert "pending until minute 30" in ask(toolkit, "results_so_far", patient_id="P1")
    assert not world.knows("P1.labs.sodium")
    ask(toolkit, "wait_for_results", minutes=30)
    assert "Sodium 122 mmol/L (136-145) low" in ask(toolkit, "results_so_far", patient_id="P1")
    assert world.facts["P1.labs.sodium"].value == 122


def test_a_panel_gives_each_of_its_tests_and_critical_values_are_marked():
    world, toolkit = desk(with_labs(patient(), {"potassium": 7.1}))
    ask(toolkit, "order_labs", patient_id="P1", tests=["Kidney and salts"])
    ask(toolkit, "wait_for_results", minutes=30)
    # critical above 6.5 mmol/L
    assert "Potassium 7.1 mmol/L (3.5-5) critically high" in ask(toolkit, "results_so_far", patient_id="P1")
    assert {f"P1.labs.{name}" for name in ("sodium", "potassium", "creatinine", "bicarbonate")} <= set(world.facts)


def test_a_study_that_finds_nothing_reads_normal_and_one_that_does_says_so():
    world, toolkit = desk(patient())
    ask(toolkit, "order_study", patient_id="P1", study="Chest xray")
    ask(toolkit, "order_study", patient_id="P1", study="ct_head")
    ask(toolkit, "wait_for_results", minutes=40)
    text = ask(toolkit, "results_so_far", patient_id="P1")
    assert "Consolidation" in text and "No bleeding" in text
    assert world.knows("P1.studies.chest_xray")


def test_unknown_tests_conditions_and_drugs_are_named_with_the_nearest():
    _, toolkit = desk(patient())
    assert "potassium" in error(toolkit, "order_labs", patient_id="P1", tests=["potasium"])
    assert "ct_head" in error(toolkit, "order_study", patient_id="P1", study="ct hed")
    assert "pneumonia" in error(toolkit, "disease_profile", condition="pnemonia")
    assert "amoxicillin" in error(toolkit, "prescribe", patient_id="P1", drug="amoxicilin")
    assert "levothyroxine" in error(toolkit, "submit_diagnosis", first_management="levothyroxin")
    assert "ferritin" in error(toolkit, "submit_diagnosis", next_test="feritin")


def test_asking_and_examining_reveal_only_what_they_are_about():
    world, toolkit = desk(patient("graves_disease"))
    ask(toolkit, "examine_system", patient_id="P1", system="respiratory")
    assert not world.knows("P1.findings.goitre")
    assert "thyroid" in ask(toolkit, "examine_system", patient_id="P1", system="head_neck").lower()
    assert world.knows("P1.findings.goitre")
    ask(toolkit, "ask_history", patient_id="P1", question="Do you cough?")
    assert world.facts["P1.findings.cough"].value is False
    assert not world.knows("P1.findings.heat_intolerance")


def test_a_region_is_not_called_normal_beside_something_abnormal():
    world, toolkit = desk(patient("pneumonia"))
    text = ask(toolkit, "examine_system", patient_id="P1", system="respiratory")
    assert "bronchial breathing" in text and "Clear chest." not in text
    assert not world.knows("P1.findings.crackles_both_bases")
    _, healthy = desk(patient("cystitis", sex="female"))
    assert "Clear chest." in ask(healthy, "examine_system", patient_id="P1", system="respiratory")


def test_earlier_results_are_read_and_counted_as_seen():
    chart = with_labs(patient(), {"tsh": 0.02})
    world, toolkit = desk(replace(chart, extra={"earlier": {"tsh": 0.02, "ecg": "Sinus tachycardia."}}))
    text = ask(toolkit, "earlier_results", patient_id="P1")
    assert "0.02 mU/L (0.5-4) low" in text and "Sinus tachycardia." in text
    assert world.knows("P1.labs.tsh") and world.knows("P1.studies.ecg")
    _, without = desk(patient())
    assert ask(without, "earlier_results", patient_id="P1") == "No earlier results."


def test_suggestions_put_the_best_fit_first_and_comparison_shows_what_tells_apart():
    _, toolkit = desk(patient())
    best = ask(toolkit, "suggest_diagnoses", findings=["jaw claudication", "scalp tenderness"])
    assert best.startswith("giant_cell_arteritis 1.3")  # 0.6 + 0.7
    apart = ask(toolkit, "compare_diagnoses", first="giant_cell_arteritis", second="migraine_attack")
    assert "scalp tenderness: 70% against 0%" in apart
    assert "No finding matches" in error(toolkit, "suggest_diagnoses", findings=["zzz"])


def test_safety_checks_answer_from_the_monographs():
    _, toolkit = desk(patient())
    assert "Avoid" in ask(toolkit, "check_cross_reactivity", allergy="penicillin", drug="amoxicillin")
    assert "No cross-reactivity" in ask(toolkit, "check_cross_reactivity", allergy="penicillin", drug="doxycycline")
    assert "simvastatin" in ask(
        toolkit, "check_interactions", drug="clarithromycin", taken=["simvastatin", "paracetamol"]
    )
    assert ask(toolkit, "check_renal_dose", drug="methotrexate", creatinine_clearance_ml_min=20) != (
        "No adjustment on record."
    )
    assert "avoid" in ask(toolkit, "check_contraindications", drug="doxycycline", pregnancy_weeks=20)
    assert "heart failure: avoid" in ask(
        toolkit, "check_contraindications", drug="diclofenac", illnesses=["heart failure"]
    )


def test_trimesters_begin_at_14_and_28_weeks():
    assert [trimester_of(weeks) for weeks in (5, 13.9, 14, 27.9, 28, 40)] == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("changes", "drug", "kind"),
    [
        ({"allergies": (Allergy(substance="penicillin"),)}, "amoxicillin", "allergy"),
        ({"allergies": (Allergy(substance="penicillin"),)}, "cefalexin", "allergy"),  # side chain of ampicillin
        ({"sex": "female", "pregnancy_weeks": 20.0}, "doxycycline", "pregnancy"),
        ({"medications": (Medication(drug="simvastatin", dose_mg=20),)}, "clarithromycin", "interaction"),
        ({"comorbidities": ("heart_failure",)}, "diclofenac", "illness"),
        ({"condition": "ulcerative_colitis_flare"}, "naproxen", "illness"),
    ],
)
def test_each_obstacle_is_found_and_is_a_hazard_when_prescribed(changes, drug, kind):
    chart = patient(**changes)
    assert set(obstacles(chart, drug)) == {kind}
    world, toolkit = desk(chart)
    ask(toolkit, "prescribe", patient_id="P1", drug=drug)
    world.calls.append(
        ExecutedCall(tool="prescribe", arguments={"patient_id": "P1", "drug": drug}, effect="write", turn=1, minutes=0)
    )
    (rule,) = HAZARD_RULES
    (hit,) = rule(None, world)
    assert hit.severity == ("critical" if kind in ("allergy", "pregnancy") else "serious")


def test_kidneys_bar_a_drug_at_its_limit():
    # Cockcroft-Gault at 50 years, 80 kg, 4.0 mg/dL, man: 90 x 80 / (72 x 4) = 25 mL/min
    chart = with_labs(patient(weight_kg=80.0), {"creatinine": 4.0})
    assert "kidney" in obstacles(chart, "naproxen")
    assert obstacles(with_labs(chart, {"creatinine": 0.9}), "naproxen") == {}


def test_the_first_safe_drug_of_a_list_is_taken():
    chart = patient(
        allergies=(Allergy(substance="penicillin"), Allergy(substance="tetracycline")),
        medications=(Medication(drug="levetiracetam", dose_mg=500),),
    )
    assert first_safe(chart, ["amoxicillin", "doxycycline", "clarithromycin"]) == "clarithromycin"
    assert first_safe(chart, ["amoxicillin", "doxycycline"]) is None


def test_the_code_of_one_condition_is_right_for_no_other():
    conditions = load().conditions
    for name in conditions:
        field = icd10_field(name)
        right = [other for other, c in conditions.items() if grade_field(field, c.icd10) == 1.0]
        assert right == [name]
    # giant cell arteritis is M31.6 and TTP M31.19: M31 alone is not enough
    assert grade_field(icd10_field("giant_cell_arteritis"), "M31.9") == 0.0
    assert grade_field(icd10_field("pneumonia"), "J18.1") == 1.0
