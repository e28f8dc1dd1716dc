"""Mammograms: quadrant, margin or shape, change, BI-RADS."""

from typing import Any

from healthgym.tasks import Call, Case, task_family
from healthgym.tasks.families import Draw

from ..scores.bi_rads import bi_rads_category
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

VIEWS = (("right", "CC"), ("right", "MLO"), ("left", "CC"), ("left", "MLO"))
BREAST_ADVICE = {1: "routine", 2: "routine", 3: "mammogram_6_months", 4: "biopsy", 5: "biopsy"}


@task_family(counts=COUNTS)
def mammography(draw: Draw) -> Case:
    """Two views of both breasts: quadrant, margin or shape, change, BI-RADS. Calcifications only in test_ood."""
    difficulty = pick_difficulty(draw)
    lesion: Any
    feature: Any
    course: Any
    if draw.split == "test_ood":
        lesion, feature = "calcifications", pick(draw, ("coarse", "round", "fine_linear_branching"))
    else:
        lesion, feature = pick(
            draw,
            (
                ("none", ""),
                *(
                    ("mass", name)
                    for name in ("circumscribed", "circumscribed", "circumscribed", "indistinct", "spiculated")
                ),
            ),
        )
    months = 0 if difficulty == "easy" or lesion == "calcifications" else pick(draw, (12, 30))
    course = pick(draw, ("stable", "stable", "enlarged")) if months and feature == "circumscribed" else "first_seen"
    category = bi_rads_category(
        lesion, feature if lesion == "mass" else "circumscribed", feature if lesion == "calcifications" else "coarse", course, months
    )  # fmt: skip
    side, up, out = pick(draw, ("right", "left")), pick(draw, ("upper", "lower")), pick(draw, ("outer", "inner"))
    long_mm, x = between(draw, 13, 19), between(draw, 26, 44)
    body_mm = (
        long_mm - 3.0 if feature == "indistinct" else long_mm
    )  # a drawn-out edge reaches half of its contrast further out
    near = {"CC": 58 if out == "outer" else 102, "MLO": 58 if up == "upper" else 102}
    density = int(draw.rng.integers(0, 4)) if difficulty != "easy" else int(draw.rng.integers(0, 2))
    drawn: dict[str, Any] = {
        "x": x,
        "pattern_seed": int(draw.rng.integers(1, 10_000)),
        "finding": lesion,
        "morphology": feature,
        "angle": between(draw, 0, 180),
    }
    drawn |= (
        {"long_mm": 6.0 if feature == "coarse" else 13.0}
        if lesion == "calcifications"
        else {
            "long_mm": body_mm,
            "short_mm": round(body_mm * 0.85, 1),
            "value": 188,
            "margin": {"circumscribed": "smooth"}.get(feature, feature),
        }
    )
    images, looks, evidence = {}, [], []
    for number, (breast, view) in enumerate(VIEWS, 1):
        here = [{**drawn, "y": near[view]}] if lesion != "none" and breast == side else []
        images[f"now-{number}"] = image(
            draw,
            "mammogram",
            f"Mammogram, {breast} {view}, today",
            3.0,
            side=breast,
            view=view,
            density=density,
            lesions=here,
        )
        if months:
            before = (
                []
                if course == "first_seen"
                else [
                    {**item, "long_mm": item["long_mm"] * share, "short_mm": item["short_mm"] * share}
                    for item in here
                    for share in ((1.0,) if course == "stable" else (0.65,))
                ]
            )
            images[f"prior-{number}"] = image(
                draw,
                "mammogram",
                f"Mammogram, {breast} {view}, {months} months earlier",
                3.0,
                side=breast,
                view=view,
                density=density,
                lesions=before,
            )
        looks.append(Call("find_regions", image_id=f"now-{number}"))
        evidence += searched([f"now-{number}"], "every view searched")
        if here:
            place = at(images[f"now-{number}"], here[0])
            if months:
                looks.append(
                    Call("compare_with_prior", image_id=f"now-{number}", prior_image_id=f"prior-{number}", **place)
                )
                evidence += searched([f"prior-{number}"], "the same view of the prior")
            elif lesion == "mass":
                looks.append(Call("measure_lesion", image_id=f"now-{number}", **place))
            else:
                looks.append(Call("view_region", image_id=f"now-{number}", **place))
            evidence += measured([f"now-{number}"]) if lesion == "mass" else []
    change = {"stable": "unchanged", "enlarged": "larger"}.get(course, "new") if months else None
    findings = [] if lesion == "none" else [
        entry(lesion, location=f"{side}_{up}_{out}", size_mm=long_mm if lesion == "mass" else None, change=change, descriptors=[feature])
    ]  # fmt: skip
    findings += [entry(name, False) for name in ("mass", "calcifications") if name != lesion]
    return make_case(
        draw, who=patient(draw, 41, 78, "female"), title="Mammogram", template="mammogram", images=images, findings=findings,
        request=pick(draw, ("Work-up after screening.", "Follow-up mammogram.", "Yearly mammogram.")), evidence=evidence, looks=looks,
        difficulty=difficulty, condition=f"{lesion}_{feature}", category=str(category), follow_up=BREAST_ADVICE[category],
        priors=({"id": "prior", "when": f"{months} months earlier", "report": "Mammogram for comparison; see images."},) if months else (),
    )  # fmt: skip
