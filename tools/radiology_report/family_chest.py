"""Chest films and CT of the lungs: urgent films, screening, nodules found by chance."""

from typing import Any

from healthgym.tasks import Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw

from ..scores.fleischner import fleischner_applies, fleischner_follow_up
from ..scores.lung_rads import lung_rads_category
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

FILM_PLACES = {
    "right_upper_zone": (104, 80), "right_mid_zone": (100, 136), "right_lower_zone": (98, 192),
    "left_upper_zone": (256, 80), "left_mid_zone": (262, 136), "left_lower_zone": (284, 192),
}  # fmt: skip
FILM_FINDINGS = ("pneumothorax", "pleural_effusion", "consolidation", "nodule", "free_air")
LUNG_PLACES = {
    "right_upper_lobe": (("apex", 92, 100), ("hilum", 90, 88)),
    "right_middle_lobe": (("base", 84, 92),),
    "right_lower_lobe": (("hilum", 92, 160), ("base", 86, 156)),
    "left_upper_lobe": (("apex", 228, 104), ("hilum", 230, 86)),
    "left_lower_lobe": (("hilum", 226, 158), ("base", 240, 158)),
}
LEVELS = ("apex", "hilum", "base")
KINDS: dict[str, dict[str, float]] = {
    "solid": {"value": 30},
    "part_solid": {"value": -560, "core": 30},
    "ground_glass": {"value": -560},
}


@task_family(counts=COUNTS)
def chest_film(draw: Draw) -> Case:
    """A frontal film with one or two findings, some of which must be called."""
    difficulty = pick_difficulty(draw)
    mains = (
        ("free_air",)
        if draw.split == "test_ood"
        else ("pneumothorax", "pleural_effusion", "consolidation", "nodule", "none")
    )
    chosen = [pick(draw, mains)]
    if difficulty == "hard" or draw.split == "test_ood":
        chosen.append(
            pick(draw, [name for name in ("pleural_effusion", "consolidation", "nodule") if name not in chosen])
        )
    months = pick(draw, (3, 6, 30)) if difficulty != "easy" else 0
    now: dict[str, Any] = {"lesions": []}
    before: dict[str, Any] = {"lesions": []}
    findings, looks = [], []
    sides = ["right", "left"] if draw.rng.random() < 0.5 else ["left", "right"]
    for name, side in zip(chosen, sides, strict=False):
        change = pick(draw, ("new", "larger", "unchanged")) if months else None
        if name == "none":
            continue
        if name in ("consolidation", "nodule"):
            item = _film_lesion(draw, name, side)
            now["lesions"].append(item)
            if change in ("larger", "unchanged"):
                share = 1.0 if change == "unchanged" else 0.55
                before["lesions"].append(
                    {**item, "long_mm": item["long_mm"] * share, "short_mm": item["short_mm"] * share}
                )
            size = item["long_mm"] if name == "nodule" else None
            findings.append(entry(name, location=item["location"], size_mm=size, change=change))
        else:
            if name == "free_air":
                now["free_air"] = ["right"]
                change, side = "new" if months else None, "right"
            elif name == "pneumothorax":
                width = between(draw, 18, 30)
                now["pneumothorax"] = {"side": side, "width_mm": width}
                change = "new" if change == "unchanged" else change
                if change == "larger":
                    before["pneumothorax"] = {"side": side, "width_mm": round(width * 0.45, 1)}
            else:
                height = between(draw, 50, 80)
                now["effusion"] = {"side": side, "height_mm": height}
                if change in ("larger", "unchanged"):
                    before["effusion"] = {"side": side, "height_mm": height if change == "unchanged" else height - 30}
            findings.append(entry(name, location=side, change=change))
    present = {item["finding"] for item in findings}
    findings += [entry(name, False) for name in FILM_FINDINGS if name not in present]
    images = {"now-1": image(draw, "chest_film", "Chest film, frontal, today", **now)}
    if months:
        images["prior-1"] = image(draw, "chest_film", f"Chest film, frontal, {months} months earlier", **before)
    looks += [Call("view_image", image_id=name) for name in images] + [Call("compare_sides", image_id="now-1")]
    evidence = [
        *searched(list(images), "every film looked at"),
        Evidence(any_of=(f"{PATIENT}.sides.now-1", f"{PATIENT}.regions.now-1"), label="the film searched"),
    ]
    for item in now["lesions"]:
        if item["finding"] == "nodule":
            looks.append(Call("measure_lesion", image_id="now-1", **at(images["now-1"], item)))
            evidence += measured(["now-1"])
    nodule = next((item for item in findings if item["finding"] == "nodule" and item["present"]), None)
    is_old = nodule is not None and nodule.get("change") == "unchanged" and months >= 24
    advice = "chest_ct" if nodule and not is_old else "film_6_weeks" if "consolidation" in present else "none"
    critical = (
        ("free_air", "surgery")
        if "free_air" in present
        else ("pneumothorax", "referring_team")
        if "pneumothorax" in present
        else None
    )
    request = pick(
        draw,
        (
            "Chest pain and short of breath.",
            "Cough for a week, unwell.",
            "Pain on breathing in since this morning.",
            "Before an operation.",
        ),
    )
    return make_case(
        draw, who=patient(draw, 19, 94), title="Chest film", template="chest_film", request=request, images=images, findings=findings,
        evidence=evidence, looks=looks, difficulty=difficulty, condition="+".join(chosen), follow_up=advice, critical=critical,
        size_tolerance_mm=3.0, priors=_prior(months, "Film for comparison; see images.") if months else (),
    )  # fmt: skip


def _film_lesion(draw: Draw, name: str, side: str) -> dict[str, Any]:
    zone = f"{side}_{pick(draw, ('upper', 'mid', 'lower'))}_zone"
    x, y = FILM_PLACES[zone]
    if name == "nodule":
        shape = ellipse(draw, between(draw, 16, 24), 0.85)
        return {"finding": name, "location": zone, "x": x, "y": y, "value": 142, **shape}
    return {
        "finding": name,
        "location": zone,
        "x": x,
        "y": y,
        "long_mm": between(draw, 46, 58),
        "short_mm": between(draw, 36, 44),
    }


def _prior(months: int, report: str) -> tuple[dict[str, str], ...]:
    return ({"id": "prior", "when": f"{months} months earlier", "report": report},)


def lung_images(
    draw: Draw, nodules: list[dict[str, Any]], when: str, prefix: str, anatomy_seed: int
) -> dict[str, dict[str, Any]]:
    """Return three slices with these nodules; vessels stay clear of `keep_clear` places, which are all possible ones."""
    images = {}
    for number, level in enumerate(LEVELS, 1):
        clear = [
            {"x": x, "y": y, "long_mm": 24}
            for places in LUNG_PLACES.values()
            for at_level, x, y in places
            if at_level == level
        ]
        here = [nodule for nodule in nodules if nodule["level"] == level]
        images[f"{prefix}-{number}"] = image(
            draw, "lung_ct", f"CT chest, axial, {level}, {when}", level=level, keep_clear=clear, lesions=here,
            anatomy_seed=anatomy_seed + number,
        )  # fmt: skip
    return images


def nodule_at(
    draw: Draw, lobe: str, mean_mm: float, kind: str, margin: str = "smooth", solid_mm: float = 0.0
) -> dict[str, Any]:
    """Return a nodule of a lobe, drawn on one of its slices."""
    level, x, y = pick(draw, LUNG_PLACES[lobe])
    core = {"core_mm": solid_mm} if kind == "part_solid" else {}
    return {
        "level": level, "x": x + between(draw, -4, 4), "y": y + between(draw, -4, 4), "location": lobe, "margin": margin,
        "mean_mm": mean_mm, **KINDS[kind], **core, **ellipse(draw, mean_mm, 0.82),
    }  # fmt: skip


def image_of(nodule: dict[str, Any], prefix: str) -> str:
    """Return the id of the slice that shows a nodule."""
    return f"{prefix}-{LEVELS.index(nodule['level']) + 1}"


SCREENING = {
    "solid": (
        ("2", "baseline", 4.9, 0), ("3", "baseline", 7.3, 0), ("4A", "baseline", 11.0, 0), ("4B", "baseline", 18.0, 0),
        ("3", "new", 5.1, 0), ("4A", "new", 7.2, 0), ("4B", "new", 11.0, 0), ("4A", "growing", 7.2, 4.8),
        ("4B", "growing", 11.0, 7.5), ("2", "stable", 7.2, 7.2), ("3", "stable", 11.0, 11.0), ("4X", "baseline", 12.0, 0), ("1", "none", 0, 0),
    ),
    "part_solid": (("3", "baseline", 13.0, 4.4), ("4A", "baseline", 16.0, 7.6), ("4B", "baseline", 19.0, 11.0)),
    "ground_glass": (("2", "baseline", 14.0, 0),),
}  # fmt: skip
"""(category, course, mean diameter in mm, before or solid part in mm): away from the limits by more than a pixel's error."""
FOLLOW_UP = {
    "1": "ldct_12_months",
    "2": "ldct_12_months",
    "3": "ldct_6_months",
    "4A": "ldct_3_months",
    "4B": "diagnostic_workup",
    "4X": "diagnostic_workup",
}


@task_family(counts=COUNTS)
def lung_screening(draw: Draw) -> Case:
    """Screening CT: find, measure and compare nodules; Lung-RADS 2022. Subsolid nodules only in test_ood."""
    difficulty = pick_difficulty(draw)
    kind: Any = (
        pick(draw, ("part_solid", "part_solid", "part_solid", "ground_glass")) if draw.split == "test_ood" else "solid"
    )
    rows = [row for row in SCREENING[kind] if difficulty != "easy" or row[1] in ("baseline", "none")]
    target, course, mean_mm, other_mm = pick(draw, rows)
    mean_mm = (
        round(mean_mm + between(draw, -0.2, 0.2) * (1 if mean_mm < 9 else 5), 1) if course != "stable" else mean_mm
    )
    anatomy, lobe = int(draw.rng.integers(1, 100_000)), pick(draw, sorted(LUNG_PLACES))
    nodules: list[dict[str, Any]] = []
    old: list[dict[str, Any]] = []
    findings: list[dict[str, Any]] = []
    if course != "none":
        nodule = nodule_at(
            draw,
            lobe,
            mean_mm,
            kind,
            "spiculated" if target == "4X" else "smooth",
            other_mm if kind == "part_solid" else 0.0,
        )
        nodules.append(nodule)
        change = {"new": "new", "growing": "larger", "stable": "unchanged"}.get(course)
        findings.append(
            entry("nodule", location=lobe, size_mm=mean_mm, change=change, descriptors=[kind, nodule["margin"]])
        )
        if course in ("growing", "stable"):
            old.append({**nodule, **ellipse(draw, other_mm, 0.82, nodule["angle"])})
    with_prior = course in ("new", "growing", "stable") or (course == "none" and difficulty != "easy")
    if difficulty == "hard" and nodules and draw.split != "test_ood":  # a small harmless companion
        second = nodule_at(draw, pick(draw, [name for name in sorted(LUNG_PLACES) if name != lobe]), 4.9, "solid")
        nodules.append(second)
        findings.append(
            entry(
                "nodule",
                location=second["location"],
                size_mm=4.9,
                change="unchanged" if with_prior else None,
                descriptors=["solid", "smooth"],
            )
        )
        old += [second] if with_prior else []
    previous = {"2": "3", "3": "4A"}[target] if course == "stable" else "2" if with_prior else ""
    months = {"3": 6, "4A": 3}.get(previous, 12)
    category = lung_rads_category(
        kind if nodules else "none", mean_mm, course if course != "none" else "baseline", other_mm if kind == "part_solid" else 0.0,
        previous, target == "4X",
    )  # fmt: skip
    images = lung_images(draw, nodules, "today", "now", anatomy)
    if with_prior:
        images |= lung_images(draw, old, f"{months} months earlier", "prior", anatomy)
    looks, evidence = _lung_looks(images, nodules, old)
    if with_prior:
        looks.insert(0, Call("prior_report", patient_id=PATIENT, prior_id="prior"))
        evidence.append(Evidence(any_of=(f"{PATIENT}.priors.prior",), label="the prior report"))
    return make_case(
        draw, who=patient(draw, 50, 80), title="Low-dose CT of the chest, screening", template="lung_screening", condition=f"{kind}_{course}",
        request="Lung cancer screening" + (f", follow-up after {months} months." if with_prior else ", first round."), images=images,
        findings=findings or [entry("nodule", False)], evidence=evidence, looks=looks, difficulty=difficulty, size_tolerance_mm=1.5,
        category=category, follow_up=FOLLOW_UP[category], priors=_prior(months, f"Screening CT, Lung-RADS {previous}.") if with_prior else (),
        history=(f"{int(between(draw, 22, 60))} pack-years.",),
    )  # fmt: skip


def _lung_looks(
    images: dict[str, Any], nodules: list[dict[str, Any]], old: list[dict[str, Any]]
) -> tuple[list[Call], list[Evidence]]:
    """Return the oracle's search and measurements on slices, and what must have been seen."""
    looks = [Call("find_regions", image_id=name) for name in images if name.startswith("now")]
    evidence = searched([name for name in images if name.startswith("now")], "every slice of today searched")
    for nodule in nodules:
        name, before = image_of(nodule, "now"), image_of(nodule, "prior")
        place = at(images[name], nodule)
        if before in images:
            looks.append(Call("compare_with_prior", image_id=name, prior_image_id=before, **place))
            evidence += searched([before], "the same place on the prior")
        else:
            looks.append(Call("measure_lesion", image_id=name, **place))
        evidence += measured([name])
    if not nodules:
        looks += [Call("view_image", image_id=name) for name in images if name.startswith("prior")]
        evidence += searched([name for name in images if name.startswith("prior")], "the prior slices")
    return looks, evidence


RISKS = {
    True: ("Smokes; 34 pack-years.", "Mother died of lung cancer at 61."),
    False: ("Never smoked. No cancer in the family.", "Smoked 3 pack-years in youth."),
}


@task_family(counts=COUNTS)
def incidental_nodule(draw: Draw) -> Case:
    """A nodule found by chance: Fleischner 2017, where it applies. Several nodules only in test_ood."""
    difficulty = pick_difficulty(draw)
    is_multiple = draw.split == "test_ood"
    kind: Any = pick(draw, ("solid", "solid", "solid", "ground_glass", "part_solid")) if not is_multiple else "solid"
    mean_mm = (
        round(pick(draw, (4.9, 7.1, between(draw, 11, 16))) + between(draw, -0.1, 0.1), 1)
        if kind == "solid"
        else between(draw, 11, 15)
    )
    is_high_risk = bool(draw.rng.random() < 0.5)
    who = patient(draw, 38, 88)
    history = [pick(draw, RISKS[is_high_risk])]
    has_cancer = is_suppressed = False
    if draw.rng.random() < {"easy": 0.0, "medium": 0.25, "hard": 0.5}[difficulty]:
        reason = pick(draw, ("cancer", "suppressed", "young"))
        has_cancer, is_suppressed = reason == "cancer", reason == "suppressed"
        if reason == "young":
            who = patient(draw, 19, 33)
    history += (
        ["Breast cancer treated 3 years ago."]
        if has_cancer
        else ["Kidney transplant, on tacrolimus."]
        if is_suppressed
        else ["No cancer known. No immunosuppression."]
    )
    if difficulty != "easy":
        history.insert(0, pick(draw, ("Hypertension, treated.", "Knee replacement 4 years ago.", "Gallstones.")))
    applies = fleischner_applies(who["age_years"], has_cancer, is_suppressed)
    advice = fleischner_follow_up(kind, mean_mm, is_multiple, is_high_risk) if applies else "not_applicable"
    lobes = [sorted(LUNG_PLACES)[int(number)] for number in draw.rng.permutation(len(LUNG_PLACES))]
    nodules = [nodule_at(draw, lobes[0], mean_mm, kind, solid_mm=round(mean_mm * 0.5, 1))]
    if is_multiple:
        nodules.append(nodule_at(draw, lobes[1], 4.9, kind))
    findings = [
        entry("nodule", location=item["location"], size_mm=item["mean_mm"], descriptors=[kind, "smooth"])
        for item in nodules
    ]
    images = lung_images(draw, nodules, "today", "now", int(draw.rng.integers(1, 100_000)))
    looks, evidence = _lung_looks(images, nodules, [])
    looks.append(Call("read_history", patient_id=PATIENT))
    evidence.append(Evidence(any_of=(f"{PATIENT}.history",), label="the record"))
    request = pick(
        draw,
        (
            "Abdominal pain; the lower chest was seen too, now the whole of it.",
            "After a fall from a ladder.",
            "Suspected embolism, none found.",
        ),
    )
    return make_case(
        draw, who=who, title="CT of the chest", template="incidental_nodule", request=request, images=images, findings=findings,
        evidence=evidence, looks=looks, difficulty=difficulty, condition=f"{kind}_nodule", follow_up=advice, history=history,
        size_tolerance_mm=1.5,
    )  # fmt: skip
