"""Unit conversion: within one quantity, and between conventional and SI units of an analyte."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base.data import read_data

from .questions import FOLDER


@dataclass(frozen=True, slots=True)
class Conversion:
    """Conventional and SI unit of an analyte; SI value = conventional value times `factor`."""

    conventional: str
    si: str
    factor: float


@lru_cache(maxsize=1)
def conversions() -> Mapping[str, Conversion]:
    """Return the analytes whose units can be converted."""
    return {name: Conversion(**entry) for name, entry in _table()["analytes"].items()}


def convert(value: float, from_unit: str, to_unit: str, analyte: str = "") -> float:
    """Return `value` in another unit.

    Args:
        value: The number.
        from_unit: Its unit.
        to_unit: The unit wanted.
        analyte: Analyte id, for mass to molar concentration.

    Raises:
        ToolError: the units are unknown or measure different things; says what is known.
    """
    if analyte:
        return _by_analyte(value, from_unit, to_unit, analyte)
    for sizes in _table()["quantities"].values():
        if from_unit in sizes and to_unit in sizes:
            return value * sizes[from_unit] / sizes[to_unit]
    known = [unit for sizes in _table()["quantities"].values() for unit in sizes]
    raise ToolError(
        f"Cannot turn {from_unit[:20]!r} into {to_unit[:20]!r}. Units: {', '.join(known)}. For blood values name the analyte."
    )


def _by_analyte(value: float, from_unit: str, to_unit: str, analyte: str) -> float:
    entry = conversions().get(analyte)
    if entry is None:
        raise ToolError(f"No conversion for analyte {analyte[:40]!r}.{nearest(analyte[:40], conversions())}")
    if (from_unit, to_unit) == (entry.conventional, entry.si):
        return value * entry.factor
    if (from_unit, to_unit) == (entry.si, entry.conventional):
        return value / entry.factor
    raise ToolError(
        f"{analyte} is converted between {entry.conventional} and {entry.si}, not {from_unit[:20]!r} and {to_unit[:20]!r}."
    )


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return dict(read_data(FOLDER / "units.yaml"))
