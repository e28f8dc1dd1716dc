"""Tools tell what they should and no more; changes stay on the chart; harm is judged by what was done."""

import pytest

from healthgym.tasks import AnswerField, Call, Criteria, Task
from healthgym.tools.drug_interaction.hazards import HAZARD_RULES
from healthgym.tools.drug_interaction.regimen import OTC_FINDING, current
from healthgym.tools.drug_interaction.toolkit import DrugInteractionToolkit
from healthgym.world import Allergy, Chart, ExecutedCall, Finding, LabResult, Medication, World

OTC = ({"drug": "st_johns_wort", "dose_mg": 300.0, "times_per_day": 3.0},)


def chart(**changes):
    finding = Finding(
        id=OTC_FINDING, reveal="ask", present=True, text="", lay="I take St John's wort.", topics=("herbal",)
    )
    base = {
        "patient_id": "P7", "age_years": 80, "sex": "female", "weight_kg": 60.0, "findings": (finding,),
        "lab_results": {"creatinine": LabResult(analyte="creatinine", value=1.5, unit="mg/dL")},
        "medications": (
            Medication(drug="warfarin", dose_mg=5), Medication(drug="ibuprofen", dose_mg=400, times_per_day=3),
            Medication(drug="metoprolol", dose_mg=50, times_per_day=2), Medication(drug="gabapentin", dose_mg=300, times_per_day=3),
        ),
        "extra": {"otc": OTC},
    }  # fmt: skip
    return Chart(**{**base, **changes})


class Desk:
    """A toolkit over one patient that records executed calls as an episode does."""

    def __init__(self, **changes):
        self.world = World({"P7": chart(**changes)})
        self.tools = DrugInteractionToolkit(self.world)

    def __call__(self, tool, **arguments):
        result = self.tools.call(tool, arguments)
        self.world.calls.append(
            ExecutedCall(
                tool=tool, arguments=result.arguments, effect=result.effect, turn=1, minutes=0, error=result.error
            )
        )
        return result.content

    def hazards(self, targets="warfarin,ibuprofen", keep_one=""):
        task = Task(
            id="t", domain="drug_interaction", split="train", prompt="p", provenance="test",
            criteria=Criteria(answer={"action": AnswerField(gold="stop")}), solution=(Call("submit_review"),),
            tags={"targets": targets, "keep_one": keep_one},
        )  # fmt: skip
        return [(hit.label, hit.severity) for rule in HAZARD_RULES for hit in rule(task, self.world)]


def test_check_pair_grades_warfarin_with_ibuprofen_in_either_order():
    desk = Desk()
    first, second = (
        desk("check_pair", drug_a="warfarin", drug_b="ibuprofen"),
        desk("check_pair", drug_a="Ibuprofen", drug_b="warfarin"),
    )
    assert "major; mechanism bleeding" in first and first.split(":", 1)[1] == second.split(":", 1)[1]
    assert desk.world.facts["kb.pair.ibuprofen+warfarin"].value == "major"


def test_screening_names_pairs_without_grading_them():
    text = Desk()("screen_regimen", patient_id="P7")
    assert "ibuprofen + warfarin" in text
    assert not any(word in text for word in ("major", "moderate", "contraindicated", "bleeding", "substitute"))


def test_a_product_that_was_bought_is_unknown_until_asked_about():
    desk = Desk()
    assert "st_johns_wort" not in desk("view_medications", patient_id="P7")
    assert desk("stop_drug", patient_id="P7", drug="st_johns_wort").startswith("Error")
    desk("ask_patient", patient_id="P7", question="Any herbal products?")
    assert "st_johns_wort" in desk("view_medications", patient_id="P7")


def test_creatinine_must_be_ordered_and_waited_for():
    desk = Desk()
    assert "1.5" not in desk("view_patient", patient_id="P7")
    assert desk("collect_results", patient_id="P7").startswith("Error")
    desk("order_lab", patient_id="P7", analyte="creatinine")
    assert not desk.world.knows("P7.lab_results.creatinine")
    assert "creatinine 1.5 mg/dL" in desk("collect_results", patient_id="P7")
    assert desk.world.minutes == 45


def test_renal_advice_falls_with_clearance():
    # 80 y, 60 kg, creatinine 1.5, female: (140 - 80) * 60 / (72 * 1.5) * 0.85 = 28.3 mL/min; gabapentin below 30: 700 mg.
    desk = Desk()
    assert desk("cockcroft_gault", age_years=80, weight_kg=60, creatinine_mg_dl=1.5, sex="female") == "CrCl 28.3 mL/min"
    assert "at most 700 mg/day" in desk("renal_dose_advice", drug="gabapentin", clearance_ml_min=28.3)
    assert "no reduction" in desk("renal_dose_advice", drug="gabapentin", clearance_ml_min=90)


def test_changes_are_on_the_list_afterwards():
    desk = Desk()
    desk("substitute_drug", patient_id="P7", drug="ibuprofen", new_drug="paracetamol")
    desk("change_dose", patient_id="P7", drug="gabapentin", dose_mg=300, times_per_day=2)
    taken = current(desk.world, "P7")
    assert "ibuprofen" not in taken and taken["paracetamol"].daily_mg == 3000 and taken["gabapentin"].daily_mg == 600


def test_a_refused_change_leaves_the_chart_alone():
    desk = Desk()
    before = desk.world.state.hash()
    for arguments in ({"drug": "aspirin"}, {"drug": "no such drug"}):
        assert desk("stop_drug", patient_id="P7", **arguments).startswith("Error")
    assert desk("substitute_drug", patient_id="P7", drug="ibuprofen", new_drug="warfarin").startswith("Error")
    assert desk.world.state.hash() == before


def test_the_right_substitution_harms_nobody():
    desk = Desk()
    desk("substitute_drug", patient_id="P7", drug="ibuprofen", new_drug="paracetamol")
    assert desk.hazards() == []


@pytest.mark.parametrize(
    ("changes", "tool", "arguments", "hazard"),
    [
        ({}, "substitute_drug", {"drug": "ibuprofen", "new_drug": "naproxen"}, ("new interaction", "serious")),
        ({"allergies": (Allergy(substance="penicillin"),)}, "substitute_drug", {"drug": "ibuprofen", "new_drug": "amoxicillin"},
         ("allergy", "critical")),
        ({"comorbidities": ("asthma",)}, "substitute_drug", {"drug": "metoprolol", "new_drug": "propranolol"},
         ("contraindication", "critical")),
        # gabapentin at 28 mL/min: at most 700 mg a day; 1,200 is above it, 2,400 is more than twice
        ({}, "change_dose", {"drug": "gabapentin", "dose_mg": 400, "times_per_day": 3}, ("dose above the limit", "serious")),
        ({}, "change_dose", {"drug": "gabapentin", "dose_mg": 800, "times_per_day": 3}, ("dose above the limit", "critical")),
        ({}, "stop_drug", {"drug": "metoprolol"}, ("abrupt stop", "serious")),
        ({}, "stop_drug", {"drug": "gabapentin"}, ("stopped a medicine not at fault", "serious")),
    ],
)  # fmt: skip
def test_harm_that_was_done_is_found(changes, tool, arguments, hazard):
    desk = Desk(**changes)
    assert not desk(tool, patient_id="P7", **arguments).startswith("Error")
    assert hazard in desk.hazards()


def test_stopping_an_innocent_anticoagulant_is_critical():
    desk = Desk()
    desk("stop_drug", patient_id="P7", drug="warfarin")
    assert ("stopped a medicine not at fault", "critical") in desk.hazards(targets="gabapentin")


def test_a_tapered_stop_is_not_abrupt():
    desk = Desk()
    desk("stop_drug", patient_id="P7", drug="metoprolol", taper=True)
    assert desk.hazards(targets="metoprolol") == []


def test_one_of_two_duplicates_may_go_but_not_both():
    pair = (Medication(drug="ibuprofen", dose_mg=400), Medication(drug="naproxen", dose_mg=500))
    desk = Desk(medications=pair)
    desk("stop_drug", patient_id="P7", drug="naproxen")
    assert desk.world.state.get("P7.duplications") == 0
    assert desk.hazards("ibuprofen,naproxen", "ibuprofen,naproxen") == []
    desk("stop_drug", patient_id="P7", drug="ibuprofen")
    assert ("stopped a medicine not at fault", "serious") in desk.hazards("ibuprofen,naproxen", "ibuprofen,naproxen")


def test_a_review_that_names_an_unknown_drug_is_refused():
    text = Desk()("submit_review", patient_id="P7", problem="interaction", drugs=["warfarrin"], action="stop")
    assert text.startswith("Error") and "warfarin" in text
