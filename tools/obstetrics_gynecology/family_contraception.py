"""Contraception: the category that her conditions give a method, and whether she can have it."""

from dataclasses import dataclass

from healthgym.tasks import Call, Case, Evidence, Hazard, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Medication

from .cases import COUNTS, difficulty_of, make_case, read, record_read, scenario, seen, whole
from .tables import table
from .women import told, woman


@dataclass(frozen=True)
class Asks:
    """One scenario: what she wants, the row that decides, and where it can be found."""

    method: str
    row: str
    age: tuple[int, int] = (20, 33)
    illness: str = ""
    smokes: str = ""
    pressure: tuple[int, int] | None = None
    medicine: str = ""
    aura: bool = False
    note: str = ""


SCENARIOS = {
    "nothing": Asks("combined_pill", "none"),
    "aura": Asks("combined_pill", "migraine_with_aura", illness="migraine", aura=True),
    "smoker_few": Asks("combined_pill", "smoker_35_and_over_under_15_a_day", (35, 44), smokes="about 8 cigarettes a day"),
    "no_aura": Asks("combined_pill", "migraine_without_aura", illness="migraine"),
    "pressure_high": Asks("combined_pill", "blood_pressure_160_or_100_and_over", (30, 42), pressure=(166, 102)),
    "smoker_many": Asks("combined_pill", "smoker_35_and_over_15_a_day_or_more", (35, 44), smokes="a pack of 20 a day"),
    "pressure_raised": Asks("combined_pill", "blood_pressure_140_to_159_or_90_to_99", (24, 40), pressure=(148, 92)),
    "copper_aura": Asks("copper_iud", "migraine_with_aura", illness="migraine", aura=True),
    "smoker_young": Asks("combined_pill", "smoker_under_35", (20, 33), smokes="a pack of 20 a day"),
    "carbamazepine_implant": Asks("implant", "takes_carbamazepine_or_phenytoin", illness="epilepsy", medicine="carbamazepine"),
    "carbamazepine_pill": Asks("combined_pill", "takes_carbamazepine_or_phenytoin", illness="epilepsy", medicine="carbamazepine"),
    "coil_with_infection": Asks(
        "copper_iud", "current_pelvic_inflammatory_disease", note="Pelvic inflammatory disease, treatment begun yesterday."
    ),
    "breast_cancer_implant": Asks("implant", "current_breast_cancer", (30, 44), illness="breast_cancer", note="Breast cancer, in treatment now."),
    "pressure_implant": Asks("implant", "blood_pressure_160_or_100_and_over", (30, 42), pressure=(168, 104)),
    "carbamazepine_mini_pill": Asks("progestin_pill", "takes_carbamazepine_or_phenytoin", illness="epilepsy", medicine="carbamazepine"),
}  # fmt: skip
HELD_OUT = ("breast_cancer_implant", "pressure_implant", "carbamazepine_mini_pill")


@task_family(counts={**COUNTS, "train": 24, "test": 6})
def contraception_choice(draw: Draw) -> Case:
    """Ask about smoking and aura, measure, read, look up the category, give the method or not."""
    name, level = scenario(draw, tuple(SCENARIOS), HELD_OUT), difficulty_of(draw)
    a = SCENARIOS[name]
    category = int(table("contraception")[a.row][a.method])
    migraine = a.illness == "migraine"
    smoking = a.smokes or "no cigarettes"
    findings = [
        told("smoking", f"I smoke {smoking}." if a.smokes else "I don't smoke.", ("smoke", "cigarettes", "tobacco"), present=bool(a.smokes)),
        told("aura", _aura(migraine, a.aura), ("aura", "headache", "migraine", "zigzag", "sight", "vision"), present=a.aura),
    ]  # fmt: skip
    systolic, diastolic = a.pressure or (None, None)
    chart = woman(
        draw,
        complaint="I'd like to talk about contraception.",
        age_years=whole(draw, *a.age),
        illnesses=(a.illness,) if a.illness else (),
        medications=(Medication(drug=a.medicine, dose_mg=200, times_per_day=2, indication=a.illness),)
        if a.medicine
        else (),
        systolic_bp_mmhg=None if systolic is None else systolic - whole(draw, 0, 4),
        diastolic_bp_mmhg=diastolic,
        findings=findings,
        reticent=("smoke", "cigarettes", "tobacco") if level == "hard" and a.smokes else (),
        record={"visits": a.note or "Well. Cervical screening up to date.", "booking": "Height and weight normal."},
    )
    asked = Call("ask_patient", patient_id="P1", question="Do you smoke cigarettes?")
    calls = [
        Call("take_vital_signs", patient_id="P1"),
        read("illnesses"),
        read("medicines"),
        read("visits"),
        *([asked] * (2 if chart.persona.reticent_topics else 1)),
        Call("ask_patient", patient_id="P1", question="Do you see zigzag lines, an aura?"),
        Call("contraception_category", method=a.method, condition=a.row),
    ]
    evidence = [
        seen("P1.vital_signs.systolic_bp_mmhg", "blood pressure"),
        *(record_read(section) for section in ("illnesses", "medicines", "visits")),
        seen("P1.findings.smoking", "smoking"),
        Evidence(any_of=("kb.contraception.*",), label="eligibility"),
    ]
    evidence += [seen("P1.findings.aura", "aura")] if migraine else []
    return make_case(
        draw,
        [chart],
        answer={"score": category, "plan": "give_method" if category <= 2 else "choose_other"},
        evidence=evidence,
        solution=calls,
        hazards=(
            Hazard(
                tool="submit_decision",
                where={"plan": "give_method"},
                severity="critical",
                label="method of unacceptable risk",
            ),
        )
        if category == 4
        else (),
        topic=name,
        words={"method": a.method.replace("_", " ")},
    )


def _aura(migraine: bool, aura: bool) -> str:
    if aura:
        return "Yes, I see zigzag lines for half an hour before my head starts."
    return "My head throbs, but I see nothing odd before." if migraine else "I hardly ever have headaches."
