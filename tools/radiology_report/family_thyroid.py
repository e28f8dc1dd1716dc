"""Thyroid ultrasound: ACR TI-RADS."""

from typing import Any

from healthgym.tasks import Call, Case, task_family
from healthgym.tasks.families import Draw

from ..scores.ti_rads import ti_rads_level, ti_rads_management, ti_rads_points
from .cases import (
    COUNTS,
    at,
    between,
    entry,
    image,
    make_case,
    measured,
    patient,
    pick,
    pick_difficulty,
    searched,
)

LOBES = tuple((side, level) for side in ("right", "left") for level in ("upper", "mid", "lower"))
ECHO_GREY = {"hyperechoic": 212, "hypoechoic": 98, "very_hypoechoic": 38, "isoechoic": 150, "anechoic": 12}
SIZES = {2: (12, 22), 3: (12, 19, 28), 4: (8, 12.5, 18), 5: (7.8, 13)}
"""Diameters in mm by level, clear of the limits of management."""


@task_family(counts=COUNTS)
def thyroid_nodule(draw: Draw) -> Case:
    """Three levels of both lobes: ACR TI-RADS 2017. Cystic and spongiform nodules only in test_ood."""
    difficulty = pick_difficulty(draw)
    if draw.split == "test_ood":
        composition = pick(draw, ("cystic", "spongiform"))
        nodule = _thyroid(
            draw, composition, "anechoic" if composition == "cystic" else "isoechoic", False, "smooth", "none"
        )
    else:
        composition = pick(draw, ("solid", "solid", "solid", "mixed"))
        echo = (
            "hypoechoic"
            if composition == "mixed"
            else pick(draw, ("hyperechoic", "hypoechoic", "hypoechoic", "very_hypoechoic"))
        )
        plain = composition == "mixed" or echo == "hyperechoic"
        foci = pick(draw, ("none", "none", "macrocalcification", "punctate")) if not plain else "none"
        nodule = _thyroid(
            draw,
            composition,
            echo,
            not plain and draw.rng.random() < 0.3,
            pick(draw, ("smooth", "smooth", "lobulated")) if composition == "solid" else "smooth",
            foci,
        )
    nodules = [nodule]
    if difficulty == "hard" and draw.split != "test_ood":
        nodules.append(_thyroid(draw, "spongiform", "isoechoic", False, "smooth", "none"))
    spots = [LOBES[int(number)] for number in draw.rng.permutation(len(LOBES))][: len(nodules)]
    images, findings, looks, evidence = {}, [], [], []
    for number, spot in enumerate(LOBES, 1):
        here = [item for item, place in zip(nodules, spots, strict=True) if place == spot]
        name = f"now-{number}"
        images[name] = image(
            draw,
            "thyroid_us",
            f"Ultrasound of the thyroid, transverse, {spot[0]} lobe, {spot[1]} level",
            1.5,
            side=spot[0],
            level=spot[1],
            lesions=here,
        )
        looks.append(Call("find_regions", image_id=name))
        evidence += searched([name], "every level of both lobes")
        for item in here:
            looks += [
                Call("view_image", image_id=name),
                Call("measure_lesion", image_id=name, **at(images[name], item["seed"])),
            ]
            evidence += measured([name])
            findings.append(
                entry("nodule", location="_".join(spot), size_mm=item["size_mm"], descriptors=item["words"])
            )
    worst = max(nodules, key=lambda item: item["tirads"])
    return make_case(
        draw, who=patient(draw, 22, 84), title="Ultrasound of the thyroid", template="thyroid_us", images=images, findings=findings, evidence=evidence,
        request=pick(draw, ("Lump in the neck.", "Nodule felt on examination.", "Goitre.")), looks=looks, difficulty=difficulty,
        condition="thyroid_nodule", category=f"TR{worst['tirads']}", follow_up=ti_rads_management(worst["tirads"], worst["size_mm"]),
        size_tolerance_mm=2.0,
    )  # fmt: skip


def _thyroid(draw: Draw, composition: Any, echo: Any, taller: bool, margin: Any, foci: Any) -> dict[str, Any]:
    level = ti_rads_level(ti_rads_points(composition, echo, taller, margin, (foci,)))
    sizes = [
        size
        for size in SIZES.get(level, (12, 18))
        if not (taller and size > 14) and not (margin == "lobulated" and size > 19)
    ]
    long_mm = round(pick(draw, sizes) + between(draw, -0.4, 0.4), 1)
    # The outline of a lobulated nodule reaches beyond its ellipse, which is drawn smaller by as much.
    size = long_mm / 1.2 if margin == "lobulated" else long_mm
    ratio = 0.72 if long_mm > 20 else 0.78
    words = [
        composition,
        echo,
        "taller_than_wide" if taller else "wider_than_tall",
        margin,
        "no_foci" if foci == "none" else foci,
    ]
    # The seed is where the oracle measures: in the solid part, off any calcification.
    offset = -0.6 * size / 2 if composition == "mixed" else 0.0
    return {
        "x": 32, "y": 27, "value": ECHO_GREY[echo], "composition": composition, "foci": foci, "margin": margin,
        "pattern_seed": int(draw.rng.integers(1, 10_000)), "long_mm": round(size, 2), "short_mm": round(ratio * size, 1), "angle": 90.0 if taller else 0.0,
        "size_mm": long_mm,
        "words": words, "tirads": level, "seed": {"x": 32 + offset, "y": 27.0 if offset else 27 + 0.25 * size * (1 if taller else ratio)},
    }  # fmt: skip
