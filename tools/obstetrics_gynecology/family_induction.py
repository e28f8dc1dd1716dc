"""Induction: is there a reason, may she labour, is the cervix ready, and by which method."""

from dataclasses import dataclass

from healthgym.tasks import Call, Case, Hazard, task_family
from healthgym.tasks.families import Draw

from ..scores.bishop import bishop_points
from .cases import COUNTS, make_case, no_finger_in_praevia, pick, read, record_read, scenario, seen, whole
from .women import woman

FAVOURABLE_FROM = 7


@dataclass(frozen=True)
class Reason:
    """Why induction is asked for: weeks, opening words, the note, and births and scans where they matter."""

    weeks: tuple[int, int]
    complaint: str
    note: str
    births: str = ""
    scans: str = ""
    illness: str = ""
    forbids: bool = False
    praevia: bool = False
    """The placenta covers the os: a finger in the cervix can tear it, so there is no score. Source: RCOG green-top guideline 63, 2011."""


LOW_SCAR = "2022: caesarean for breech, low transverse incision, no complications."
SCENARIOS: dict[str, Reason] = {
    "late_term": Reason((41, 41), "I'm over my date.", "41 weeks reached, fetal heart normal."),
    "elective": Reason((37, 38), "I'd like it out now.", "Wishes induction; mother and fetus well."),
    "diabetes_insulin": Reason((39, 39), "They said today is the day.", "Gestational diabetes on insulin, well controlled."),
    "preeclampsia": Reason((37, 39), "My ankles are swollen.", "Pre-eclampsia without severe features since yesterday."),
    "scar_low": Reason((41, 41), "I'm over my date.", "41 weeks reached.", births=LOW_SCAR),
    "scar_classical": Reason(
        (37, 37), "I'm here to be started.", "Gestational hypertension.",
        births="2021: caesarean at 26 weeks, classical incision.", forbids=True,
    ),
    "ruptured_membranes": Reason((37, 40), "My waters went.", "Membranes ruptured 6 h ago, fluid clear, no contractions."),
    "transverse": Reason(
        (39, 40), "They want to start me off.", "Gestational hypertension.",
        scans="11w3d: size as dated. Today: transverse lie, fluid normal.", forbids=True,
    ),
    "praevia": Reason(
        (37, 37), "They want to start me off.", "Growth below the 3rd percentile.",
        scans="11w3d: size as dated. Today: placenta covers the os, growth below the 3rd percentile.", forbids=True,
        praevia=True,
    ),
    "small_fetus": Reason((37, 37), "The baby is small.", "Growth below the 3rd percentile, umbilical flow normal.",
        scans="11w3d: size as dated. Today: head first, below the 3rd percentile, umbilical flow normal."),
    "cavity_surgery": Reason(
        (37, 38), "I'm here to be started.", "Pre-eclampsia without severe features.",
        illness="Fibroid removed in 2022, cavity opened.", forbids=True,
    ),
    "scar_low_hypertension": Reason((37, 38), "My pressure is up.", "Gestational hypertension.", births=LOW_SCAR),
}  # fmt: skip
HELD_OUT = ("small_fetus", "cavity_surgery", "scar_low_hypertension")


@task_family(counts={**COUNTS, "train": 20}, version=2)
def induction_readiness(draw: Draw) -> Case:
    """Score the cervix and choose: wait, ripen with a drug or a balloon, oxytocin, or caesarean."""
    name = scenario(draw, tuple(SCENARIOS), HELD_OUT)
    reason = SCENARIOS[name]
    ready = draw.index % 2 == 0
    cervix = _cervix(draw, ready=ready, ruptured=name == "ruptured_membranes")
    found = {key: value for key, value in cervix.items() if key != "membranes"}
    score = 0 if reason.praevia else bishop_points(**found)  # type: ignore[arg-type]
    scarred = "low transverse" in reason.births
    if name == "elective":
        plan = "wait"
    elif reason.forbids:
        plan = "caesarean"
    elif score >= FAVOURABLE_FROM:
        plan = "oxytocin"
    else:
        plan = "balloon" if scarred else "misoprostol"
    record = {"visits": reason.note}
    record |= {"scans": reason.scans} if reason.scans else {}
    record |= {"illnesses": f"Illnesses: none. Operations: {reason.illness}"} if reason.illness else {}
    chart = woman(
        draw,
        complaint=reason.complaint,
        gestation_days=whole(draw, reason.weeks[0] * 7, reason.weeks[1] * 7 + 6),
        births=reason.births,
        para=1 if reason.births else None,
        record=record,
        extra={"cervix": cervix},
    )
    sections = ("dates", "visits", "births", "scans", "illnesses")
    critical = [
        Hazard(tool="submit_decision", where={"plan": {"in": ["misoprostol", "balloon", "oxytocin"]}},
               severity="critical", label="labour induced where it must not be")
    ] if reason.forbids else [
        Hazard(tool="submit_decision", where={"plan": "misoprostol"}, severity="critical",
               label="misoprostol with a scarred womb")
    ] if scarred else []  # fmt: skip
    felt = () if reason.praevia else (seen("P1.cervix", "cervix"),)
    examined = () if reason.praevia else (Call("examine_cervix", patient_id="P1"),)
    return make_case(
        draw,
        [chart],
        answer={"score": score, "plan": plan},
        evidence=(*(record_read(name) for name in sections), *felt),
        solution=(*(read(name) for name in sections), *examined),
        hazards=[*critical, *no_finger_in_praevia(reason.praevia)],
        topic=name,
    )


def _cervix(draw: Draw, *, ready: bool, ruptured: bool) -> dict[str, object]:
    """Draw a cervix whose score lies on the wanted side of the limit."""
    while True:
        cervix = {
            "dilation_cm": whole(draw, 2, 4) if ready else whole(draw, 0, 2),
            "effacement_percent": pick(draw, (50, 60, 70, 80)) if ready else pick(draw, (0, 20, 30, 40, 50, 60)),
            "station": whole(draw, -1, 1) if ready else whole(draw, -3, -1),
            "consistency": pick(draw, ("medium", "soft")) if ready else pick(draw, ("firm", "medium", "soft")),
            "position": pick(draw, ("mid", "anterior")) if ready else pick(draw, ("posterior", "mid")),
        }
        if (bishop_points(**cervix) >= FAVOURABLE_FROM) == ready:  # type: ignore[arg-type]
            return {**cervix, "membranes": "ruptured, fluid clear" if ruptured else "intact"}
