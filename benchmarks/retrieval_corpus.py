"""Real passages with vectors encoded once and kept, and as many more as a scale test asks for."""

import random
import re
import time
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from healthgym.retrieval import Passage
from healthgym.retrieval.encoders import Encoder

_SENTENCE = re.compile(r"(?<=[.!?;]) +")


class KeptVectors:
    """An encoder that remembers on disk what it encoded: VECTORS.npy beside VECTORS.keys.npy, a hash of each text.

    So no passage is encoded twice over several runs; texts not kept go to the encoder behind.
    """

    def __init__(self, encoder: Encoder, path: Path, fingerprint: str | None = None) -> None:
        self.encoder, self.path = encoder, path
        self.name, self.dimension = encoder.name, encoder.dimension
        self.fingerprint = fingerprint or encoder.fingerprint
        self.keys = path.with_suffix(".keys.npy")
        self.vectors = np.load(path, mmap_mode="r") if path.exists() else np.zeros((0, self.dimension), np.float32)
        self.rows = {key.tobytes(): row for row, key in enumerate(np.load(self.keys))} if path.exists() else {}

    def encode(self, texts: Sequence[str], *, is_query: bool = False) -> np.ndarray:
        """Return float32 (n, dimension)."""
        known = [None if is_query else self.rows.get(text_key(text)) for text in texts]
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        new = [place for place, row in enumerate(known) if row is None]
        old = [place for place, row in enumerate(known) if row is not None]
        vectors[old] = self.vectors[[known[place] for place in old]]
        if new:
            vectors[new] = self.encoder.encode([texts[place] for place in new], is_query=is_query)
        return vectors

    def has(self, text: str) -> bool:
        """Say whether the vector of a passage's text is kept."""
        return text_key(text) in self.rows


def text_key(text: str) -> bytes:
    """Return 16 bytes that stand for a text."""
    return blake2b(text.encode(), digest_size=16).digest()


def varied_passage(passages: Sequence[Passage], number: int) -> Passage:
    """Return variation `number`: the heading and first sentences of one real passage, the last ones of another."""
    rng = random.Random(number)
    first, other = passages[number % len(passages)], passages[rng.randrange(len(passages))]
    head, tail = _SENTENCE.split(first.text), _SENTENCE.split(other.text)
    words = " ".join([*head[: max(1, len(head) // 2)], *tail[len(tail) // 2 :]]).split()
    return Passage(
        id=f"{first.id}~{number}", title=first.title, section=first.section, text=" ".join(words[:120]), source=first.source,
        licence=first.licence, ref=first.ref, date=first.date,
    )  # fmt: skip


def varied_vectors(vectors: np.ndarray, start: int, stop: int, noise: float = 0.5) -> np.ndarray:
    """Return unit vectors number `start` to `stop`, each a real one with noise of length `noise` added.

    At 0.5 a variation has a cosine of about 0.89 with its origin, as near paraphrases have.
    """
    rng = np.random.default_rng(start)
    base = np.asarray(vectors[np.arange(start, stop) % len(vectors)], dtype=np.float32)
    moved = base + rng.standard_normal(base.shape, dtype=np.float32) * (noise / np.sqrt(base.shape[1]))
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def keep_vectors(encoder: Encoder, passages: Sequence[Passage], path: Path, block: int = 4096) -> dict[str, float]:
    """Encode the passages whose vectors are not kept yet, add them to the file, and say how quick that was."""
    kept = KeptVectors(encoder, path)
    texts = [text for text in dict.fromkeys(each.full_text for each in passages) if not kept.has(text)]
    start = time.process_time()
    new = [encoder.encode(texts[place : place + block]) for place in range(0, len(texts), block)]
    seconds = time.process_time() - start
    if texts:
        keys = np.array([list(key) for key in [*kept.rows, *map(text_key, texts)]], dtype=np.uint8)
        np.save(path, np.concatenate([kept.vectors, *new]))
        np.save(path.with_suffix(".keys.npy"), keys)
    return {"passages": len(passages), "encoded": len(texts), "cpu_s": round(seconds, 1)} | (
        {"per_cpu_s": round(len(texts) / seconds, 1)} if texts else {}
    )
