"""Breast, liver, thyroid, kidney: one lesion, its features, its category."""

from typing import Any

from healthgym.tasks import Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw

from ..scores.bi_rads import bi_rads_category
from ..scores.bosniak import bosniak_class
from ..scores.li_rads import li_rads_table
from ..scores.ti_rads import ti_rads_level, ti_rads_management, ti_rads_points
from .cases import (
    COUNTS,
    PATIENT,
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
)  # fmt: skip

VIEWS = (("right", "CC"), ("right", "MLO"), ("left", "CC"), ("left", "MLO"))
BREAST_ADVICE = {1: "routine", 2: "routine", 3: "mammogram_6_months", 4: "biopsy", 5: "biopsy"}


@task_family(counts=COUNTS)
def mammography(draw: Draw) -> Case:
    """Two views of both breasts: quadrant, margin or shape, change, BI-RADS. Calcifications only in test_ood."""
    difficulty = pick_difficulty(draw)
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
            "long_mm": long_mm,
            "short_mm": round(long_mm * 0.85, 1),
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


SEGMENTS = {
    "segment_8": ("dome", 72, 72), "segment_7": ("dome", 70, 128), "segment_4a": ("dome", 122, 72), "segment_2": ("dome", 178, 66),
    "segment_5": ("lower", 72, 72), "segment_6": ("lower", 70, 128), "segment_4b": ("lower", 122, 72), "segment_3": ("lower", 178, 66),
}  # fmt: skip
VESSELS = ([95, 100, 104, 140], [98, 92, 100, 48], [146, 60, 150, 88])
LIVER = {
    "train": (
        ("LR-3", 14, 1, 0, 0, 0), ("LR-3", 14, 0, 1, 0, 0), ("LR-4", 26, 1, 0, 0, 0), ("LR-4", 14, 1, 0, 1, 0), ("LR-4", 26, 0, 1, 0, 0),
        ("LR-4", 15, 0, 1, 1, 0), ("LR-5", 14, 1, 1, 0, 0), ("LR-5", 26, 1, 1, 0, 0), ("LR-5", 26, 1, 0, 1, 0), ("LR-5", 16, 1, 1, 1, 0),
    ),
    "test_ood": (("LR-5", 16, 1, 0, 0, 1), ("LR-5", 26, 1, 0, 0, 1), ("LR-4", 16, 0, 1, 0, 1)),
}  # fmt: skip
"""(category, long axis in mm, arterial enhancement, washout, capsule, threshold growth)."""
LIVER_ADVICE = {
    "LR-3": "imaging_3_to_6_months",
    "LR-4": "multidisciplinary_discussion",
    "LR-5": "treatment_discussion",
    "not_applicable": "characterisation",
}


def liver_images(
    draw: Draw, lesions: list[dict[str, Any]], when: str, prefix: str, phases: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    """Return slices of two levels in these phases; a lesion's value depends on the phase."""
    images, number = {}, 0
    for level in ("dome", "lower"):
        for phase in phases:
            number += 1
            here = [
                _in_phase(lesion, phase) for lesion in lesions if lesion["level"] == level and lesion[phase] is not None
            ]
            images[f"{prefix}-{number}"] = image(
                draw,
                "liver_ct",
                f"CT liver, {level} level, {phase} phase, {when}",
                level=level,
                phase=phase,
                vessels=VESSELS,
                lesions=here,
            )
    return images


def _in_phase(lesion: dict[str, Any], phase: str) -> dict[str, Any]:
    rim = {"rim_mm": 2.0, "rim": 152} if lesion.get("capsule") and phase == "portal" else {}
    return {
        **{name: lesion[name] for name in ("x", "y", "long_mm", "short_mm", "angle")},
        "value": lesion[phase],
        **rim,
    }


@task_family(counts=COUNTS)
def liver_observation(draw: Draw) -> Case:
    """Two phases and a prior: LI-RADS v2018, where the patient is at risk. Threshold growth only in test_ood."""
    difficulty = pick_difficulty(draw)
    rows = LIVER["test_ood" if draw.split == "test_ood" else "train"]
    _, long_mm, aphe, washout, capsule, growth = pick(draw, rows)
    long_mm = round(long_mm + between(draw, -1.5, 1.5), 1)
    is_at_risk = not (difficulty == "hard" and draw.rng.random() < 0.5)
    with_prior = growth or difficulty != "easy"
    segment = pick(draw, sorted(SEGMENTS))
    level, x, y = SEGMENTS[segment]
    base = {
        "level": level,
        "x": x,
        "y": y,
        "location": segment,
        "capsule": capsule,
        "arterial": 118 if aphe else None,
        "portal": 82 if washout else 112 if capsule else None,
    }
    shape = {"long_mm": long_mm, "short_mm": round(0.9 * long_mm, 1), "angle": between(draw, 0, 180)}
    images = liver_images(draw, [{**base, **shape}], "today", "now", ("arterial", "portal"))
    if with_prior:
        share = 1 / 1.8 if growth else 1.0
        old = {**base, **{name: value * share if name != "angle" else value for name, value in shape.items()}}
        images |= liver_images(draw, [old], "5 months earlier", "prior", ("arterial", "portal"))
    category = (
        li_rads_table(long_mm, bool(aphe), bool(washout), bool(capsule), bool(growth))
        if is_at_risk
        else "not_applicable"
    )
    words = [
        name if holds else f"no_{name}"
        for name, holds in (("aphe", aphe), ("washout", washout), ("capsule", capsule), ("threshold_growth", growth))
    ]
    change = ("larger" if growth else "unchanged") if with_prior else None
    number = (1 if level == "dome" else 3) + (0 if aphe else 1)
    shown, other, before = f"now-{number}", f"now-{number + 1 if aphe else number - 1}", f"prior-{number}"
    lesion = {"x": x, "y": y}
    looks = [Call("find_regions", image_id=f"now-{n}") for n in (1, 2, 3, 4)]
    looks += [Call("measure_roi", image_id=name, **at(images[name], lesion)) for name in (shown, other)]
    evidence = [*searched([f"now-{n}" for n in (1, 2, 3, 4)], "both levels in both phases"), *measured([shown])]
    if with_prior:
        looks.append(Call("compare_with_prior", image_id=shown, prior_image_id=before, **at(images[shown], lesion)))
        evidence += searched([before], "the same place on the prior")
    else:
        looks.append(Call("measure_lesion", image_id=shown, **at(images[shown], lesion)))
    looks.append(Call("read_history", patient_id=PATIENT))
    evidence.append(Evidence(any_of=(f"{PATIENT}.history",), label="the record"))
    history = (
        [
            pick(
                draw,
                (
                    "Cirrhosis from alcohol, compensated.",
                    "Chronic hepatitis B, on entecavir.",
                    "Cirrhosis after hepatitis C.",
                ),
            )
        ]
        if is_at_risk
        else [
            "No liver disease known; viral hepatitis tests negative.",
            "Takes an oral contraceptive or none of note; liver tests normal.",
        ]
    )
    return make_case(
        draw, who=patient(draw, 32, 82), title="CT of the liver, two phases", template="liver_ct", images=images, evidence=evidence, looks=looks,
        request=pick(draw, ("Something seen on ultrasound.", "Lesion to be characterised.", "Alpha-fetoprotein slightly raised.")),
        findings=[entry("observation", location=segment, size_mm=long_mm, change=change, descriptors=words)], difficulty=difficulty,
        condition="liver_observation", category=category, follow_up=LIVER_ADVICE[category], history=history, size_tolerance_mm=2.5,
        priors=({"id": "prior", "when": "5 months earlier", "report": "CT for comparison; see images."},) if with_prior else (),
    )  # fmt: skip


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
                entry("nodule", location="_".join(spot), size_mm=item["long_mm"], descriptors=item["words"])
            )
    worst = max(nodules, key=lambda item: item["tirads"])
    return make_case(
        draw, who=patient(draw, 22, 84), title="Ultrasound of the thyroid", template="thyroid_us", images=images, findings=findings, evidence=evidence,
        request=pick(draw, ("Lump in the neck.", "Nodule felt on examination.", "Goitre.")), looks=looks, difficulty=difficulty,
        condition="thyroid_nodule", category=f"TR{worst['tirads']}", follow_up=ti_rads_management(worst["tirads"], worst["long_mm"]),
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
        "pattern_seed": int(draw.rng.integers(1, 10_000)), "long_mm": size, "short_mm": round(ratio * size, 1), "angle": 90.0 if taller else 0.0,
        "words": words, "tirads": level, "seed": {"x": 32 + offset, "y": 27.0 if offset else 27 + 0.25 * size * (1 if taller else ratio)},
    }  # fmt: skip


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
        "x": 62 - edge if side == "right" else 62 + edge, "y": y, "long_mm": long_mm, "wall_mm": wall_mm, "wall_hu": 100, "septa": septa,
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
