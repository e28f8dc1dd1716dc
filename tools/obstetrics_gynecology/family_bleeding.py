"""Postpartum haemorrhage: stage and cause, the uterotonic this woman can have, and everything in time."""

from dataclasses import dataclass

from healthgym.tasks import Call, Case, Deadline, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Allergy, Event, Finding

from ..scores.obstetric_haemorrhage import bleeding_stage, has_abnormal_vital_signs
from .cases import COUNTS, done, make_case, read, record_read, scenario, seen, whole
from .women import child, found, woman

WORSE_MINUTE = 30
CAUSES = {
    "atony": "uterine_massage",
    "retained_tissue": "remove_retained_tissue",
    "trauma": "repair_tear",
    "coagulopathy": "replace_clotting_factors",
}


@dataclass(frozen=True)
class Bleed:
    """One scenario: cause, stage as first found, illness that limits the uterotonics."""

    cause: str
    stage: int
    illness: str = "plain"


SCENARIOS = {
    "atony_1": Bleed("atony", 1),
    "tissue_2": Bleed("retained_tissue", 2),
    "atony_2_hypertension": Bleed("atony", 2, "hypertension"),
    "tear_3": Bleed("trauma", 3),
    "atony_3_asthma": Bleed("atony", 3, "asthma"),
    "clotting_3": Bleed("coagulopathy", 3),
    "tear_1": Bleed("trauma", 1),
    "atony_3": Bleed("atony", 3),
    "tissue_1": Bleed("retained_tissue", 1),
    "atony_1_hypertension": Bleed("atony", 1, "hypertension"),
    "atony_2_both": Bleed("atony", 2, "both"),
    "tissue_3": Bleed("retained_tissue", 3),
    "clotting_2": Bleed("coagulopathy", 2),
}
HELD_OUT = ("atony_2_both", "tissue_3", "clotting_2")
SECOND = {
    "plain": "methylergonovine",
    "asthma": "methylergonovine",
    "hypertension": "carboprost",
    "both": "misoprostol",
}


@task_family(counts={**COUNTS, "train": 24, "test": 6})
def postpartum_haemorrhage(draw: Draw) -> Case:
    """Stage by loss and vital signs, find the cause, treat it by the protocol before she gets worse."""
    name = scenario(draw, tuple(SCENARIOS), HELD_OUT)
    b = SCENARIOS[name]
    hypertensive = b.illness in ("hypertension", "both")
    illnesses = [
        n for n, has in (("asthma", b.illness in ("asthma", "both")), ("gestational_hypertension", hypertensive)) if has
    ]
    lost, pulse, systolic = _measures(draw, b.stage, hypertensive)
    stage = bleeding_stage(lost, has_abnormal_vital_signs(pulse, systolic, 62, 98))
    measures = [CAUSES[b.cause]] + (["massive_transfusion"] if stage == 3 else [])
    drugs = ["tranexamic_acid"] + (["oxytocin", SECOND[b.illness]] if b.cause == "atony" else [])
    team = ["haemorrhage_team"] if stage >= 2 else []
    mother = woman(
        draw,
        complaint="I feel it running out of me.",
        weeks_text="after birth",
        illnesses=illnesses,
        allergies=(Allergy(substance="penicillin", reaction="rash"),) if draw.rng.random() < 0.2 else (),
        heart_rate_per_min=pulse,
        systolic_bp_mmhg=systolic,
        diastolic_bp_mmhg=62,
        findings=_findings(b.cause),
        labs={"platelets": 62 if b.cause == "coagulopathy" else 210},
        tests={"clotting": "INR 1.9, fibrinogen 120 mg/dL" if b.cause == "coagulopathy" else "INR 1.0, fibrinogen 430 mg/dL"},
        record={
            "dates": f"Gave birth 25 minutes ago at {whole(draw, 38, 41)} weeks.",
            "labour_notes": _labour(draw, b.cause),
        },
        events=(_collapse(measures),),
        extra={"blood_loss": [
            {"minute": 0, "ml": lost},
            {"minute": WORSE_MINUTE, "ml": lost + whole(draw, 5, 9) * 50},
        ]},
    )  # fmt: skip
    calls = [
        Call("take_vital_signs", patient_id="P1"),
        Call("measure_blood_loss", patient_id="P1"),
        Call("order_test", patient_id="P1", test="clotting"),
        *(Call("call_team", patient_id="P1", team=name) for name in team),
        Call("examine", patient_id="P1", region="genitourinary"),
        read("medicines"),
        read("illnesses"),
        *(Call("give_drug", patient_id="P1", drug=drug) for drug in drugs),
    ]
    if b.cause == "coagulopathy":
        calls.append(Call("wait", minutes=25))
    calls += [Call("start_measure", patient_id="P1", measure=measure) for measure in measures[::-1]]
    evidence = [
        seen("P1.vital_signs.systolic_bp_mmhg", "vital signs"),
        seen("P1.blood_loss_ml", "blood loss"),
        seen("P1.findings.womb", "womb"),
    ]
    evidence += [record_read("illnesses")] if b.cause == "atony" else []
    evidence += [seen("P1.tests.clotting", "clotting")] if b.cause == "coagulopathy" else []
    return make_case(
        draw,
        [mother, child("newborn")],
        answer={"diagnosis": b.cause, "score": stage},
        end_state={"P1.given": done(*drugs), "P1.measures": done(*measures), "P1.teams": done(*team)},
        evidence=evidence,
        solution=calls,
        deadlines=_deadlines(stage),
        topic=name,
        difficulty="easy" if b.illness == "plain" and stage == 1 else "hard" if stage == 3 else "medium",
    )


def _measures(draw: Draw, stage: int, hypertensive: bool) -> tuple[int, int, int]:
    """Draw blood loss in mL, pulse and systolic pressure that make the wanted stage."""
    systolic = whole(draw, 142, 152) if hypertensive else whole(draw, 106, 120)
    if stage == 1:
        return whole(draw, 11, 19) * 50, whole(draw, 80, 94), systolic
    if stage == 2:
        return whole(draw, 20, 29) * 50, whole(draw, 84, 94), systolic
    if draw.rng.random() < 0.5:  # heavy loss, or hidden by a body that still compensates
        return whole(draw, 31, 40) * 50, whole(draw, 112, 134), whole(draw, 84, 98)
    return whole(draw, 14, 28) * 50, whole(draw, 114, 130), whole(draw, 88, 104)


def _findings(cause: str) -> list[Finding]:
    texts = {
        "womb": "Womb soft, above the navel." if cause == "atony" else "Womb firm at the navel.",
        "placenta": "Placenta: a lobe is missing." if cause == "retained_tissue" else "Placenta complete.",
        "canal": "A tear of the side wall bleeds briskly." if cause == "trauma" else "No tear.",
        "oozing": "Blood does not clot; puncture sites ooze."
        if cause == "coagulopathy"
        else "Blood clots in the dish.",
    }
    return [found(name, text, "genitourinary") for name, text in texts.items()]


def _labour(draw: Draw, cause: str) -> str:
    weight = whole(draw, 30, 42) / 10
    story = {"trauma": "Forceps for a long second stage.", "coagulopathy": "Placental abruption, rapid birth."}.get(
        cause, ""
    )
    return f"Vaginal birth, {weight:.1f} kg. Oxytocin 10 units at birth. {story}".strip()


def _collapse(measures: list[str]) -> Event:
    return Event(
        minute=WORSE_MINUTE,
        text="She is grey, restless and asks for air.",
        vital_signs={"heart_rate_per_min": 140, "systolic_bp_mmhg": 72, "diastolic_bp_mmhg": 40, "spo2_percent": 93},
        unless={"P1.measures": {"contains": measures[0]}},
    )


def _deadlines(stage: int) -> list[Deadline]:
    deadlines = [
        Deadline(tool="give_drug", where={"drug": "tranexamic_acid"}, within_minutes=30, severity="serious",
                 label="tranexamic acid late")
    ]  # fmt: skip
    if stage >= 2:
        deadlines.append(
            Deadline(tool="call_team", where={"team": "haemorrhage_team"}, within_minutes=20, severity="critical",
                     label="no help called in time")
        )  # fmt: skip
    return deadlines
