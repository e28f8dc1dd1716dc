"""CT of the head: stroke calls with ASPECTS, and haemorrhage with shift and prior."""

from typing import Any

from healthgym.tasks import Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw

from ..scores.aspects import GANGLIONIC, SUPRAGANGLIONIC, aspects_score
from .cases import (
    COUNTS,
    PATIENT,
    at,
    between,
    ellipse,
    entry,
    image,
    make_case,
    measured,
    patient,
    pick,
    pick_difficulty,
    searched,
)  # fmt: skip

LEVELS = ("ganglionic", "supraganglionic")
BLEEDS = {
    "right_deep": (74, 112), "right_frontal": (66, 68), "right_temporoparietal": (54, 122), "right_occipital": (70, 174),
    "left_deep": (116, 112), "left_frontal": (124, 68), "left_temporoparietal": (136, 122), "left_occipital": (120, 174),
}  # fmt: skip


def _slices(draw: Draw, when: str, prefix: str, by_level: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        f"{prefix}-{number}": image(
            draw, "ct_head", f"CT head, axial, {level} level, {when}", 3.0, level=level, **by_level.get(level, {})
        )
        for number, level in enumerate(LEVELS, 1)
    }


@task_family(counts=COUNTS)
def stroke_ct(draw: Draw) -> Case:
    """A stroke call: ASPECTS by comparing the sides; old infarcts do not count. Haemorrhage only in test_ood."""
    difficulty = pick_difficulty(draw)
    side = pick(draw, ("right", "left"))
    if draw.split == "test_ood":
        return _stroke_with_blood(draw, difficulty, side)
    regions = [(GANGLIONIC + SUPRAGANGLIONIC)[int(n)] for n in draw.rng.permutation(10)]
    affected = sorted(regions[: int(draw.rng.integers(0, 7))])
    old = regions[7] if difficulty == "hard" else ""
    drop = {"easy": -9.0, "medium": -7.5, "hard": -7.0}[difficulty]
    by_level: dict[str, dict[str, Any]] = {level: {"ischaemia": []} for level in LEVELS}
    before: dict[str, dict[str, Any]] = {level: {"ischaemia": []} for level in LEVELS}
    for region in affected:
        by_level[_level(region)]["ischaemia"].append({"region": region, "side": side, "drop_hu": drop})
    if old:
        for target in (by_level, before):
            target[_level(old)]["ischaemia"].append({"region": old, "side": side, "drop_hu": -18.0})
    images = _slices(draw, "today", "now", by_level)
    if old:
        images |= _slices(draw, "14 months earlier", "prior", before)
    findings = [entry("early_ischaemia", location=f"{side}_{region}") for region in affected] or [
        entry("early_ischaemia", False)
    ]
    findings += [entry("old_infarct", location=f"{side}_{old}")] if old else []
    findings.append(entry("intracerebral_haemorrhage", False))
    looks = [Call("view_image", image_id=name) for name in ("now-1", "now-2")] + [
        Call("compare_sides", image_id=name) for name in images
    ]
    evidence = searched(list(images), "both slices, and the prior where there is one")
    evidence += [
        Evidence(any_of=(f"{PATIENT}.sides.{name}",), label="the sides compared") for name in ("now-1", "now-2")
    ]
    priors = ({"id": "prior", "when": "14 months earlier", "report": "An old infarct; see images."},) if old else ()
    return make_case(
        draw, who=patient(draw, 45, 93), title="CT of the head without contrast", template="stroke_ct", images=images, findings=findings,
        request=pick(draw, ("Stroke call: sudden weakness, 80 minutes.", "Stroke call: speech lost 2 hours ago.", "Stroke call: found with facial droop.")),
        evidence=evidence, looks=looks, difficulty=difficulty, condition="ischaemic_stroke", category=f"ASPECTS {aspects_score(affected)}",
        critical=("early_ischaemia", "stroke_team") if affected else None, priors=priors,
    )  # fmt: skip


def _level(region: str) -> str:
    return "ganglionic" if region in GANGLIONIC else "supraganglionic"


def _bleed(draw: Draw, side: str, mean_mm: float) -> dict[str, Any]:
    place = pick(draw, [name for name in BLEEDS if name.startswith(side)])
    x, y = BLEEDS[place]
    return {
        "finding": "intracerebral_haemorrhage",
        "location": place,
        "x": x,
        "y": y,
        "value": 66,
        **ellipse(draw, mean_mm, 0.75, 90),
    }


def _stroke_with_blood(draw: Draw, difficulty: Any, side: str) -> Case:
    blood, level = _bleed(draw, side, between(draw, 15, 22)), pick(draw, LEVELS)
    images = _slices(draw, "today", "now", {level: {"lesions": [blood]}})
    name = f"now-{LEVELS.index(level) + 1}"
    looks = [
        Call("find_regions", image_id="now-1"),
        Call("find_regions", image_id="now-2"),
        Call("measure_lesion", image_id=name, **at(images[name], blood)),
    ]
    return make_case(
        draw, who=patient(draw, 45, 93), title="CT of the head without contrast", template="stroke_ct", images=images,
        findings=[entry("intracerebral_haemorrhage", location=blood["location"], size_mm=blood["long_mm"]), entry("early_ischaemia", False)],
        request="Stroke call: sudden weakness, 80 minutes.", evidence=[*searched(["now-1", "now-2"], "both slices"), *measured([name])],
        looks=looks, difficulty=difficulty, condition="intracerebral_haemorrhage", category="not_applicable", size_tolerance_mm=2.5,
        critical=("intracerebral_haemorrhage", "neurosurgery"),
    )  # fmt: skip


HEAD_FINDINGS = ("subdural_haematoma", "epidural_haematoma", "intracerebral_haemorrhage", "midline_shift")


@task_family(counts=COUNTS)
def head_bleed(draw: Draw) -> Case:
    """Blood in the head: kind, place, thickness, shift, change; call what is new. Epidural blood only in test_ood."""
    difficulty = pick_difficulty(draw)
    kinds = (
        ("epidural_haematoma",)
        if draw.split == "test_ood"
        else ("subdural_haematoma", "intracerebral_haemorrhage", "none")
    )
    kind, side = (pick(draw, kinds) if difficulty != "hard" else pick(draw, kinds[:2])), pick(draw, ("right", "left"))
    change = None if difficulty == "easy" or kind == "none" else pick(draw, ("new", "larger", "unchanged"))
    level = pick(draw, LEVELS)
    findings, blood = [], None
    if kind == "intracerebral_haemorrhage":
        blood = _bleed(draw, side, between(draw, 16, 24))
        findings.append(entry(kind, location=blood["location"], size_mm=blood["long_mm"], change=change))
    elif kind != "none":
        thick = between(draw, 13, 20) if kind == "epidural_haematoma" else between(draw, 9, 16)
        blood = {"finding": kind, "location": f"{side}_convexity", "long_mm": thick, "value": 67}
        findings.append(entry(kind, location=blood["location"], size_mm=thick, change=change))
    shift_mm = between(draw, 4, 9) if kind != "none" and draw.rng.random() < 0.6 and change != "unchanged" else 0.0
    moved = {"midline_shift_mm": shift_mm, "shift_to": "left" if side == "right" else "right"}
    findings += [entry("midline_shift", size_mm=shift_mm)] if shift_mm else []
    present = {item["finding"] for item in findings}
    findings += [entry(name, False) for name in HEAD_FINDINGS if name not in present]
    images = _slices(
        draw,
        "today",
        "now",
        {name: {**moved, "lesions": [blood] if blood and name == level else []} for name in LEVELS},
    )
    with_prior = difficulty != "easy"
    if with_prior:
        share = {"larger": 0.5, "unchanged": 1.0}.get(change or "", 0.0)
        old = (
            [{**blood, "long_mm": blood["long_mm"] * share, "short_mm": blood.get("short_mm", 0) * share}]
            if blood and share
            else []
        )
        images |= _slices(draw, "5 days earlier", "prior", {level: {"lesions": old}})
    shown = f"now-{LEVELS.index(level) + 1}"
    looks = [Call("view_image", image_id=name) for name in images] + [Call("midline_shift", image_id="now-1")]
    evidence = searched(list(images), "every slice, priors included")
    evidence.append(
        Evidence(any_of=(f"{PATIENT}.midline.now-1", f"{PATIENT}.midline.now-2"), label="the midline measured")
    )
    if blood and "x" in blood:
        looks.append(Call("measure_lesion", image_id=shown, **at(images[shown], blood)))
        evidence += measured([shown])
    elif blood:
        dx, dy = images[shown]["shift"]
        start = 14 if side == "right" else 176
        looks.append(
            Call(
                "line_profile",
                image_id=shown,
                x1_mm=start + dx,
                y1_mm=109 + dy,
                x2_mm=70 + dx if side == "right" else 120 + dx,
                y2_mm=109 + dy,
            )
        )
        evidence += measured([shown])
    request = pick(
        draw,
        (
            "Fell at home, on a blood thinner.",
            "Headache and drowsy since a fall.",
            "Found confused on the floor.",
            "Bicycle accident, vomited twice.",
        ),
    )
    return make_case(
        draw, who=patient(draw, 18, 95), title="CT of the head without contrast", template="head_ct", request=request, images=images,
        findings=findings, evidence=evidence, looks=looks, difficulty=difficulty, condition=kind, size_tolerance_mm=2.5,
        critical=(kind, "neurosurgery") if blood and change != "unchanged" else None,
        priors=({"id": "prior", "when": "5 days earlier", "report": "CT for comparison; see images."},) if with_prior else (),
    )  # fmt: skip
