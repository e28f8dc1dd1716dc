"""Families about ECG strips: rhythm, and the corrected QT interval."""

from typing import Any

import numpy as np

from healthgym.tasks import Call, Case, task_family
from healthgym.tasks.families import Draw

from ..scores.bazett import qtc_bazett_ms, qtc_class
from .assembly import Reading, Study, difficulty_of, make_case, request_of, turn, uniform
from .images import image_entry
from .phantoms.ecg import PX_PER_S, WIDTH_PX, onsets_s

MM_PER_PX = 0.25
RHYTHMS = ("sinus_rhythm", "sinus_bradycardia", "sinus_tachycardia", "atrial_fibrillation", "first_degree_av_block")
HELD_OUT_RHYTHM = "first_degree_av_block"
"""Occurs in test_ood only."""
RATES_PER_MIN = {
    "sinus_rhythm": (62, 96),
    "sinus_bradycardia": (38, 47),
    "sinus_tachycardia": (105, 132),
    "atrial_fibrillation": (62, 130),
    "first_degree_av_block": (62, 84),
}
QTCS = ("normal_qtc", "prolonged_qtc", "high_risk_qtc")
NOISE_MV = {"easy": 0.004, "medium": 0.008, "hard": 0.014}
MACHINE = {"sinus_rhythm": "atrial fibrillation", "atrial_fibrillation": "sinus rhythm"}


def strip(draw: Draw, difficulty: str, truth: dict[str, Any], taken: str = "today") -> dict[str, Any]:
    """Return the entry of one strip."""
    base = {
        "seed": int(draw.rng.integers(2**31)),
        "qrs_ms": uniform(draw.rng, 84, 106),
        "r_mv": uniform(draw.rng, 0.9, 1.4, 2),
        "noise_mv": NOISE_MV[difficulty],
    }
    view = "lead II, 25 mm/s, 10 mm/mV"
    return image_entry("ecg_strip", {**base, **truth}, view=view, taken=taken, mm_per_px=MM_PER_PX)


def mean_rate(truth: dict[str, Any]) -> float:
    """Return the mean rate over the beats that the strip shows."""
    onsets = onsets_s(truth)
    shown = onsets[(onsets > 0) & (onsets < WIDTH_PX / PX_PER_S - 0.08)]
    return float(60 / np.diff(shown).mean())


@task_family(counts={"train": 24, "val": 4, "test": 6, "test_ood": 4})
def ecg_rhythm_strip(draw: Draw) -> Case:
    """Which rhythm does this strip show, and at what rate?"""
    difficulty, rng = difficulty_of(draw), draw.rng
    options = [HELD_OUT_RHYTHM] if draw.split == "test_ood" else [name for name in RHYTHMS if name != HELD_OUT_RHYTHM]
    rhythm = turn(draw, options)
    rr = 60_000 / float(rng.uniform(*RATES_PER_MIN[rhythm]))
    truth: dict[str, Any] = {"rr_ms": round(rr, 1)}
    if rhythm == "atrial_fibrillation":
        truth |= {"rr_spread": uniform(rng, 0.28, 0.4, 2), "qt_ms": round(min(380.0, 0.50 * rr), 1)}
    else:
        pr = (
            uniform(rng, 232, 280)
            if rhythm == HELD_OUT_RHYTHM
            else uniform(rng, 122, 136 if rhythm == "sinus_tachycardia" else 172)
        )
        truth |= {"pr_ms": pr, "qt_ms": round(min(float(rng.uniform(385, 420)) * (rr / 1000) ** 0.5, rr - pr - 65), 1)}
    images = {"strip-0": strip(draw, difficulty, truth)}
    notes: tuple[str, ...] = ()
    if difficulty == "hard":
        notes = (f"Machine reading of today's strip: {MACHINE.get(rhythm, 'sinus rhythm')}, not confirmed.",)
        old = {"rr_ms": uniform(rng, 700, 900), "pr_ms": 150.0, "qt_ms": 380.0}
        images["strip-prior"] = strip(draw, difficulty, old, taken="3 years ago")
    reading = Reading(
        conclusion=rhythm,
        options=RHYTHMS,
        value=round(mean_rate(images["strip-0"]["source"]["phantom"])),
        tolerance=2.0,
        unit="/min",
        value_is="mean ventricular rate of today's strip",
        look=(Call("ecg_rhythm", image_id="strip-0"), Call("ecg_intervals", image_id="strip-0")),
        measured=(("strip-0", "rhythm"),),
        source="ACC/AHA/HRS bradycardia guideline 2018; ESC atrial fibrillation guideline 2024",
    )
    shown = ("strip-0",) if difficulty == "easy" else ()
    study = Study(images=images, request=request_of(draw, "rhythm"), notes=notes, shown=shown)
    return make_case(draw, study, reading, difficulty)


@task_family(counts={"train": 24, "val": 3, "test": 6})
def qt_interval(draw: Draw) -> Case:
    """Is the corrected QT interval prolonged?"""
    difficulty, rng = difficulty_of(draw), draw.rng
    wanted = turn(draw, QTCS)
    sex = "female" if rng.random() < 0.5 else "male"
    near = difficulty == "hard"
    target = {
        "normal_qtc": (415, 428) if near else (350, 425),
        "prolonged_qtc": (474, 482) if near else (472, 484),
        "high_risk_qtc": (516, 525) if near else (518, 570),
    }[wanted]
    rr = uniform(rng, 780, 1250)
    qt = round(float(rng.uniform(*target)) * (rr / 1000) ** 0.5, 1)
    pr = min(uniform(rng, 124, 170), rr - qt - 95)
    images = {"strip-0": strip(draw, difficulty, {"rr_ms": rr, "qt_ms": qt, "pr_ms": round(pr, 1)})}
    notes: tuple[str, ...] = ()
    if near:
        wrong = {"normal_qtc": 488, "prolonged_qtc": 431, "high_risk_qtc": 442}[wanted] + int(rng.integers(-6, 7))
        notes = (f"Machine reading of today's strip: QTc {wrong} ms, not confirmed.",)
    qtc = qtc_bazett_ms(qt, rr)
    reading = Reading(
        conclusion=qtc_class(qtc, sex),
        options=QTCS,
        value=round(qt),
        tolerance=10.0,
        unit="ms",
        value_is="QT interval, uncorrected,",
        look=(
            Call("ecg_rhythm", image_id="strip-0"),
            Call("ecg_intervals", image_id="strip-0"),
            Call("qtc_bazett", qt_ms=qt, rr_ms=rr, sex=sex),
        ),
        measured=(("strip-0", "intervals"),),
        source="AHA/ACCF/HRS 2009 (Circulation 2009;119:e241); AHA/ACCF 2010 (Circulation 2010;121:1047)",
        alert="high_risk_qtc" if wanted == "high_risk_qtc" else "",
    )
    shown = ("strip-0",) if difficulty == "easy" else ()
    study = Study(images=images, request=request_of(draw, "qt"), notes=notes, shown=shown, sex=sex)
    return make_case(draw, study, reading, difficulty)
