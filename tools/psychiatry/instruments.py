"""Questionnaires as interviews: what an item asks, what is said for a score, total and category."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from healthgym.world import Finding

from ..scores.audit import audit_band
from ..scores.cage import cage_category
from ..scores.dast10 import dast10_band
from ..scores.epds import epds_category
from ..scores.gad7 import gad7_band
from ..scores.pcl5 import pcl5_category
from ..scores.phq9 import phq9_band
from ..scores.ybocs import ybocs_band
from .tables import table

CATEGORY: Mapping[str, Callable[[int], str]] = {
    "phq9": phq9_band,
    "gad7": gad7_band,
    "epds": epds_category,
    "audit": audit_band,
    "dast10": dast10_band,
    "cage": cage_category,
    "ybocs": ybocs_band,
    "pcl5": pcl5_category,
}
"""Category of a total. The Mood Disorder Questionnaire needs more than its total: see `family_screening`."""


@dataclass(frozen=True)
class Item:
    """One item: its words, and the scores it can have."""

    id: str
    text: str
    topics: tuple[str, ...]
    scores: tuple[int, ...]
    yes: str
    no: str
    answers: tuple[str, ...]
    reversed: bool
    sensitive: bool

    def said(self, score: int, scale: Mapping[str, Any], rng: np.random.Generator, veiled: bool) -> str:
        """Return what a patient says for a score: in the scale's plain words, or in words that must be placed on it."""
        if self.answers:
            return self.answers[score]
        if self.reversed:
            return self.no if score else f"{self.yes}."
        if score == 0:
            return self.no
        options = scale["veiled"][score] if veiled else [scale["plain"][score]]
        phrase = options[int(rng.integers(len(options)))]
        return f"{self.yes}, {phrase}." if phrase else f"{self.yes}."


@dataclass(frozen=True)
class Instrument:
    """A questionnaire."""

    id: str
    title: str
    period: str
    about: str
    condition: str
    scale: Mapping[str, Any]
    bands: tuple[tuple[int, int], ...]
    items: tuple[Item, ...]
    closing: str = ""
    """What is asked after the items."""

    def findings(self, scores: Sequence[int], rng: np.random.Generator, veiled: bool) -> tuple[Finding, ...]:
        """Return what the patient can tell, one finding an item; its value is the score."""
        return tuple(
            Finding(
                id=item.id,
                reveal="ask",
                present=score > 0,
                text=f"{item.text}: {score}",
                lay=item.said(score, self.scale, rng, veiled),
                topics=item.topics,
                value=float(score),
            )
            for item, score in zip(self.items, scores, strict=True)
        )

    def draw(self, rng: np.random.Generator, band: tuple[int, int]) -> tuple[int, ...]:
        """Draw item scores whose total lies in `band`: points are dealt out to items that have room."""
        wanted = int(rng.integers(band[0], band[1] + 1))
        for _ in range(100):
            places = [0] * len(self.items)  # index into the item's possible scores
            while sum(item.scores[place] for item, place in zip(self.items, places, strict=True)) < wanted:
                room = [i for i, item in enumerate(self.items) if places[i] < len(item.scores) - 1]
                places[room[int(rng.integers(len(room)))]] += 1
            drawn = tuple(item.scores[place] for item, place in zip(self.items, places, strict=True))
            if band[0] <= sum(drawn) <= band[1]:
                return drawn
        raise ValueError(f"{self.id}: no scores with a total in {band}")


@lru_cache(maxsize=1)
def instruments() -> Mapping[str, Instrument]:
    """Return every questionnaire by id."""
    return {name: _instrument(row) for name, row in table("instruments").items()}


def _instrument(row: Mapping[str, Any]) -> Instrument:
    scale = table("scales")[row["scale"]]
    highest = len(scale["plain"]) - 1
    items = tuple(
        Item(
            id=item["id"],
            text=item["text"],
            topics=tuple(item["topics"]),
            scores=tuple(item.get("only", range(highest + 1))),
            yes=item.get("present", ""),
            no=item.get("absent", ""),
            answers=tuple(item.get("answers", ())),
            reversed=item.get("reversed", False),
            sensitive=item.get("sensitive", False),
        )
        for item in row["items"]
    )
    return Instrument(
        id=row["id"],
        title=row["title"],
        period=row["period"],
        about=row["about"],
        condition=row["condition"],
        scale=scale,
        bands=tuple((low, high) for low, high in row["bands"]),
        items=items,
        closing=row.get("closing", ""),
    )
