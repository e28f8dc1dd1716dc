"""Liver observations in two phases: LI-RADS."""

from typing import Any

from healthgym.tasks import Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw

from ..scores.li_rads import li_rads_table
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
)

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
        condition="liver_observation", category=category, follow_up=LIVER_ADVICE[category], history=history, size_tolerance_mm=3.0,
        priors=({"id": "prior", "when": "5 months earlier", "report": "CT for comparison; see images."},) if with_prior else (),
    )  # fmt: skip
