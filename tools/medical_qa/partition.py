"""Who belongs to which split: whole drugs, conditions and analytes are held out; facts that are asked serve one split."""

from hashlib import blake2b
from typing import Literal

from healthgym.tasks.task import Split

HELD_OUT_SHARE = 0.15
_BOUNDS: tuple[tuple[float, Split], ...] = ((0.52, "train"), (0.72, "val"), (1.0, "test"))
Kind = Literal["drug", "condition", "analyte", "guideline"]


def held_out(kind: Kind, name: str) -> bool:
    """Say whether only test_ood may speak of an entity. Decided by its name, so that later entries move nobody."""
    return _share(f"held out {kind} {name}") < HELD_OUT_SHARE


def may_name(split: Split, kind: Kind, name: str) -> bool:
    """Say whether a split may mention an entity, as the subject or among the options."""
    return split == "test_ood" or not held_out(kind, name)


def asked_in(split: Split, fact: str, *entities: tuple[Kind, str]) -> bool:
    """Say whether a split may ask for a fact.

    test_ood asks of facts about a held-out entity; the other splits share out the facts about the rest, each to one.

    Args:
        split: The split.
        fact: Names the fact, for example "warfarin with ibuprofen".
        entities: (kind, id) of what it is about.
    """
    is_held_out = any(held_out(kind, name) for kind, name in entities)
    if split == "test_ood" or is_held_out:
        return split == "test_ood" and is_held_out
    share = _share(f"asked {fact}")
    return split == next(name for bound, name in _BOUNDS if share < bound)


def _share(text: str) -> float:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") / 2**64
