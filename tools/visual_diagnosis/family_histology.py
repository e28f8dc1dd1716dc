"""Families about tissue: the Ki-67 index, and eosinophils in the oesophagus."""

from typing import Any

from healthgym.tasks import Call, Case, task_family
from healthgym.tasks.families import Draw

from .assembly import Reading, Study, difficulty_of, make_case, request_of, turn
from .images import image_entry

KI67_MM_PER_PX, HE_MM_PER_PX = 0.0005, 0.0016
BREAST = ("low_ki67", "intermediate_ki67", "high_ki67")
NEUROENDOCRINE = ("grade_1", "grade_2", "grade_3")
"""Asked in test_ood only."""
SHARES = {
    "low_ki67": (0.008, 0.042),
    "intermediate_ki67": (0.08, 0.26),
    "high_ki67": (0.34, 0.75),
    "grade_1": (0.006, 0.018),
    "grade_2": (0.05, 0.16),
    "grade_3": (0.25, 0.55),
}
EOSINOPHILS = ("eosinophil_criterion_not_met", "eosinophil_criterion_met")
EOSINOPHILS_FROM = 15
NOISE = {"easy": 2.0, "medium": 3.5, "hard": 5.0}
FIELDS = {"easy": 1, "medium": 2, "hard": 3}
NAMES = ("tissue-a", "tissue-b", "tissue-c")


def conclude_ki67(percent: float, tissue: str) -> str:
    """Return the class of a Ki-67 index.

    Sources: breast, International Ki67 in Breast Cancer Working Group, J Natl Cancer Inst 2021;113:808 (5 % or less, 30 % or
    more); neuroendocrine, WHO Classification of Tumours, Digestive System, 5th edition 2019 (under 3, 3 to 20, above 20 %).
    """
    if tissue == "breast":
        return "low_ki67" if percent <= 5 else "high_ki67" if percent >= 30 else "intermediate_ki67"
    return "grade_1" if percent < 3 else "grade_3" if percent > 20 else "grade_2"


def tissue_field(draw: Draw, difficulty: str, truth: dict[str, Any], mm_per_px: float, view: str) -> dict[str, Any]:
    """Return the entry of one field."""
    base = {"seed": int(draw.rng.integers(2**31)), "noise": NOISE[difficulty]}
    return image_entry("histology", {**base, **truth}, view=view, mm_per_px=mm_per_px)


@task_family(counts={"train": 24, "val": 3, "test": 6, "test_ood": 6})
def ki67_index(draw: Draw) -> Case:
    """What is the Ki-67 index over these fields, and what does it mean?"""
    difficulty, rng = difficulty_of(draw), draw.rng
    tissue = "neuroendocrine" if draw.split == "test_ood" else "breast"
    options = NEUROENDOCRINE if tissue == "neuroendocrine" else BREAST
    share = float(rng.uniform(*SHARES[turn(draw, options)]))
    images, total, positive = {}, 0, 0
    for name in NAMES[: FIELDS[difficulty]]:
        nuclei = int(rng.integers(115, 165))
        brown = max(1, round(nuclei * share))
        truth = {"stain": "ki67", "nuclei": nuclei, "positive": brown}
        images[name] = tissue_field(draw, difficulty, truth, KI67_MM_PER_PX, "Ki-67, DAB and haematoxylin")
        total, positive = total + nuclei, positive + brown
    percent = round(100 * positive / total, 1)
    reading = Reading(
        conclusion=conclude_ki67(percent, tissue),
        options=options,
        value=percent,
        tolerance=0.6,
        unit="%",
        value_is="brown nuclei of all nuclei, over all fields,",
        look=tuple(Call("count_nuclei", image_id=name) for name in images),
        measured=tuple((name, "nuclei") for name in images),
        source="IKWG 2021 (breast), WHO 2019 (neuroendocrine)",
        condition=f"Ki-67, {tissue}",
    )
    shown = tuple(images) if difficulty == "easy" else ()
    study = Study(images=images, request=request_of(draw, f"ki67_{tissue}"), shown=shown)
    return make_case(draw, study, reading, difficulty)


@task_family(counts={"train": 18, "val": 3, "test": 6})
def eosinophil_count(draw: Draw) -> Case:
    """Is the eosinophil criterion met in any field?

    Source: AGREE consensus, Gastroenterology 2018;155:1022: 15 or more in one high-power field (about 60 per mm2).
    """
    difficulty, rng = difficulty_of(draw), draw.rng
    is_met = turn(draw, EOSINOPHILS) == EOSINOPHILS[1]
    near = difficulty == "hard"
    peak = int(rng.integers(*((17, 24) if near else (18, 45)) if is_met else ((8, 13) if near else (0, 12))))
    names = NAMES[: FIELDS[difficulty]]
    highest = int(rng.integers(len(names)))
    counts = [peak if place == highest else int(rng.integers(0, max(1, peak - 2))) for place in range(len(names))]
    images = {
        name: tissue_field(
            draw,
            difficulty,
            {"stain": "he", "eosinophils": count},
            HE_MM_PER_PX,
            "oesophagus, H&E, one high-power field",
        )
        for name, count in zip(names, counts, strict=True)
    }
    reading = Reading(
        conclusion=EOSINOPHILS[peak >= EOSINOPHILS_FROM],
        options=EOSINOPHILS,
        value=float(peak),
        tolerance=0.5,
        unit="",
        value_is="eosinophils in the field that has most",
        look=tuple(Call("count_eosinophils", image_id=name) for name in images),
        measured=tuple((name, "eosinophils") for name in images),
        source="AGREE consensus (Gastroenterology 2018;155:1022): 15 or more in a high-power field",
    )
    shown = tuple(images) if difficulty == "easy" else ()
    return make_case(
        draw, Study(images=images, request=request_of(draw, "eosinophils"), shown=shown), reading, difficulty
    )
