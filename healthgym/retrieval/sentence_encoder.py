"""The encoders of sentence-transformers, in 32 or 16 bits."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from healthgym.errors import ConfigError, MissingDependency
from healthgym.retrieval.encoders import PRECISIONS
from healthgym.retrieval.token_batches import equal_batches

CPU_BATCH, GPU_BATCH = 8, 128
"""Texts a forward pass: small batches stay in a processor's caches and waste little on padding, large ones fill a GPU."""


class SentenceTransformerEncoder:
    """Any sentence-transformers model, by name or folder.

    Models with a prompt for queries get it on queries. Queries of one call are batched by equal length, so that each gets
    the vector it would get alone. A folder is read as it is; only a name may be downloaded. Texts of
    one call are encoded by length, so that hand over as many at a time as memory allows.

    Args:
        model: Name or folder.
        name: What the encoder calls itself; the model's name by default.
        device: As torch names it; chosen by sentence-transformers when None.
        batch_size: Texts a forward pass; 8 on a CPU and 128 elsewhere by default.
        precision: 'float32' or 'bfloat16'.

    Raises:
        MissingDependency: sentence-transformers is not installed.
        ConfigError: no such model or precision.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        name: str | None = None,
        device: str | None = None,
        batch_size: int | None = None,
        precision: str = "float32",
    ) -> None:
        if precision not in PRECISIONS:
            raise ConfigError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
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
        self.name, self.fingerprint = name or str(model), model_fingerprint(self.model)
        if precision == "bfloat16":
            self.model = self.model.bfloat16()
            self.name, self.fingerprint = f"{self.name}@bfloat16", f"{self.fingerprint}+bfloat16"
        self.batch_size = batch_size or (CPU_BATCH if self.model.device.type == "cpu" else GPU_BATCH)
        self.dimension = 0
        self.dimension = int(self.encode(["health"]).shape[1])

    def encode(self, texts: Sequence[str], *, is_query: bool = False) -> np.ndarray:
        """Return float32 (n, dimension) of length 1."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        if not is_query:
            return self._rows(self.model.encode_document, texts)
        lengths = [len(ids) for ids in self.model.tokenizer(list(texts), truncation=True)["input_ids"]]
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for rows in equal_batches(lengths, len(lengths)):
            vectors[rows] = self._rows(self.model.encode_query, [texts[row] for row in rows])
        return vectors

    def _rows(self, encode: Callable[..., Any], texts: Sequence[str]) -> np.ndarray:
        vectors = encode(list(texts), batch_size=self.batch_size, convert_to_tensor=True, show_progress_bar=False)
        rows = vectors.float().cpu().numpy()
        return np.ascontiguousarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def model_fingerprint(model: Any) -> str:
    """Hash of the weights, the length limit and the prompts."""
    digest = blake2b(digest_size=16)
    digest.update(
        repr((model.max_seq_length, sorted(model.prompts.items()), [type(part).__name__ for part in model])).encode()
    )
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy())
    return digest.hexdigest()
