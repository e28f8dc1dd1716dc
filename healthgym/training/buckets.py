"""Micro-batches of trajectories of similar length, so that less of each is padding."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Batch = dict[str, Any]
"""Tensors whose first axis is the trajectory, numbers, and None. Prompts are padded on the left, completions on the right."""


@dataclass(frozen=True)
class Buckets:
    """One process's trajectories of a step, cut anew."""

    batches: list[Batch]
    """Longest first, so that what does not fit is found at once."""
    positions_before: int
    """Token positions of the micro-batches as they came, padding included."""
    positions: int
    tokens: int
    """Positions that are no padding."""

    def metrics(self) -> dict[str, float]:
        """Return what sorting and trimming did to padding."""
        return {
            "batch/padding_share": 1 - self.tokens / max(self.positions, 1),
            "batch/padding_saved": 1 - self.positions / max(self.positions_before, 1),
        }


def bucket_by_length(batches: Sequence[Batch]) -> Buckets:
    """Sort the trajectories of equal micro-batches by length and cut them into as many again, without idle columns.

    Which trajectories share a micro-batch is the only thing that changes. Losses that are sums over the step's tokens or
    means over its trajectories stay as they are; one that each micro-batch normalises by its own tokens does not.

    Args:
        batches: Micro-batches with `prompt_ids`, `prompt_mask`, `completion_ids` and `completion_mask`, all of one width.
    """
    whole = {key: _joined([batch[key] for batch in batches]) for key in batches[0]}
    lengths = whole["prompt_mask"].sum(1) + whole["completion_mask"].sum(1)
    order = torch.argsort(lengths, descending=True, stable=True)
    size = len(order) // len(batches)
    cut = [_trimmed({key: _taken(value, part) for key, value in whole.items()}) for part in order.split(size)]
    before = len(order) * (whole["prompt_mask"].size(1) + whole["completion_mask"].size(1))
    after = sum(len(b["prompt_mask"]) * (b["prompt_mask"].size(1) + b["completion_mask"].size(1)) for b in cut)
    return Buckets(cut, before, after, int(lengths.sum()))


def _joined(values: Sequence[Any]) -> Any:
    first = values[0]
    if isinstance(first, Tensor):
        return torch.cat(list(values)) if first.ndim else first
    return [item for value in values for item in value] if isinstance(first, list) else first


def _taken(value: Any, rows: Tensor) -> Any:
    if isinstance(value, Tensor) and value.ndim:
        return value[rows.to(value.device)]
    return [value[row] for row in rows.tolist()] if isinstance(value, list) else value


def _trimmed(batch: Batch) -> Batch:
    """Drop columns that are padding in every row. Tensors beside the student's completion are cut as it is."""
    full, kept = batch["completion_mask"].size(1), _width(batch["completion_mask"])
    trimmed = {}
    for key, value in batch.items():
        if not isinstance(value, Tensor) or value.ndim < 2:
            trimmed[key] = value
        elif key.endswith(("prompt_ids", "prompt_mask")):
            trimmed[key] = value[:, value.size(1) - _width(_mask_of(batch, key)) :]
        elif key.endswith(("completion_ids", "completion_mask")):
            trimmed[key] = value[:, : _width(_mask_of(batch, key))]
        else:
            trimmed[key] = value[:, :kept] if value.size(1) == full else value
    return trimmed


def _mask_of(batch: Batch, key: str) -> Tensor:
    return batch[key.removesuffix("ids").removesuffix("mask") + "mask"]


def _width(mask: Tensor) -> int:
    return max(int(mask.sum(1).max()), 1)
