"""Judging the first hits once more with the query beside each passage: slower, and often a better order."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from healthgym.errors import ConfigError, MissingDependency

Reranker = Callable[[str, Sequence[str]], Sequence[float]]
"""Takes a query and the texts of passages, gives a number for each; the highest comes first."""

RERANK_DEPTH = 30
"""Hits that are judged again."""


def load_reranker(reranker: str | Path | Reranker) -> Reranker:
    """Return a reranker: a callable as it is, or the cross-encoder of that name or folder.

    Raises:
        MissingDependency: sentence-transformers is not installed.
        ConfigError: no such model.
    """
    return CrossEncoderReranker(reranker) if isinstance(reranker, str | Path) else reranker


class CrossEncoderReranker:
    """A cross-encoder of sentence-transformers. A folder is read as it is; only a name may be downloaded.

    Args:
        model: Name or folder.
        device: As torch names it; chosen by sentence-transformers when None.
        batch_size: Pairs a forward pass.
    """

    def __init__(self, model: str | Path, *, device: str | None = None, batch_size: int = 16) -> None:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise MissingDependency.extra(f"The reranker {str(model)!r}", "kb") from error
        try:
            self.model: Any = CrossEncoder(str(model), device=device, local_files_only=Path(model).is_dir())
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"cannot load the reranker {str(model)!r}: {error}. Give the folder of a cross-encoder, or its name while online"
            ) from error
        self.batch_size = batch_size

    def __call__(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a score for each text."""
        pairs = [(query, text) for text in texts]
        scores = np.asarray(self.model.predict(pairs, batch_size=self.batch_size, show_progress_bar=False))
        if scores.ndim != 1:
            raise ConfigError(
                f"the reranker gives {scores.shape[-1]} numbers a passage; give a cross-encoder with one label"
            )
        return [float(score) for score in scores]


def reranked(reranker: Reranker, query: str, texts: Sequence[str]) -> list[tuple[int, float]]:
    """Return (place before, score) of each text, best first; ties keep their order.

    Raises:
        ConfigError: the reranker gave another count of scores, or one that is no number.
    """
    scores = np.asarray(reranker(query, texts), dtype=np.float64)
    if scores.shape != (len(texts),) or np.isnan(scores).any():
        raise ConfigError(f"a reranker must give one number for each of {len(texts)} passages, got {scores.tolist()}")
    order = np.argsort(-scores, kind="stable")
    return [(int(place), float(scores[place])) for place in order]
