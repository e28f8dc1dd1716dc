"""Family about skin lesions: the ABCD rule of dermatoscopy."""

from typing import Any

import numpy as np

from healthgym.errors import TaskError
from healthgym.tasks import Call, Case, task_family
from healthgym.tasks.families import Draw

from ..scores.abcd_dermoscopy import MALIGNANT_OVER, SUSPICIOUS_FROM, abcd_class, total_dermatoscopy_score
from .assembly import Reading, Study, difficulty_of, make_case, request_of, turn, uniform
from .images import image_entry

MM_PER_PX = 0.05
CLASSES = ("benign_lesion", "suspicious_lesion", "malignant_lesion")
COLOURS = ("light_brown", "dark_brown", "black", "blue_grey", "red")
HELD_OUT_COLOUR = "white"
"""Regression-like white occurs in test_ood only, and in every lesion there."""
STRUCTURES = ("network", "structureless", "dots", "globules", "streaks")
NOISE = {"easy": 2.0, "medium": 3.0, "hard": 4.5}


def draw_lesion(draw: Draw, wanted: str, difficulty: str) -> tuple[dict[str, Any], float]:
    """Return a lesion's truth and its total score, of the wanted class and off the limits."""
    rng = draw.rng
    gap = 0.2 if difficulty == "hard" or wanted == "suspicious_lesion" else 0.4
    for _ in range(4000):
        axes, abrupt = int(rng.integers(0, 3)), int(rng.integers(0, 9))
        ground = COLOURS[int(rng.integers(0, 2))]
        others = [name for name in COLOURS if name != ground]
        colours = [ground, *(others[i] for i in rng.permutation(4)[: int(rng.integers(0, 5))])]
        if draw.split == "test_ood":
            colours = [*colours[:5], HELD_OUT_COLOUR]
        structures = [STRUCTURES[i] for i in sorted(rng.permutation(5)[: int(rng.integers(1, 6))])]
        score = total_dermatoscopy_score(axes, abrupt, len(colours), len(structures))
        nearest = min(abs(score - SUSPICIOUS_FROM), abs(score - MALIGNANT_OVER))
        if abcd_class(score) == wanted and nearest >= gap - 1e-9:
            truth = {
                "asymmetry": axes,
                "sharp": sorted(int(i) for i in rng.permutation(8)[:abrupt]),
                "colours": colours,
                "structures": structures,
                "diameter_mm": uniform(rng, 5.2, 9.0),
                "turn": uniform(rng, 0, 2 * np.pi, 2),
                "tone": int(rng.integers(0, 3)),
                "noise": NOISE[difficulty],
                "seed": int(rng.integers(2**31)),
            }
            return truth, score
    raise TaskError(f"no lesion of class {wanted} was found; widen draw_lesion")


@task_family(counts={"train": 24, "val": 3, "test": 6, "test_ood": 4})
def skin_abcd(draw: Draw) -> Case:
    """What does the ABCD rule say of this lesion?"""
    difficulty = difficulty_of(draw)
    wanted = turn(draw, CLASSES)
    truth, score = draw_lesion(draw, wanted, difficulty)
    images = {"lesion-0": image_entry("skin_lesion", truth, mm_per_px=MM_PER_PX)}
    notes = [f"Dermoscopic structures seen through the scope: {', '.join(truth['structures'])}."]
    if difficulty == "hard":
        old, old_score = draw_lesion(draw, turn(draw, CLASSES[::-1]), difficulty)
        images["lesion-prior"] = image_entry("skin_lesion", old, taken="2 years ago, another spot", mm_per_px=MM_PER_PX)
        notes.append(f"Spot of 2 years ago: total score {old_score:.1f}.")
    if difficulty != "easy":
        notes = notes[::-1]
    axes, abrupt = truth["asymmetry"], len(truth["sharp"])
    reading = Reading(
        conclusion=wanted,
        options=CLASSES,
        value=score,
        tolerance=0.05,
        unit="",
        value_is="total dermatoscopy score",
        look=(
            Call("lesion_asymmetry", image_id="lesion-0"),
            Call("lesion_border", image_id="lesion-0"),
            Call("lesion_colours", image_id="lesion-0"),
            Call(
                "abcd_score",
                asymmetric_axes=axes,
                abrupt_eighths=abrupt,
                colours=len(truth["colours"]),
                structures=len(truth["structures"]),
            ),
        ),
        measured=(("lesion-0", "asymmetry"), ("lesion-0", "border"), ("lesion-0", "colours")),
        source="ABCD rule of dermatoscopy (Nachbar et al., J Am Acad Dermatol 1994;30:551)",
        condition=f"{wanted}{', with white' if draw.split == 'test_ood' else ''}",
    )
    shown = ("lesion-0",) if difficulty == "easy" else ()
    study = Study(images=images, request=request_of(draw, "skin"), notes=tuple(notes), shown=shown)
    return make_case(draw, study, reading, difficulty)
