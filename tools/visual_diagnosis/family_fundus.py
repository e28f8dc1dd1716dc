"""Families about the fundus: diabetic retinopathy, and the optic disc."""

from typing import Any

from healthgym.tasks import Call, Case, task_family
from healthgym.tasks.families import Draw

from ..scores.retinopathy_grade import retinopathy_grade
from .assembly import Reading, Study, difficulty_of, make_case, request_of, turn, uniform
from .images import image_entry

MM_PER_PX = 0.03
EYES = ("right", "left")
GRADES = ("no_retinopathy", "mild_npdr", "moderate_npdr", "severe_npdr", "proliferative_retinopathy")
HELD_OUT_GRADE = "severe_npdr"
"""Occurs in test_ood only."""
DISCS = ("normal_disc", "glaucoma_suspect")
CUP_FROM, DIFFERENCE_FROM = 0.7, 0.2
NOISE = {"easy": 2.0, "medium": 3.0, "hard": 4.0}


def fundus(draw: Draw, eye: str, difficulty: str, **truth: Any) -> dict[str, Any]:
    """Return the entry of one eye's photograph."""
    base = {
        "seed": int(draw.rng.integers(2**31)),
        "eye": eye,
        "cup_ratio": uniform(draw.rng, 0.38, 0.55, 2),
        "noise": NOISE[difficulty],
    }
    return image_entry("fundus", {**base, **truth}, view=f"{eye} eye", mm_per_px=MM_PER_PX)


def lesions_of(draw: Draw, grade: str, difficulty: str) -> dict[str, Any]:
    """Return lesions that make a grade: dots and blots by quadrant, exudates, blood in front of the retina."""
    rng = draw.rng

    def four(low: int, high: int) -> list[int]:
        return [int(n) for n in rng.integers(low, high + 1, 4)]

    if grade == "no_retinopathy":
        return {}
    if grade == "mild_npdr":
        return {"dots": four(1, 6)}
    if grade == "moderate_npdr":
        blots = four(1, 8)
        if difficulty == "hard":
            blots = [int(n) for n in rng.permutation([*rng.integers(23, 26, 2), *rng.integers(6, 13, 2)])]
        return {"dots": four(1, 5), "blots": blots, "exudates": int(rng.integers(0, 7))}
    if grade == "severe_npdr":
        return {"dots": four(0, 3), "blots": four(24, 26)}
    return {"dots": four(1, 5), "blots": four(0, 6), "preretinal": True}


def grade_of(truth: dict[str, Any]) -> str:
    """Return the grade that a photograph's truth has."""
    return retinopathy_grade(
        sum(truth.get("dots", ())),
        truth.get("blots", [0, 0, 0, 0]),
        has_preretinal_bleeding=bool(truth.get("preretinal")),
        exudates=int(truth.get("exudates", 0)),
    )


@task_family(counts={"train": 24, "val": 4, "test": 6, "test_ood": 4})
def retinopathy(draw: Draw) -> Case:
    """Which grade of diabetic retinopathy is this?"""
    difficulty, rng = difficulty_of(draw), draw.rng
    grades = [HELD_OUT_GRADE] if draw.split == "test_ood" else [name for name in GRADES if name != HELD_OUT_GRADE]
    grade = turn(draw, grades)
    eye = EYES[int(rng.integers(2))]
    other = EYES[1 - EYES.index(eye)]
    two_eyes = difficulty == "hard" and grade != "no_retinopathy"
    entries = {eye: fundus(draw, eye, difficulty, **lesions_of(draw, grade, difficulty))}
    if two_eyes:
        lesser = "no_retinopathy" if grade == "mild_npdr" else "mild_npdr"
        entries[other] = fundus(draw, other, difficulty, **lesions_of(draw, lesser, difficulty))
    images = {f"fundus-{name}": entries[name] for name in EYES if name in entries}
    truth = images[f"fundus-{eye}"]["source"]["phantom"]
    dots, blots = truth.get("dots", [0, 0, 0, 0]), truth.get("blots", [0, 0, 0, 0])
    reading = Reading(
        conclusion=grade_of(truth),
        options=GRADES,
        value=float(sum(dots) + sum(blots)),
        tolerance=max(1.0, round(0.06 * (sum(dots) + sum(blots)))),
        unit="",
        value_is="number of red dots and blots in the worse eye",
        side=eye if two_eyes else "",
        look=(
            *(Call("fundus_red_lesions", image_id=name) for name in images),
            *(Call("fundus_bright_lesions", image_id=name) for name in images),
            Call(
                "grade_retinopathy",
                microaneurysms=sum(dots),
                haemorrhages_by_quadrant=list(blots),
                preretinal_bleeding=bool(truth.get("preretinal")),
                exudates=int(truth.get("exudates", 0)),
            ),
        ),
        measured=tuple((name, "red") for name in images),
        source="ICDR severity scale (Wilkinson et al., Ophthalmology 2003;110:1677)",
        alert="proliferative_retinopathy" if grade == "proliferative_retinopathy" else "",
    )
    shown = tuple(images) if difficulty == "easy" else ()
    return make_case(draw, Study(images=images, request=request_of(draw, "retina"), shown=shown), reading, difficulty)


def conclude_disc(right: float, left: float) -> str:
    """Return whether the discs raise the suspicion of glaucoma.

    Source: Foster et al., Br J Ophthalmol 2002;86:238: ratio, or difference between the eyes, at or above the 97.5th percentile;
    0.7 and 0.2 are its usual values.
    """
    return "glaucoma_suspect" if max(right, left) >= CUP_FROM or abs(right - left) >= DIFFERENCE_FROM else "normal_disc"


@task_family(counts={"train": 18, "val": 3, "test": 6, "test_ood": 4})
def optic_disc(draw: Draw) -> Case:
    """Do the optic discs raise the suspicion of glaucoma?"""
    difficulty, rng = difficulty_of(draw), draw.rng
    near = difficulty == "hard"
    if draw.split == "test_ood":  # only the difference between the eyes tells
        low = uniform(rng, 0.36, 0.38, 2)
        pair = [low, round(low + uniform(rng, 0.25, 0.27, 2), 2)]
    elif turn(draw, DISCS) == "normal_disc":
        low = uniform(rng, 0.40, 0.52, 2)
        pair = [low, round(low + uniform(rng, 0.05, 0.12, 2), 2)]
    else:
        high = uniform(rng, 0.74, 0.77, 2) if near else uniform(rng, 0.76, 0.86, 2)
        pair = [round(high - uniform(rng, 0.05, 0.4, 2), 2), high]
    right, left = pair if rng.random() < 0.5 else pair[::-1]
    images = {
        f"fundus-{eye}": fundus(draw, eye, difficulty, cup_ratio=cup) for eye, cup in (("right", right), ("left", left))
    }
    reading = Reading(
        conclusion=conclude_disc(right, left),
        options=DISCS,
        value=max(right, left),
        tolerance=0.035,
        unit="",
        value_is="the larger vertical cup-disc ratio",
        side="right" if right > left else "left",
        look=tuple(Call("cup_disc_ratio", image_id=name) for name in images),
        measured=tuple((name, "cup") for name in images),
        source="ISGEO (Foster et al., Br J Ophthalmol 2002;86:238): ratio of 0.7 or difference of 0.2",
        condition="glaucoma by difference" if draw.split == "test_ood" else "",
    )
    shown = tuple(images) if difficulty == "easy" else ()
    return make_case(draw, Study(images=images, request=request_of(draw, "disc"), shown=shown), reading, difficulty)
