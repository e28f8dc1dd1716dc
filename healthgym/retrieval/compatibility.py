"""Whether an encoder may search an index: the one that built it, or the same model in other arithmetic that agrees with it."""

from pathlib import Path

import numpy as np

from healthgym.errors import PassageIndexError
from healthgym.retrieval.dense import FaissDense
from healthgym.retrieval.encoders import Encoder
from healthgym.retrieval.manifest import REMEDY, Manifest
from healthgym.retrieval.store import PassageStore

PROBES = 16
"""Passages encoded again, spread over the index."""

AGREEMENT = 0.98
"""Least cosine of a passage's stored vector and its new one. Vectors in 8 or 16 bits keep above 0.995 of those in 32 bits and find
the same passages; another model's are near 0."""


def check_encoder(folder: Path, manifest: Manifest, encoder: Encoder, store: PassageStore, dense: FaissDense) -> None:
    """Raise PassageIndexError unless `encoder` may search this index.

    The same fingerprint may. The same model in other arithmetic (16 bits, 8 bits) may when every one of 16 passages that it
    encodes again has a cosine of at least 0.98 with its stored vector. Nothing else may.
    """
    if encoder.fingerprint == manifest.fingerprint:
        return
    others = (
        f"{folder} was built with encoder {manifest.encoder!r} ({manifest.fingerprint}), got {encoder.name!r} "
        f"({encoder.fingerprint})"
    )
    remedy = f"Open it with the former, or {REMEDY[0].lower()}{REMEDY[1:]} {folder} --encoder {encoder.name}"
    if not same_model(encoder.fingerprint, manifest.fingerprint):
        raise PassageIndexError(f"{others}. {remedy}")
    least = agreement(encoder, store, dense)
    if least < AGREEMENT:
        raise PassageIndexError(
            f"{others}: the same model, but its vectors differ (cosine {least:.3f}, {AGREEMENT} needed). {remedy}"
        )


def same_model(fingerprint: str, other: str) -> bool:
    """Say whether two fingerprints name one model, whatever arithmetic computes it."""
    return fingerprint.split("+")[0] == other.split("+")[0]


def agreement(encoder: Encoder, store: PassageStore, dense: FaissDense) -> float:
    """Return the least cosine, over a few passages, of the stored vector and the one the encoder gives now."""
    positions = np.unique(np.linspace(0, len(store) - 1, PROBES).astype(np.int64))
    vectors = encoder.encode([store[int(position)].full_text for position in positions])
    stored = np.stack([dense.vector(int(position)) for position in positions])
    lengths = np.linalg.norm(stored, axis=1) * np.linalg.norm(vectors, axis=1)
    return float(np.min((stored * vectors).sum(axis=1) / np.maximum(lengths, 1e-12)))
