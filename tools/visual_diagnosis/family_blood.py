"""Families about blood films: which red cells are abnormal, and how many hold parasites."""

from typing import Any

from healthgym.tasks import Call, Case, task_family
from healthgym.tasks.families import Draw

from .assembly import Reading, Study, difficulty_of, make_case, request_of, turn
from .images import image_entry

MM_PER_PX = 0.00025
FINDINGS = ("normal_film", "hypochromic_cells", "spherocytes", "sickle_cells", "schistocytes", "malaria_parasites")
HELD_OUT_FINDING = "sickle_cells"
"""Occurs in test_ood only."""
KIND_OF = {
    "hypochromic_cells": "hypochromic",
    "spherocytes": "spherocyte",
    "sickle_cells": "sickle",
    "schistocytes": "fragment",
    "malaria_parasites": "infected",
}
SHARES = {
    "hypochromic_cells": (0.45, 0.85),
    "spherocytes": (0.12, 0.45),
    "sickle_cells": (0.12, 0.35),
    "schistocytes": (0.06, 0.18),
    "malaria_parasites": (0.04, 0.20),
}
BURDENS = ("no_parasites", "parasitaemia", "hyperparasitaemia")
HYPER_OVER_PERCENT = 10.0
NOISE = {"easy": 2.0, "medium": 3.5, "hard": 5.0}


def smear(draw: Draw, difficulty: str, cells: int, kinds: dict[str, int]) -> dict[str, Any]:
    """Return the entry of one field of a film."""
    rng = draw.rng
    truth = {
        "seed": int(rng.integers(2**31)),
        "cells": cells,
        "kinds": kinds,
        "neutrophils": int(rng.integers(0, 2)),
        "lymphocytes": int(rng.integers(0, 2)),
        "platelets": int(rng.integers(3, 9)),
        "noise": NOISE[difficulty],
    }
    return image_entry("blood_film", truth, view="oil immersion", mm_per_px=MM_PER_PX)


@task_family(counts={"train": 24, "val": 4, "test": 6, "test_ood": 4})
def red_cells(draw: Draw) -> Case:
    """Which abnormality do the red cells of this film show, and in how many of them?"""
    difficulty, rng = difficulty_of(draw), draw.rng
    options = (
        [HELD_OUT_FINDING] if draw.split == "test_ood" else [name for name in FINDINGS if name != HELD_OUT_FINDING]
    )
    finding = turn(draw, options)
    fields = 2 if difficulty == "hard" else 1
    total = odd = 0
    images = {}
    for name in ("smear-a", "smear-b")[:fields]:
        cells = int(rng.integers(52, 64))
        count = round(cells * float(rng.uniform(*SHARES[finding]))) if finding in SHARES else 0
        images[name] = smear(draw, difficulty, cells, {KIND_OF[finding]: count} if count else {})
        total, odd = total + cells, odd + count
    reading = Reading(
        conclusion=finding,
        options=FINDINGS,
        value=round(100 * odd / total, 1),
        tolerance=2.5,
        unit="%",
        value_is="share of red cells that show it, over all fields,",
        look=(
            *(Call("red_cell_shapes", image_id=name) for name in images),
            *(Call("count_inclusions", image_id=name) for name in images),
        ),
        measured=tuple((name, "shapes") for name in images) + tuple((name, "inclusions") for name in images),
        source="ICSH grading of peripheral blood cell morphology (Int J Lab Hematol 2015;37:287)",
        alert="malaria_parasites" if finding == "malaria_parasites" else "",
    )
    shown = tuple(images) if difficulty == "easy" else ()
    return make_case(draw, Study(images=images, request=request_of(draw, "blood"), shown=shown), reading, difficulty)


def conclude_parasitaemia(percent: float) -> str:
    """Return the burden of Plasmodium falciparum.

    Source: WHO guidelines for malaria, 2023, severe malaria: parasitaemia above 10 %.
    """
    return "no_parasites" if percent == 0 else "hyperparasitaemia" if percent > HYPER_OVER_PERCENT else "parasitaemia"


@task_family(counts={"train": 18, "val": 3, "test": 6})
def parasite_burden(draw: Draw) -> Case:
    """What share of red cells holds parasites?"""
    difficulty, rng = difficulty_of(draw), draw.rng
    wanted = turn(draw, BURDENS)
    share = {
        "no_parasites": (0.0, 0.0),
        "parasitaemia": (0.02, 0.075) if difficulty != "hard" else (0.04, 0.08),
        "hyperparasitaemia": (0.14, 0.30) if difficulty != "hard" else (0.125, 0.2),
    }[wanted]
    names = ("smear-a", "smear-b", "smear-c")[: {"easy": 1, "medium": 2, "hard": 3}[difficulty]]
    cells = [int(rng.integers(52, 64)) for _ in names]
    target = float(rng.uniform(*share))
    infected = [round(number * target) for number in cells]
    if wanted == "parasitaemia":
        infected[0] = max(1, infected[0])
    images = {
        name: smear(draw, difficulty, number, {"infected": count} if count else {})
        for name, number, count in zip(names, cells, infected, strict=True)
    }
    percent = round(100 * sum(infected) / sum(cells), 1)
    reading = Reading(
        conclusion=conclude_parasitaemia(percent),
        options=BURDENS,
        value=percent,
        tolerance=0.8,
        unit="%",
        value_is="share of red cells that hold parasites, over all fields,",
        look=tuple(Call("count_inclusions", image_id=name) for name in images),
        measured=tuple((name, "inclusions") for name in images),
        source="WHO guidelines for malaria 2023: above 10 % is hyperparasitaemia",
        alert="malaria_parasites" if percent > 0 else "",
    )
    shown = tuple(images) if difficulty == "easy" else ()
    return make_case(draw, Study(images=images, request=request_of(draw, "malaria"), shown=shown), reading, difficulty)
