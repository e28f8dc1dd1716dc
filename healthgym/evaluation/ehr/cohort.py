"""Which patients are asked about: drawn and split by patient, never by stay or row."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from healthgym.errors import ConfigError, nearest

SPLITS = {"train": (0.0, 0.6), "val": (0.6, 0.8), "test": (0.8, 1.0)}
"""Share of patients, from and to, by the patient's place in [0, 1)."""


def place_of(*words: object) -> float:
    """Return a place in [0, 1) that depends on these words alone."""
    digest = blake2b("\x1f".join(map(str, words)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def draw_patients(patients: Iterable[str], *, split: str | None, most: int, seed: int) -> list[str]:
    """Return at most `most` patients of a split in a drawn order; with split None all patients take part.

    A patient's split depends on the patient alone, so that splits of different draws never mix.

    Raises:
        ConfigError: The split is unknown.
    """
    if split is not None and split not in SPLITS:
        raise ConfigError(f"No split {split!r}.{nearest(split, SPLITS)}")
    start, end = SPLITS[split] if split is not None else (0.0, 1.0)
    within = [patient for patient in set(patients) if start <= place_of("split", patient) < end]
    return sorted(within, key=lambda patient: (place_of("draw", seed, patient), patient))[:most]


def patients_of_owners(roster: Iterable[tuple[str, str]], chosen: Iterable[str]) -> Mapping[str, str]:
    """Return patient by owner (subject or stay) for the chosen patients."""
    wanted = set(chosen)
    return {owner: patient for owner, patient in roster if patient in wanted}
