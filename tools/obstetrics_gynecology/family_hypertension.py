"""Hypertension in pregnancy: confirm, classify, treat in time, and choose when the birth should be."""

from dataclasses import dataclass
from typing import Any

from healthgym.tasks import Call, Case, Deadline, Hazard, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Event, Medication

from ..scores.preeclampsia import Signs, classify, is_severe_pressure
from .cases import COUNTS, done, make_case, pick, read, record_read, scenario, seen, whole
from .women import told, woman

TREAT_WITHIN_MINUTES = 45
SEIZURE_MINUTE = 90
AST_UPPER_LIMIT = 40


@dataclass(frozen=True)
class Picture:
    """One scenario: pressure at first and after rest, protein, blood tests, symptoms and weeks."""

    weeks: tuple[int, int]
    pressure: tuple[int, int]
    settled: tuple[int, int] | None = None
    protein: float = 0.1
    labs: tuple[tuple[str, float], ...] = ()
    symptom: bool = False
    early: bool = False
    illness: str = ""


SCENARIOS: dict[str, Picture] = {
    "severe_late": Picture((34, 38), (168, 108), protein=1.6),
    "gestational": Picture((30, 36), (148, 94)),
    "preeclampsia_early": Picture((28, 36), (146, 94), protein=0.9),
    "chronic": Picture((20, 34), (146, 92), early=True),
    "hellp": Picture((27, 33), (164, 106), protein=2.2, labs=(("platelets", 82), ("ast", 180), ("alt", 205))),
    "settles": Picture((26, 36), (161, 98), settled=(128, 78)),
    "severe_asthma": Picture((34, 37), (172, 112), protein=1.2, illness="asthma"),
    "preeclampsia_term": Picture((37, 39), (150, 96), protein=0.6),
    "severe_early_pressure": Picture((26, 33), (166, 104), protein=1.1),
    "kidney_feature": Picture((34, 37), (152, 96), protein=0.2, labs=(("creatinine", 1.3),)),
    "gestational_term": Picture((37, 39), (144, 92)),
    "superimposed": Picture((28, 36), (152, 96), protein=1.0, early=True),
    "myasthenia": Picture((34, 37), (170, 110), protein=1.3, illness="myasthenia_gravis"),
    "symptoms_early": Picture((27, 33), (164, 102), protein=0.8, symptom=True),
    "low_platelets": Picture((34, 38), (148, 94), protein=0.2, labs=(("platelets", 88),)),
}
HELD_OUT = ("myasthenia", "symptoms_early", "low_platelets")
COMPLAINTS = ("The midwife sent me about my pressure.", "My ankles have swollen up.", "I was told to come in at once.")


@task_family(counts={**COUNTS, "train": 24, "test": 6}, version=2)
def hypertension_in_pregnancy(draw: Draw) -> Case:
    """Classify by pressure, history, urine and blood; give what is due and no more; choose the time of birth."""
    name = scenario(draw, tuple(SCENARIOS), HELD_OUT)
    p = SCENARIOS[name]
    days = whole(draw, p.weeks[0] * 7, p.weeks[1] * 7 + 6)
    first = (p.pressure[0] + whole(draw, 0, 5), p.pressure[1] + whole(draw, 0, 3))
    confirmed = p.settled or (first[0] - whole(draw, 0, 2), first[1] - whole(draw, 0, 1))
    labs = {key: value + whole(draw, 0, 6) if value > 10 else value for key, value in p.labs}
    signs = Signs(
        systolic_bp_mmhg=confirmed[0],
        diastolic_bp_mmhg=confirmed[1],
        protein_creatinine_ratio=p.protein,
        platelets_10e9_l=labs.get("platelets", 230),
        ast_times_upper_limit=max(labs.get("ast", 22), labs.get("alt", 20)) / AST_UPPER_LIMIT,
        creatinine_mg_dl=labs.get("creatinine", 0.6),
        has_symptom=p.symptom,
    )
    diagnosis = classify(signs, onset_before_20_weeks=p.early)
    severe = diagnosis == "severe_preeclampsia"
    drugs = drugs_due(severe, is_severe_pressure(*confirmed), days, p.illness)
    plan = plan_for(diagnosis, days, must_deliver=name in ("hellp", "symptoms_early"))
    mother = woman(
        draw,
        complaint=pick(draw, COMPLAINTS),
        gestation_days=days,
        systolic_bp_mmhg=first[0],
        diastolic_bp_mmhg=first[1],
        illnesses=[name for name in (p.illness, "hypertension" if p.early else "") if name],
        medications=(Medication(drug="labetalol", dose_mg=200, times_per_day=2, indication="hypertension"),)
        if p.early
        else (),
        labs=labs,
        tests={"urine_protein_creatinine": f"{p.protein:g} mg/mg"},
        findings=_symptoms(p),
        record={"visits": _visits(draw, p)},
        events=_seizure() if severe and "magnesium_sulfate" in drugs else (),
        extra={"settled_bp_mmhg": confirmed},
    )
    orders = ("urine_protein_creatinine", "full_blood_count", "liver_and_kidney")
    high = is_severe_pressure(*first)
    evidence = [
        *(record_read(section) for section in ("dates", "visits", "illnesses")),
        seen("P1.vital_signs.systolic_bp_mmhg", "blood pressure"),
        *(seen(f"P1.tests.{test}", test.replace("_", " ")) for test in orders),
        seen("P1.findings.preeclampsia_symptoms", "symptoms"),
    ]
    calls = [Call("take_vital_signs", patient_id="P1")]
    if high:
        evidence.append(seen("P1.repeat_bp", "pressure at rest"))
        calls.append(Call("repeat_blood_pressure", patient_id="P1"))
    calls += [Call("order_test", patient_id="P1", test=test) for test in orders]
    calls += [read(section) for section in ("medicines", "illnesses", "dates", "visits")]
    early = [drug for drug in drugs if drug in ("labetalol", "hydralazine", "nifedipine")]
    calls += [Call("give_drug", patient_id="P1", drug=drug) for drug in early]
    calls += [
        Call("ask_patient", patient_id="P1", question="Any headache or trouble with your eyes?"),
        Call("wait", minutes=40),
        *(Call("give_drug", patient_id="P1", drug=drug) for drug in drugs if drug not in early),
    ]
    return make_case(
        draw,
        [mother],
        answer={"diagnosis": diagnosis, "plan": plan},
        end_state={"P1.given": done(*drugs)},
        evidence=evidence,
        solution=calls,
        deadlines=_deadlines(early),
        hazards=(
            Hazard(tool="submit_decision", where={"plan": {"in": ["continue_outpatient", "deliver_at_37_weeks"]}},
                   severity="critical", label="severe pre-eclampsia sent home"),
        ) if severe else (),
        topic=name,
    )  # fmt: skip


def drugs_due(severe: bool, severe_pressure: bool, gestation_days: int, illness: str) -> list[str]:
    """Return the drugs of the hypertension protocol for this patient, in the order of giving.

    Source: ACOG practice bulletin 222, 2020; that beta-blockers may worsen myasthenia: Narayanaswami et al., Neurology
    2021;96:114-122.
    """
    drugs = []
    if severe_pressure:
        drugs.append("hydralazine" if illness in ("asthma", "myasthenia_gravis") else "labetalol")
    if severe and illness != "myasthenia_gravis":
        drugs.append("magnesium_sulfate")
    if severe and gestation_days < 34 * 7:
        drugs.append("betamethasone")
    return drugs


def plan_for(diagnosis: str, gestation_days: int, *, must_deliver: bool) -> str:
    """Return when the birth should be.

    Source: ACOG practice bulletin 222, 2020; committee opinion 831, 2021.
    """
    if diagnosis in ("no_hypertension", "chronic_hypertension"):
        return "continue_outpatient"
    if diagnosis == "severe_preeclampsia":
        return "deliver_now" if must_deliver or gestation_days >= 34 * 7 else "expectant_in_hospital"
    return "deliver_now" if gestation_days >= 37 * 7 else "deliver_at_37_weeks"


def _symptoms(p: Picture) -> tuple[Any, ...]:
    lay = (
        "My head has been splitting since yesterday, tablets don't help, and I see sparks."
        if p.symptom
        else "No headache, my eyes are fine, no pain up there."
    )
    topics = (
        "headache",
        "head",
        "eyes",
        "vision",
        "spots",
        "sparks",
        "pain",
        "ribs",
        "upper",
        "belly",
        "symptoms",
        "unwell",
    )
    return (told("preeclampsia_symptoms", lay, topics, present=p.symptom),)


def _visits(draw: Draw, p: Picture) -> str:
    if p.early:
        return f"8 weeks {whole(draw, 142, 148)}/{whole(draw, 90, 94)} mmHg, urine clear; 16 weeks {whole(draw, 136, 142)}/88 mmHg."
    return f"8 weeks {whole(draw, 104, 118)}/{whole(draw, 62, 74)} mmHg, urine clear; 16 weeks {whole(draw, 102, 116)}/66 mmHg."


def _seizure() -> tuple[Event, ...]:
    return (
        Event(
            minute=SEIZURE_MINUTE,
            text="She convulses for a minute and is drowsy afterwards.",
            facts=(("findings.seizure", True, ""),),
            vital_signs={"gcs": 12, "spo2_percent": 91},
            unless={"P1.given": {"contains": "magnesium_sulfate"}},
        ),
    )


def _deadlines(drugs: list[str]) -> tuple[Deadline, ...]:
    if not drugs:
        return ()
    return (
        Deadline(
            tool="give_drug", where={"drug": {"in": ["labetalol", "hydralazine", "nifedipine"]}}, after="P1.repeat_bp",
            within_minutes=TREAT_WITHIN_MINUTES, severity="critical", label="severe pressure treated late",
        ),
    )  # fmt: skip
