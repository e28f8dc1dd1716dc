"""Tumours under treatment: targets measured on two or three studies, RECIST 1.1."""

from typing import Any

from healthgym.tasks import Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw

from ..scores.recist import recist_overall, recist_targets
from .cases import COUNTS, PATIENT, at, between, entry, make_case, measured, patient, pick, pick_difficulty, searched
from .family_chest import LEVELS, LUNG_PLACES, lung_images
from .family_liver import SEGMENTS, liver_images

COURSES = {
    "PR": ((0.50, 0.55), (0.75, 0.52)), "SD": ((0.92, 1.0), (0.85, 0.90)), "PD": ((1.0, 1.45), (0.62, 0.95)), "CR": ((0.0, 0.0), (0.6, 0.0)),
}  # fmt: skip
"""(nadir, today) as shares of the baseline sum: without a study between, then with one."""


@task_family(counts=COUNTS)
def treatment_response(draw: Draw) -> Case:
    """Two liver targets and one of the lung, followed over studies. A new lesion only in test_ood."""
    difficulty = pick_difficulty(draw)
    with_nadir, is_new = difficulty != "easy", draw.split == "test_ood"
    wanted = pick(draw, ("PR", "SD")) if is_new else pick(draw, ("PR", "PR", "SD", "SD", "PD", "PD", "CR"))
    nadir_share, now_share = COURSES[wanted][int(with_nadir)]
    segments = [sorted(SEGMENTS)[int(number)] for number in draw.rng.permutation(len(SEGMENTS))]
    lobe = pick(draw, sorted(LUNG_PLACES))
    targets = [
        _liver_target(draw, segment, between(draw, 24, 32)) for segment in segments[: 2 if difficulty != "easy" else 1]
    ]
    targets.append(_lung_target(draw, lobe, between(draw, 20, 26)))
    studies = {"base": 1.0, **({"mid": nadir_share} if with_nadir else {}), "now": now_share}
    when = {"base": "baseline, 6 months earlier", "mid": "3 months earlier", "now": "today"}
    new = [_liver_target(draw, segments[3], between(draw, 14, 18))] if is_new else []
    anatomy = int(draw.rng.integers(1, 100_000))
    images: dict[str, Any] = {}
    looks: list[Call] = []
    evidence: list[Evidence] = []
    for study, share in studies.items():
        shown = [_scaled(item, share) for item in targets] if share else []
        shown += new if study == "now" else []
        images |= liver_images(
            draw, [item for item in shown if "portal" in item], when[study], f"{study}-liver", ("portal",)
        )
        images |= lung_images(
            draw, [item for item in shown if "portal" not in item], when[study], f"{study}-lung", anatomy
        )
        for item in shown:
            name = _image_of(item, study)
            looks.append(Call("measure_lesion", image_id=name, **at(images[name], item)))
            evidence += measured([name], f"every target on the study of {when[study]}")
    today = [name for name in images if name.startswith("now")]
    looks = [
        *(Call("view_image", image_id=name) for name in today),
        Call("prior_report", patient_id=PATIENT, prior_id="base"),
        *looks,
    ]
    evidence += [
        *searched(today, "every slice of today"),
        Evidence(any_of=(f"{PATIENT}.priors.base",), label="the baseline report"),
    ]
    sums = {study: share * sum(item["long_mm"] for item in targets) for study, share in studies.items()}
    nadir = min(value for study, value in sums.items() if study != "now")
    response = recist_overall(recist_targets(sums["base"], nadir, sums["now"], now_share == 0), is_new)
    findings = [
        entry("target_lesion", location=item["location"], size_mm=round(item["long_mm"] * now_share, 1)) if now_share else entry("target_lesion", False, location=item["location"])
        for item in targets
    ]  # fmt: skip
    findings += [entry("new_lesion", location=item["location"], size_mm=item["long_mm"]) for item in new] or [
        entry("new_lesion", False)
    ]
    named = " and ".join(item["location"].replace("_", " ") for item in targets)
    priors = [
        {
            "id": study,
            "when": when[study],
            "report": f"Targets: {named}." if study == "base" else "On treatment; same targets.",
        }
        for study in studies
        if study != "now"
    ]
    return make_case(
        draw, who=patient(draw, 35, 84), title="CT of chest and liver under treatment", template="oncology_ct", images=images, findings=findings,
        request="Metastatic colorectal cancer on chemotherapy. Response by RECIST 1.1?", evidence=evidence, looks=looks, difficulty=difficulty,
        condition=f"response_{response}", category=response, priors=priors, size_tolerance_mm=2.5, history=("Colorectal cancer, liver and lung metastases.",),
    )  # fmt: skip


def _liver_target(draw: Draw, segment: str, long_mm: float) -> dict[str, Any]:
    level, x, y = SEGMENTS[segment]
    return {
        "level": level,
        "x": x,
        "y": y,
        "location": segment,
        "portal": 72,
        "long_mm": long_mm,
        "short_mm": round(0.85 * long_mm, 1),
        "angle": between(draw, 0, 180),
    }


def _lung_target(draw: Draw, lobe: str, long_mm: float) -> dict[str, Any]:
    level, x, y = pick(draw, LUNG_PLACES[lobe])
    return {
        "level": level,
        "x": x,
        "y": y,
        "location": lobe,
        "value": 30,
        "long_mm": long_mm,
        "short_mm": round(0.85 * long_mm, 1),
        "angle": between(draw, 0, 180),
    }


def _scaled(item: dict[str, Any], share: float) -> dict[str, Any]:
    return {**item, "long_mm": item["long_mm"] * share, "short_mm": item["short_mm"] * share}


def _image_of(item: dict[str, Any], study: str) -> str:
    if "portal" in item:
        return f"{study}-liver-{1 if item['level'] == 'dome' else 2}"
    return f"{study}-lung-{LEVELS.index(item['level']) + 1}"
