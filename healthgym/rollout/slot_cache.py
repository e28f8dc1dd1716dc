"""Keys and values of many sequences side by side, one slot each, so that rows can join, wait and leave at any time."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

_GROWTH = 128
"""Positions are added in multiples of this."""


@dataclass(frozen=True)
class Placement:
    """Where the tokens of one forward pass of B rows and T columns go.

    view: the slots of the B rows: a slice when they lie side by side (no copy), else an index of shape (B,).
    slots, positions: (N,) for each token that is no padding, its slot and its place in the sequence.
    kept: (B, T), true where a token is no padding; None when there is no padding and T is 1.
    length: positions that attention reads.
    """

    view: slice | Tensor
    slots: Tensor
    positions: Tensor
    kept: Tensor | None
    length: int


class SlotCache(Cache):
    """A transformers cache of fixed slots; set `placement` before each forward pass.

    Args:
        layers: Number of decoder layers.
        slots: Most sequences held; memory is taken as they are used.
    """

    def __init__(self, layers: int, slots: int) -> None:
        super().__init__(layers=[_SlotLayer() for _ in range(layers)])
        self.most_slots, self.slots, self.capacity = slots, 0, 0

    def reserve(self, slots: int, positions: int) -> None:
        """Make room for this many slots and positions, with some to spare."""
        if slots > self.slots or positions > self.capacity:
            if slots > self.slots:
                self.slots = min(max(slots, 2 * self.slots), self.most_slots)
            if positions > self.capacity:
                self.capacity = -(-positions // _GROWTH) * _GROWTH
            for layer in self.layers:
                layer.resize(self.slots, self.capacity)

    def place(self, placement: Placement) -> None:
        """Say where the tokens of the next forward pass go."""
        for layer in self.layers:
            layer.placement = placement

    def copy(self, source: int, target: int, length: int) -> None:
        """Copy the first `length` positions of one slot to another."""
        for layer in self.layers:
            for states in (layer.keys, layer.values):
                if states is not None:
                    states[target, :, :length] = states[source, :, :length]


class _SlotLayer(CacheLayerMixin):
    """Keys and values of one layer, each (slots, heads, capacity, size)."""

    is_sliding = False

    def __init__(self) -> None:
        super().__init__()
        self.slots, self.capacity = 0, 0
        self.placement: Placement | None = None

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        # Zeros, not empty: a masked position still enters a product, and 0 times a stray NaN is NaN.
        self.keys, self.values = (
            states.new_zeros((self.slots, states.shape[1], self.capacity, states.shape[3]))
            for states in (key_states, value_states)
        )
        self.is_initialized = True

    def resize(self, slots: int, capacity: int) -> None:
        self.slots, self.capacity = slots, capacity
        for name in ("keys", "values"):
            states = getattr(self, name)
            if states is not None:
                wider = states.new_zeros((slots, states.shape[1], capacity, states.shape[3]))
                wider[: states.shape[0], :, : states.shape[2]] = states
                setattr(self, name, wider)

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write the new states of B rows and T columns and return all that attention reads, (B, heads, length, size)."""
        placement = self.placement
        assert placement is not None, "SlotCache.place() comes before the forward pass"
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None and self.values is not None
        for states, new in ((self.keys, key_states), (self.values, value_states)):
            fresh = new[:, :, 0] if placement.kept is None else new.transpose(1, 2)[placement.kept]
            states[placement.slots, :, placement.positions] = fresh
        view, length = placement.view, placement.length
        return self.keys[view, :, :length], self.values[view, :, :length]

    def get_seq_length(self) -> int:
        return 0 if self.placement is None else self.placement.length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length(), 0

    def get_max_length(self) -> int:
        return self.capacity


def causal_mask(positions: Tensor, length: int, window: int | None = None) -> Tensor:
    """Return (B, 1, T, length), true where the token at `positions` (B, T) may look.

    Args:
        positions: Place of each token in its sequence.
        length: Positions that are read.
        window: Sliding window of the layer; None looks at everything before.
    """
    columns = torch.arange(length, device=positions.device)
    mask = columns <= positions[..., None]
    if window is not None:
        mask &= columns > positions[..., None] - window
    return mask[:, None]
