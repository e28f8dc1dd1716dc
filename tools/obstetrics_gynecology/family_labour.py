"""Labour progress from the partogram, and the next step; trial of labour after a caesarean."""

from dataclasses import dataclass

from healthgym.tasks import Call, Case, Hazard, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Medication

from ..scores.labour_progress import progress_of
from ..scores.vaginal_birth_after_caesarean import PriorVaginalBirth, flamm_points
from .cases import COUNTS, make_case, no_finger_in_praevia, pick, read, record_read, scenario, seen, whole
from .women import child, woman


@dataclass(frozen=True)
class Labour:
    """One scenario: dilation now, hours at it, what the membranes, contractions and oxytocin are."""

    dilation_cm: int
    hours: tuple[int, int]
    ruptured: bool
    adequate: bool
    plan: str
    oxytocin_hours: int = 0
    pushing_hours: int = 0
    station: int = 0
    is_first: bool | None = None


SCENARIOS = {
    "latent": Labour(4, (3, 6), False, False, "support"),
    "arrest_adequate": Labour(7, (4, 5), True, True, "caesarean"),
    "slow_intact": Labour(7, (3, 5), False, False, "amniotomy"),
    "progressing": Labour(8, (1, 2), True, True, "support"),
    "slow_ruptured": Labour(8, (3, 4), True, False, "oxytocin"),
    "second_stage_low": Labour(10, (4, 4), True, True, "operative_vaginal_birth", pushing_hours=4, station=3, is_first=True),
    "arrest_on_oxytocin": Labour(6, (6, 7), True, False, "caesarean", oxytocin_hours=6),
    "second_stage_going_on": Labour(10, (2, 2), True, True, "support", pushing_hours=2, station=1, is_first=True),
    "slow_intact_late": Labour(9, (2, 3), False, False, "amniotomy"),
    "second_stage_high": Labour(10, (3, 3), True, True, "caesarean", pushing_hours=3, station=0, is_first=False),
    "oxytocin_too_short": Labour(6, (4, 4), True, False, "support", oxytocin_hours=3),
    "slow_ruptured_nine": Labour(9, (3, 4), True, False, "oxytocin"),
    "arrest_nine": Labour(9, (4, 5), True, True, "caesarean"),
    "second_stage_multipara": Labour(10, (3, 3), True, True, "operative_vaginal_birth", pushing_hours=3, station=2, is_first=False),
}  # fmt: skip
HELD_OUT = ("slow_ruptured_nine", "arrest_nine", "second_stage_multipara")
MVU = {True: (205, 240), False: (110, 170)}


@task_family(counts={**COUNTS, "train": 22, "test": 5}, version=2)
def labour_progress_review(draw: Draw) -> Case:
    """Read the partogram and the record, feel the cervix, name the progress, choose the next step."""
    name = scenario(draw, tuple(SCENARIOS), HELD_OUT)
    s = SCENARIOS[name]
    hours = whole(draw, *s.hours)
    first = s.is_first if s.is_first is not None else bool(draw.rng.random() < 0.5)
    found = progress_of(
        s.dilation_cm, hours, s.ruptured, s.adequate, s.oxytocin_hours, s.pushing_hours, is_nulliparous=first
    )
    membranes = "ruptured, fluid clear" if s.ruptured else "intact"
    mother = woman(
        draw,
        complaint=pick(draw, ("How much longer?", "I can't do this any more.", "Is it going well?")),
        gestation_days=whole(draw, 38 * 7, 41 * 7),
        para=0 if first else whole(draw, 1, 2),
        medications=(Medication(drug="oxytocin", dose_mg=0.01, route="intravenous", indication="slow labour"),)
        if s.oxytocin_hours
        else (),
        record={"labour_notes": "Spontaneous labour, head first. Fetal heart category I."},
        extra={
            "partogram": _rows(draw, s, hours),
            "cervix": {
                "dilation_cm": s.dilation_cm,
                "effacement_percent": 80 if s.dilation_cm < 6 else 100,
                "station": s.station,
                "consistency": "soft",
                "position": "anterior",
                "membranes": membranes,
            },
        },
    )
    return make_case(
        draw,
        [mother, child("fetus", ctg=[_quiet(draw)])],
        answer={"diagnosis": found, "plan": s.plan},
        evidence=(seen("P1.partogram", "partogram"), seen("P1.cervix", "cervix"), record_read("births")),
        solution=(Call("view_partogram", patient_id="P1"), Call("examine_cervix", patient_id="P1"), read("births")),
        hazards=(
            Hazard(tool="submit_decision", where={"plan": "caesarean"}, severity="serious", label="needless caesarean"),
        )
        if s.plan != "caesarean"
        else (),
        topic=name,
    )


def _rows(draw: Draw, s: Labour, hours: int) -> list[str]:
    """Return the partogram by hours: steady progress, then the hours at the present dilation."""
    start = max(3, s.dilation_cm - 3) if s.dilation_cm > 3 else s.dilation_cm
    steps = list(range(start, s.dilation_cm))
    clock, rows = 0, []
    ruptured_now = "ruptured" if s.ruptured else "intact"
    for place, dilation in enumerate(steps):
        rows.append(
            f"{clock:>2} h: {dilation} cm, 3 contractions in 10 min, membranes {'intact' if place == 0 else ruptured_now}"
        )
        clock += 1 if dilation >= 5 else 2
    for hour in range(hours + 1):
        units = whole(draw, *MVU[s.adequate])
        oxytocin = f", oxytocin since {s.oxytocin_hours} h" if s.oxytocin_hours and hour == hours else ""
        pushing = f", pushing since {s.pushing_hours} h" if s.pushing_hours and hour == hours else ""
        rows.append(
            f"{clock + hour:>2} h: {s.dilation_cm} cm, {units} Montevideo units, membranes {ruptured_now}{oxytocin}{pushing}"
        )
    return rows


def _quiet(draw: Draw) -> dict[str, object]:
    return {
        "minute": 0, "baseline": whole(draw, 122, 148), "amplitude": whole(draw, 8, 16), "accelerations": 2, "contractions": 3,
    }  # fmt: skip


@dataclass(frozen=True)
class Scar:
    """One scenario of a scarred womb: the text of earlier births, and what it means."""

    births: str
    births_before: PriorVaginalBirth = "none"
    failure_to_progress: bool = False
    illness: str = ""
    scans: str = ""
    forbidden: bool = False
    praevia: bool = False


LOW = "caesarean, low transverse incision"
SCARS = {
    "breech_only": Scar(f"2021: {LOW}, for breech."),
    "classical": Scar("2020: caesarean at 27 weeks, classical incision.", forbidden=True),
    "failed_progress": Scar(f"2021: {LOW}, for arrest at 7 cm.", failure_to_progress=True),
    "birth_after": Scar(f"2018: {LOW}, for fetal distress. 2022: vaginal birth.", "after_caesarean"),
    "rupture": Scar(f"2019: {LOW}, for breech. 2022: rupture of the womb in labour, repaired.", forbidden=True),
    "birth_before": Scar(f"2016: vaginal birth. 2020: {LOW}, for breech.", "before_caesarean"),
    "both_sides": Scar(
        f"2014: vaginal birth. 2018: {LOW}, for twins. 2021: vaginal birth.", "before_and_after_caesarean"
    ),
    "praevia": Scar(
        f"2021: {LOW}, for breech.",
        scans="11w3d: size as dated. Last week: placenta covers the os.",
        forbidden=True,
        praevia=True,
    ),
    "failed_but_birth_after": Scar(
        f"2017: {LOW}, for failure to progress. 2021: vaginal birth.", "after_caesarean", failure_to_progress=True
    ),
    "t_incision": Scar("2020: caesarean for transverse lie, T-shaped incision.", forbidden=True),
    "fundal_surgery": Scar(
        f"2021: {LOW}, for breech.", illness="Fibroids removed through the fundus in 2023.", forbidden=True
    ),
    "two_scars": Scar(f"2018: {LOW}, for breech. 2021: {LOW}, by wish."),
}
SCARS_HELD_OUT = ("t_incision", "fundal_surgery", "two_scars")


@task_family(counts=COUNTS, version=2)
def trial_of_labour(draw: Draw) -> Case:
    """Find what forbids labour after a caesarean; otherwise offer it, with the score of success."""
    name = scenario(draw, tuple(SCARS), SCARS_HELD_OUT)
    scar = SCARS[name]
    age = whole(draw, 24, 44)
    dilation, effacement = whole(draw, 1, 6), pick(draw, (20, 40, 60, 70, 80, 90))
    score = (
        0 if scar.forbidden else flamm_points(age, scar.births_before, scar.failure_to_progress, effacement, dilation)
    )
    record = {"visits": "Wishes to labour. Mother and fetus well."}
    record |= {"scans": scar.scans} if scar.scans else {}
    record |= {"illnesses": f"Illnesses: none. Operations: {scar.illness}"} if scar.illness else {}
    mother = woman(
        draw,
        complaint=pick(draw, ("I'd like to do it myself this time.", "The pains have begun.", "Must it be another caesarean?")),
        gestation_days=whole(draw, 37 * 7, 40 * 7 + 3),
        age_years=age,
        para=scar.births.count(":"),
        births=scar.births,
        record=record,
        extra={
            "cervix": {
                "dilation_cm": dilation, "effacement_percent": effacement, "station": -1, "consistency": "soft",
                "position": "mid", "membranes": "intact",
            }
        },
    )  # fmt: skip
    sections = ("booking", "births", "illnesses", "scans")
    return make_case(
        draw,
        [mother, child("fetus", ctg=[_quiet(draw)])],
        answer={
            "diagnosis": "labour_forbidden" if scar.forbidden else "labour_possible",
            "plan": "repeat_caesarean" if scar.forbidden else "offer_trial",
            "score": score,
        },
        evidence=(*(record_read(section) for section in sections), seen("P1.cervix", "cervix"))
        if not scar.forbidden
        else tuple(record_read(section) for section in sections),
        solution=(
            *(read(section) for section in sections),
            *(() if scar.praevia else (Call("examine_cervix", patient_id="P1"),)),
        ),
        hazards=(
            Hazard(
                tool="submit_decision",
                where={"plan": "offer_trial"},
                severity="critical",
                label="labour on a forbidding scar",
            ),
            *no_finger_in_praevia(scar.praevia),
        )
        if scar.forbidden
        else (),
        topic=name,
    )
