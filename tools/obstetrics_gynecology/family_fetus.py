"""Fetus and newborn: antenatal surveillance with weight, and the first five minutes of life."""

from collections.abc import Mapping
from typing import Any

from healthgym.tasks import AnswerField, Call, Case, Deadline, task_family
from healthgym.tasks.families import Draw

from ..scores.biophysical import biophysical_points
from ..scores.fetal_weight import fetal_weight_g, growth_band, median_weight_g
from ..scores.newborn_apgar import apgar_points
from .cases import COUNTS, done, make_case, pick, read, record_read, scenario, seen, whole
from .women import child, woman

SURVEILLANCE = {
    # name: weeks, share of the median weight, what is lacking of breathing, movements, tone, fluid, reactive
    "well": ((33, 38), 1.0, ""),
    "small_38": ((38, 38), 0.79, ""),
    "equivocal_early": ((32, 36), 1.0, "breathing reactive"),
    "low_fluid": ((36, 38), 0.98, "fluid"),
    "small_early": ((32, 35), 0.79, ""),
    "abnormal": ((33, 37), 0.92, "breathing movements reactive"),
    "tiny_37": ((37, 37), 0.70, ""),
    "equivocal_term": ((37, 39), 1.0, "breathing movements"),
    "tiny_early": ((32, 35), 0.70, ""),
    "large": ((34, 37), 1.24, ""),
    "very_abnormal": ((32, 36), 0.78, "breathing movements tone reactive"),
    "small_36": ((36, 36), 0.79, ""),
    "quiet_sleep": ((34, 38), 1.0, "breathing"),
}
SURVEILLANCE_HELD_OUT = ("very_abnormal", "small_36", "quiet_sleep")


@task_family(counts={**COUNTS, "train": 22, "test": 5})
def fetal_surveillance(draw: Draw) -> Case:
    """Scan, score, weigh, place on the centiles, and decide when to test or deliver."""
    name = scenario(draw, tuple(SURVEILLANCE), SURVEILLANCE_HELD_OUT)
    (low, high), share, lacking = SURVEILLANCE[name]
    days = whole(draw, low * 7, high * 7 + 6)
    scan = _scan(draw, days / 7, share, lacking.split())
    weight = fetal_weight_g(scan["bpd_mm"], scan["hc_mm"], scan["ac_mm"], scan["fl_mm"])
    band = growth_band(weight, days / 7)
    score = biophysical_points(
        scan["breathing_s"], scan["movements"], scan["tone"], scan["pocket_cm"], scan["accelerations"] >= 2
    )
    mother = woman(
        draw,
        complaint=pick(
            draw, ("The baby has been quieter.", "I'm here for the growth scan.", "They said it looks small.")
        ),
        gestation_days=days,
        record={"visits": "Fundal height measured; scan asked for. Pressure and urine normal."},
    )
    return make_case(
        draw,
        [mother, child("fetus", scan=scan)],
        answer={
            "score": score,
            "fetal_weight_g": AnswerField(gold=round(weight), compare="range", tolerance=0.02 * weight, unit="g"),
            "diagnosis": band,
            "plan": surveillance_plan(score, band, scan["pocket_cm"], days // 7),
        },
        evidence=(record_read("dates"), seen("F1.scan", "scan")),
        solution=(read("dates"), Call("scan_fetus", patient_id="F1")),
        topic=name,
    )


def surveillance_plan(score: int, band: str, pocket_cm: float, weeks: int) -> str:
    """Return what follows from a scan at 32 weeks or later, by the protocol `fetal_surveillance`."""
    if score <= 4:
        return "deliver"
    if score == 6:
        return "deliver" if weeks >= 37 else "repeat_within_24_hours"
    if pocket_cm < 2 and weeks >= 36:
        return "deliver"
    if band in ("below_3rd", "3rd_to_9th"):
        return "deliver" if weeks >= (37 if band == "below_3rd" else 38) else "weekly_tests"
    return "routine"


def _scan(draw: Draw, weeks: float, share: float, lacking: list[str]) -> dict[str, Any]:
    """Draw biometry whose weight is near `share` of the median for the age, and activity that lacks what is named."""
    hc, bpd = 88 + 7.2 * weeks, 20 + 2.05 * weeks
    fl = 6 + 1.75 * weeks
    target = share * median_weight_g(weeks) * (1 + float(draw.rng.uniform(-0.015, 0.015)))
    ac = 150.0
    while fetal_weight_g(bpd, hc, ac, fl) < target:
        ac += 1
    return {
        "bpd_mm": round(bpd), "hc_mm": round(hc), "ac_mm": round(ac), "fl_mm": round(fl),
        "pocket_cm": whole(draw, 8, 18) / 10 if "fluid" in lacking else whole(draw, 32, 60) / 10,
        "breathing_s": whole(draw, 0, 22) if "breathing" in lacking else whole(draw, 34, 90),
        "movements": whole(draw, 0, 2) if "movements" in lacking else whole(draw, 3, 9),
        "tone": 0 if "tone" in lacking else whole(draw, 1, 4),
        "accelerations": whole(draw, 0, 1) if "reactive" in lacking else whole(draw, 2, 5),
    }  # fmt: skip


SAID: Mapping[str, str] = {
    "absent": "not breathing", "weak_or_irregular": "gasping now and then", "good_cry": "cries lustily",
    "limp": "limp", "some_flexion": "arms and legs slightly bent", "active_motion": "moves well",
    "none": "no reaction to rubbing", "grimace": "grimaces when rubbed", "cry_or_withdrawal": "pulls away and cries when rubbed",
    "blue_or_pale": "pale all over", "blue_hands_and_feet": "body pink, hands and feet blue", "pink": "pink all over",
}  # fmt: skip
NEWBORNS = {
    # name: state at 1 minute, the same after ventilation, at 5 minutes; what was needed
    "vigorous": ("good", "", "good", "routine_care"),
    "apnoea": ("apnoeic", "", "fair", "ventilation"),
    "slow_heart": ("asphyxia", "asphyxia", "poor", "ventilation_and_compressions"),
    "gasping": ("gasping", "", "good", "ventilation"),
    "sleepy_start": ("fair", "", "good", "routine_care"),
    "slow_heart_recovers": ("asphyxia", "fair", "fair", "ventilation"),
    "limp_pulse_90": ("gasping", "", "fair", "ventilation"),
    "stays_slow": ("asphyxia", "asphyxia", "fair", "ventilation_and_compressions"),
    "pale_but_cries": ("fair", "", "fair", "routine_care"),
    "preterm_apnoea": ("apnoeic", "", "good", "ventilation"),
    "meconium_vigorous": ("good", "", "good", "routine_care"),
    "meconium_slow": ("asphyxia", "asphyxia", "poor", "ventilation_and_compressions"),
}
NEWBORNS_HELD_OUT = ("preterm_apnoea", "meconium_vigorous", "meconium_slow")
_STATES = {
    "good": ((124, 158), "good_cry", ("active_motion",), ("cry_or_withdrawal",), ("blue_hands_and_feet", "pink")),
    "fair": (
        (104, 138),
        "good_cry",
        ("some_flexion", "active_motion"),
        ("grimace", "cry_or_withdrawal"),
        ("blue_hands_and_feet",),
    ),
    "gasping": ((74, 96), "weak_or_irregular", ("some_flexion", "limp"), ("grimace",), ("blue_or_pale",)),
    "apnoeic": ((66, 92), "absent", ("limp", "some_flexion"), ("none", "grimace"), ("blue_or_pale",)),
    "asphyxia": ((36, 56), "absent", ("limp",), ("none",), ("blue_or_pale",)),
    "poor": (
        (70, 96),
        "weak_or_irregular",
        ("limp", "some_flexion"),
        ("grimace",),
        ("blue_or_pale", "blue_hands_and_feet"),
    ),
}
VENTILATION, COMPRESSIONS = "positive_pressure_ventilation", "chest_compressions"


@task_family(counts={**COUNTS, "train": 22, "test": 5})
def newborn_at_birth(draw: Draw) -> Case:
    """Look, support in time, look again; Apgar at one and at five minutes."""
    name = scenario(draw, tuple(NEWBORNS), NEWBORNS_HELD_OUT)
    first, ventilated, last, plan = NEWBORNS[name]
    early, late = _newborn(draw, first), _newborn(draw, last)
    measures = ["warm_dry_stimulate"]
    measures += [VENTILATION] if plan != "routine_care" else []
    measures += [COMPRESSIONS] if plan == "ventilation_and_compressions" else []
    states: list[dict[str, Any]] = [{"minute": 0.0, **early}]
    if ventilated:
        after = _newborn(draw, ventilated)
        states.append({"minute": 0.0, "needs": [VENTILATION], **after})
    states.append({"minute": 4.5, "needs": measures[1:], **late})
    if len(measures) > 1:  # untreated the child fails
        states.insert(-1, {"minute": 4.5, **_newborn(draw, "asphyxia")})
    mother = woman(
        draw,
        complaint="Why doesn't it cry?" if plan != "routine_care" else "Is it a girl?",
        weeks_text="just gave birth",
        record={
            "dates": f"Gave birth this minute at {whole(draw, 34, 36) if 'preterm' in name else whole(draw, 38, 41)} weeks.",
            "labour_notes": f"Vaginal birth, fluid {'with meconium' if 'meconium' in name else 'clear'}.",
        },
    )
    calls = [Call("assess_newborn", patient_id="F1"), Call("start_measure", patient_id="F1", measure=measures[0])]
    if len(measures) > 1:
        calls.append(Call("start_measure", patient_id="F1", measure=VENTILATION))
    if ventilated:
        calls.append(Call("assess_newborn", patient_id="F1"))
    if COMPRESSIONS in measures:
        calls += [
            Call("start_measure", patient_id="F1", measure=COMPRESSIONS),
            Call("call_team", patient_id="P1", team="neonatal_team"),
        ]
    elapsed = sum(1.0 if call.tool == "call_team" else 0.5 for call in calls)
    calls += [Call("wait", minutes=int(5 - elapsed)), Call("assess_newborn", patient_id="F1")]
    evidence = [seen("F1.newborn.minute_1", "first look"), seen("F1.newborn.minute_5", "look at five minutes")]
    deadlines = []
    if len(measures) > 1:
        deadlines.append(
            Deadline(tool="start_measure", where={"measure": VENTILATION}, after="F1.newborn.minute_1", within_minutes=2,
                     severity="critical", label="ventilation late")
        )  # fmt: skip
    return make_case(
        draw,
        [mother, child("newborn", newborn=states)],
        answer={"first_score": _apgar(early), "score": _apgar(late), "plan": plan},
        end_state={
            "F1.measures": done(*measures),
            "P1.teams": done("neonatal_team") if COMPRESSIONS in measures else None,
        },
        evidence=evidence,
        solution=calls,
        deadlines=deadlines,
        topic=name,
    )


def _newborn(draw: Draw, kind: str) -> dict[str, Any]:
    (low, high), breathing, tones, reflexes, colours = _STATES[kind]
    found = {
        "heart_rate": whole(draw, low, high), "breathing": breathing, "tone": pick(draw, tones), "reflex": pick(draw, reflexes),
        "colour": pick(draw, colours),
    }  # fmt: skip
    return {**{key: SAID.get(str(value), value) for key, value in found.items()}, "classes": found}


def _apgar(state: Mapping[str, Any]) -> int:
    c = state["classes"]
    return apgar_points(c["heart_rate"], c["breathing"], c["tone"], c["reflex"], c["colour"])
