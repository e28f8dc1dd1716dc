"""Families about chest films: heart size, one finding, response of a mass."""

from typing import Any

from healthgym.tasks import Call, Case, task_family
from healthgym.tasks.families import Draw

from .assembly import Reading, Study, difficulty_of, make_case, request_of, turn, uniform
from .images import image_entry

MM_PER_PX = 1.2
CTR_LIMIT = 0.50
LARGE_RIM_MM = 20.0
MASS_OVER_MM = 30.0
HEART = ("normal_heart_size", "cardiomegaly", "not_assessable")
FINDINGS = ("no_chest_finding", "small_pneumothorax", "large_pneumothorax", "pleural_effusion", "nodule", "mass")
RESPONSES = ("partial_response", "stable_disease", "progressive_disease")
NOISE = {"easy": 2.5, "medium": 4.0, "hard": 6.0}


def film(draw: Draw, difficulty: str, *, view: str = "PA", taken: str = "today", **truth: Any) -> dict[str, Any]:
    """Return the entry of a film of a chest drawn for this case, with what `truth` adds."""
    base = {"seed": int(draw.rng.integers(2**31)), "thorax_mm": uniform(draw.rng, 262, 302), "noise": NOISE[difficulty]}
    base["ctr"] = uniform(draw.rng, 0.40, 0.47, 3)
    return image_entry("chest_film", {**base, **truth}, view=view, taken=taken, mm_per_px=MM_PER_PX)


def conclude_heart(ctr: float, view: str) -> str:
    """Return the conclusion on heart size; an AP film magnifies the heart and does not allow one.

    Source: Danzer, Am J Med Sci 1919;157:513 (ratio above 0.5); PA projection only.
    """
    return "not_assessable" if view != "PA" else "cardiomegaly" if ctr > CTR_LIMIT else "normal_heart_size"


@task_family(counts={"train": 24, "val": 3, "test": 6})
def heart_size(draw: Draw) -> Case:
    """Is the heart enlarged on this film?"""
    difficulty, rng = difficulty_of(draw), draw.rng
    gap = {"easy": (0.05, 0.14), "medium": (0.035, 0.13), "hard": (0.025, 0.11)}[difficulty]
    ctr = round(CTR_LIMIT + (1 if rng.random() < 0.5 else -1) * float(rng.uniform(*gap)), 3)
    view = "AP, lying" if rng.random() < (0.5 if difficulty == "hard" else 0.2) else "PA"
    images = {"film-0": film(draw, difficulty, view=view, ctr=ctr)}
    if difficulty == "hard":
        old = round(float(rng.uniform(0.40, 0.58)), 3)
        truth = {**images["film-0"]["source"]["phantom"], "ctr": old, "seed": int(rng.integers(2**31))}
        images["film-prior"] = image_entry("chest_film", truth, view="PA", taken="2 years ago", mm_per_px=MM_PER_PX)
    reading = Reading(
        conclusion=conclude_heart(ctr, view),
        options=HEART,
        value=round(ctr, 2),
        tolerance=0.014,
        unit="",
        value_is="cardiothoracic ratio of today's film",
        look=(Call("cardiothoracic_ratio", image_id="film-0"),),
        measured=(("film-0", "ctr"),),
        source="cardiothoracic ratio above 0.5 on a PA film (Danzer, Am J Med Sci 1919;157:513)",
        condition=f"heart size, {view}",
    )
    shown = ("film-0",) if difficulty == "easy" else ()
    return make_case(draw, Study(images=images, request=request_of(draw, "heart"), shown=shown), reading, difficulty)


def chest_truth(draw: Draw, finding: str, difficulty: str) -> tuple[dict[str, Any], float, float]:
    """Return what a finding adds to the film's truth, the value to report and its tolerance, both in mm."""
    rng = draw.rng
    near = difficulty == "hard"
    side = "left" if rng.random() < 0.5 else "right"
    place = (uniform(rng, 0, 1, 2), uniform(rng, 0.1, 0.9, 2))
    if finding == "small_pneumothorax":
        size = uniform(rng, 10, 17)
        return {"side": side, "rim_mm": size}, size, 3.0
    if finding == "large_pneumothorax":
        size = uniform(rng, 23, 28) if near else uniform(rng, 27, 42)
        return {"side": side, "rim_mm": size}, size, 3.0
    if finding == "pleural_effusion":
        size = uniform(rng, 24, 40) if near else uniform(rng, 35, 70)
        return {"side": side, "fluid_mm": size}, size, 10.0
    if finding == "nodule":
        size = uniform(rng, 12, 27)
        return {"side": side, "mass_mm": size, "mass_at": place}, size, 3.0
    if finding == "mass":
        size = uniform(rng, 33, 37) if near else uniform(rng, 35, 48)
        return {"side": side, "mass_mm": size, "mass_at": place}, size, 3.0
    return {}, 0.0, 3.0


@task_family(counts={"train": 30, "val": 4, "test": 6, "test_ood": 4})
def chest_finding(draw: Draw) -> Case:
    """What is on this film, on which side, how large?"""
    difficulty = difficulty_of(draw)
    options = [name for name in FINDINGS if (name == "pleural_effusion") == (draw.split == "test_ood")]
    finding = turn(draw, options)
    truth, value, tolerance = chest_truth(draw, finding, difficulty)
    images = {"film-0": film(draw, difficulty, **truth)}
    if difficulty == "hard":
        images["film-prior"] = film(draw, difficulty, taken="11 months ago")
    reading = Reading(
        conclusion=finding,
        options=FINDINGS,
        value=value,
        tolerance=tolerance,
        unit="mm",
        value_is="rim of air at mid-lung, height of fluid at the wall, or diameter (0 without finding)",
        side=truth.get("side", "none"),
        look=(
            Call("measure_pleura", image_id="film-0"),
            Call("find_opacities", image_id="film-0"),
        ),
        measured=(("film-0", "pleura"), ("film-0", "opacities")),
        source="BTS pleural disease guideline 2010 (rim of 2 cm or more is large); Fleischner glossary 2008 (mass over 3 cm)",
        alert="large_pneumothorax" if finding == "large_pneumothorax" else "",
    )
    shown = ("film-0",) if difficulty == "easy" else ()
    return make_case(draw, Study(images=images, request=request_of(draw, "chest"), shown=shown), reading, difficulty)


def conclude_response(before_mm: float, now_mm: float) -> str:
    """Return the response of one target lesion against baseline.

    Source: RECIST 1.1, Eur J Cancer 2009;45:228: partial response at 30 % less or more, progression at 20 % more and 5 mm.
    """
    change = (now_mm - before_mm) / before_mm
    if change <= -0.30:
        return "partial_response"
    return "progressive_disease" if change >= 0.20 and now_mm - before_mm >= 5 else "stable_disease"


@task_family(counts={"train": 18, "val": 3, "test": 6})
def mass_response(draw: Draw) -> Case:
    """How did a mass respond between two films?"""
    difficulty, rng = difficulty_of(draw), draw.rng
    response = turn(draw, RESPONSES)
    before = uniform(rng, 30, 46) if response == "partial_response" else uniform(rng, 23, 30)
    near = difficulty == "hard"
    change = {
        "partial_response": (-0.50, -0.40) if near else (-0.62, -0.42),
        "stable_disease": (-0.18, 0.05) if near else (-0.12, 0.04),
        "progressive_disease": (0.30, 0.42) if near else (0.32, 0.60),
    }[response]
    now = round(before * (1 + float(rng.uniform(*change))), 1)
    side = "left" if rng.random() < 0.5 else "right"
    place, thorax = (uniform(rng, 0, 1, 2), uniform(rng, 0.1, 0.9, 2)), uniform(rng, 272, 302)
    shared: dict[str, Any] = {"side": side, "mass_at": place, "thorax_mm": thorax}
    images = {
        "film-0": film(draw, difficulty, mass_mm=now, **shared),
        "film-prior": film(draw, difficulty, taken="3 months ago, baseline", mass_mm=before, **shared),
    }
    if near:
        older = round(before * float(rng.uniform(0.7, 1.3)), 1)
        images["film-older"] = film(draw, difficulty, taken="14 months ago", mass_mm=older, **shared)
    percent = round(100 * (now - before) / before)
    reading = Reading(
        conclusion=conclude_response(before, now),
        options=RESPONSES,
        value=float(percent),
        tolerance=4.0,
        unit="%",
        value_is="change of the diameter since baseline, negative when smaller,",
        side=side,
        look=(
            Call("find_opacities", image_id="film-prior"),
            Call("find_opacities", image_id="film-0"),
            Call("compare_images", image_id="film-0", prior_id="film-prior"),
        ),
        measured=(("film-0", "opacities"), ("film-prior", "opacities")),
        source="RECIST 1.1 (Eur J Cancer 2009;45:228), one target lesion",
    )
    shown = ("film-0", "film-prior") if difficulty == "easy" else ()
    return make_case(draw, Study(images=images, request=request_of(draw, "response"), shown=shown), reading, difficulty)
