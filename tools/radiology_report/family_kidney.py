"""Cystic renal masses: Bosniak 2019."""

from typing import Any

from healthgym.tasks import Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw

from ..scores.bosniak import bosniak_class
from .cases import (
    COUNTS,
    PATIENT,
    at,
    between,
    entry,
    image,
    make_case,
    patient,
    pick,
    pick_difficulty,
    searched,
)

POLES = {"upper_pole": 40, "interpolar": 75, "lower_pole": 110}
RENAL = {
    "train": (
        ("I", 1.2, 0, 0, 8), ("II", 1.2, 2, 0, 8), ("II", 1.2, 0, 0, 84), ("IIF", 1.2, 5, 0, 8), ("IIF", 3.0, 0, 0, 8), ("IIF", 3.0, 2, 0, 8),
        ("III", 5.5, 0, 0, 8), ("III", 5.5, 2, 0, 8),
    ),
    "test_ood": (("IV", 1.2, 0, 9, 8), ("IV", 3.0, 0, 10, 8), ("IV", 1.2, 0, 8, 8)),
}  # fmt: skip
"""(class, wall in mm, number of thin septa, nodule in mm, fluid in HU)."""
RENAL_ADVICE = {
    "I": "none",
    "II": "none",
    "IIF": "imaging_6_months",
    "III": "urology_referral",
    "IV": "urology_referral",
}


@task_family(counts=COUNTS)
def renal_cyst(draw: Draw) -> Case:
    """Both kidneys without and with contrast: Bosniak 2019. Nodules only in test_ood."""
    difficulty = pick_difficulty(draw)
    rows = RENAL["test_ood" if draw.split == "test_ood" else "train"]
    _, wall_mm, septa, nodule_mm, fluid_hu = pick(
        draw,
        rows
        if difficulty != "easy" or draw.split == "test_ood"
        else [row for row in rows if not (row[1] > 2 and row[2])],
    )
    category = bosniak_class(
        wall_mm, septa, 1.5 if septa else 0.0, nodule_mm, fluid_hu, wall_mm > 2 or septa > 0 or nodule_mm > 0
    )
    side, pole = pick(draw, ("right", "left")), pick(draw, sorted(POLES))
    long_mm, y = between(draw, 27, 31), POLES[pole]
    edge = 29 if pole != "interpolar" else 33
    drawn = {
        "x": 62 - edge if side == "right" else 62 + edge, "y": y, "long_mm": long_mm, "wall_mm": wall_mm, "wall_hu": 72, "septa": septa,
        "septa_mm": 1.5, "nodule_mm": nodule_mm, "fluid_hu": fluid_hu,
    }  # fmt: skip
    images: dict[str, Any] = {}
    for number, (kidney, phase) in enumerate((k, p) for k in ("right", "left") for p in ("native", "nephrographic")):
        here = [drawn] if kidney == side else []
        images[f"now-{number + 1}"] = image(
            draw, "renal_ct", f"CT {kidney} kidney, coronal, {phase} phase", 3.0, side=kidney, phase=phase, lesions=here
        )
    native, contrast = ("now-1", "now-2") if side == "right" else ("now-3", "now-4")
    looks = [Call("find_regions", image_id=name) for name in images]
    place = at(images[contrast], drawn)
    sign, radius = (-1 if side == "right" else 1), long_mm / 2
    off = 0.5 * drawn["long_mm"] / 2
    looks += [
        Call("measure_lesion", image_id=contrast, **{**place, "x_mm": round(place["x_mm"] + (0.85 * 2 / (septa + 1) / 2 * radius if septa % 2 else 0), 1)}),
        Call("measure_roi", image_id=native, **at(images[native], drawn)),
        Call("line_profile", image_id=contrast, x1_mm=place["x_mm"], y1_mm=place["y_mm"], x2_mm=round(max(0.0, place["x_mm"] + sign * (radius + 5)), 1), y2_mm=place["y_mm"]),
        Call("line_profile", image_id=contrast, x1_mm=place["x_mm"], y1_mm=place["y_mm"], x2_mm=place["x_mm"], y2_mm=round(place["y_mm"] + off, 1)),
    ]  # fmt: skip
    evidence = searched(list(images), "both kidneys in both phases")
    evidence += [
        Evidence(any_of=(f"{PATIENT}.profiled.{contrast}",), label="wall and septa on a line"),
        Evidence(
            any_of=(f"{PATIENT}.roi.{native}", f"{PATIENT}.measured.{native}"), label="the fluid without contrast"
        ),
    ]
    wall = "thin_wall" if wall_mm <= 2 else "minimally_thickened_wall" if wall_mm < 4 else "thick_wall"
    words = [
        wall,
        "no_septa" if not septa else "few_septa" if septa < 4 else "many_septa",
        "nodule" if nodule_mm else "no_nodule",
        "simple_fluid" if fluid_hu < 21 else "dense_fluid",
    ]
    return make_case(
        draw, who=patient(draw, 34, 88), title="CT of the kidneys without and with contrast", template="renal_ct", images=images, evidence=evidence,
        findings=[entry("cystic_mass", location=f"{side}_{pole}", size_mm=long_mm, descriptors=words)], looks=looks, difficulty=difficulty,
        request=pick(draw, ("Cyst on ultrasound, not simple.", "Mass of the kidney found by chance.", "Blood in the urine once.")),
        condition=f"bosniak_{category}", category=category, follow_up=RENAL_ADVICE[category], size_tolerance_mm=3.0,
    )  # fmt: skip
