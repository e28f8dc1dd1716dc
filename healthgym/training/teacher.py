"""The live teacher: the student's own network, run with averaged weights."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from healthgym.errors import ConfigError
from healthgym.training.ema import Change, EMATeacher
from healthgym.training.lowrank import factor_pairs
from healthgym.training.partitions import is_partitioned
from healthgym.training.shards import (
    cut,
    drop_gathered,
    is_sharded,
    join,
    piece,
    sum_over_processes,
    trained_piece,
    whole,
)


class LiveTeacher:
    """Runs the student's modules with the teacher's weights in place of the trainable ones.

    With LoRA this is a second set of adapter weights on the same frozen base; with full fine-tuning a second set of all
    weights. There is no second module, so whatever the trainer patches into the model's forward serves both, and the
    optimiser, the saved model and generation never meet the teacher.

    Once FSDP or DeepSpeed has sharded the model (see `follow_shards`), every process averages its own pieces. LoRA pairs,
    which are small and averaged as pairs, stay whole on each process.

    Args:
        model: The student, unwrapped. Its trainable parameters are the ones averaged.
        decay, update_every, copy_every, space, rank_factor, device: As in `EMATeacher`.
        awaits_shards: The model will be sharded before it is trained, so no whole copy of it is made until then.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        decay: float,
        update_every: int = 1,
        copy_every: int = 0,
        space: str = "factors",
        rank_factor: int = 1,
        device: str | None = None,
        awaits_shards: bool = False,
    ) -> None:
        self.model = model
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        if not self.parameters:
            raise ConfigError("The model has no trainable parameters: there is nothing for a teacher to follow")
        if space == "delta" and not any("lora_A" in name for name in self.parameters):
            raise ConfigError("teacher.space delta averages LoRA products, but the model has no LoRA adapters")
        self.is_sharded = False
        self._engine: Any = None
        # DeepSpeed cuts a model as it is loaded where one was trained before in this process, as in a warm start.
        self._begins_in_pieces = any(map(is_partitioned, self.parameters.values()))
        self._paired = {name for pair in factor_pairs(self.parameters) for name in pair}
        self.ema = EMATeacher(
            self.student(),
            decay=decay,
            update_every=update_every,
            copy_every=copy_every,
            space=space,
            rank_factor=rank_factor,
            device=device,
            shares_start=awaits_shards and not self._begins_in_pieces,
        )

    @property
    def is_partitioned(self) -> bool:
        """Whether DeepSpeed shards the model."""
        return self._engine is not None

    def follow_shards(self, engine: Any) -> None:
        """Take up the parameters as the launch has sharded them, keeping this process's pieces of the averages.

        Does nothing when the model is not sharded, or this was done before.

        Args:
            engine: What the launch has wrapped the model in. DeepSpeed's gathers what it has cut.
        """
        now = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        if self.is_sharded or not is_sharded(self.model):
            return
        self.parameters, self.is_sharded = now, True
        if any(map(is_partitioned, now.values())):
            self._engine = engine
        if not self._begins_in_pieces:
            for name, weight in self.ema.weights.items():
                self.ema.weights[name] = self._kept(name, weight)
        device = next(iter(now.values())).device
        self.ema.sum_pieces = partial(sum_over_processes, device=device)

    @contextmanager
    def active(self) -> Iterator[nn.Module]:
        """Run the model as the teacher inside this context: averaged weights, no dropout, no gradient.

        The student's tensors are set aside, not copied, and put back on the way out; pieces of a sharded model are
        exchanged in place, since FSDP and DeepSpeed gather from the memory they know. Enter only while no graph of the student's is
        alive: it would be differentiated at the teacher's weights.
        """
        was_training = self.model.training
        aside = self._put_in_place()
        try:
            self.model.eval()
            with torch.no_grad():
                yield self.model if self._engine is None else self._engine
        finally:
            self._put_back(aside)
            self.model.train(was_training)

    def follow(self, step: int) -> Change:
        """Move after optimiser step `step` (1 for the first)."""
        with torch.no_grad():
            return self.ema.after_step(step, self.student())

    def distance(self) -> float:
        """Relative distance of the teacher's weights to the student's."""
        return self.ema.distance(self.student())

    def state_dict(self) -> dict[str, Any]:
        """Return whole weights and counters of the averages; every process must call this when the model is sharded."""
        state = self.ema.state_dict()
        if self.is_sharded:
            weights = state["weights"]
            for name in weights:  # in the same order on every process
                if name not in self._paired:
                    weights[name] = join(weights[name], self.parameters[name]).cpu()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`, bit for bit, on as many processes as there are now; see `follow_shards` first."""
        if self.is_sharded:
            weights = {name: self._kept(name, weight) for name, weight in state["weights"].items()}
            state = {**state, "weights": weights}
        self.ema.load_state_dict(state)

    def student(self) -> dict[str, Tensor]:
        """Return what the averages follow: pieces of sharded parameters, LoRA pairs whole."""
        if not (self.is_sharded or self._begins_in_pieces):
            return dict(self.parameters)
        return {name: whole(p) if name in self._paired else trained_piece(p) for name, p in self.parameters.items()}

    def _kept(self, name: str, weight: Tensor) -> Tensor:
        """Return the part of a whole averaged weight that this process keeps, on the device of the averages."""
        like = self.parameters.get(name)
        if like is None or name in self._paired:
            return weight.to(torch.float32, copy=True)
        return cut(weight, like).to(self.ema.device or like.device, torch.float32)

    def _put_in_place(self) -> dict[str, Tensor]:
        """Give the model the teacher's weights and return the student's."""
        if not self.is_sharded:
            aside = {name: parameter.data for name, parameter in self.parameters.items()}
            for name, parameter in self.parameters.items():
                parameter.data = self.ema.weights[name].to(parameter.device, parameter.dtype)
            return aside
        self._drop_gathered()
        aside = {}
        for name, parameter in self.parameters.items():
            own, averaged = piece(parameter), self.ema.weights[name]
            aside[name] = own.clone()
            own.copy_(cut(averaged, parameter) if name in self._paired else averaged)
        return aside

    def _put_back(self, aside: Mapping[str, Tensor]) -> None:
        if not self.is_sharded:
            for name, parameter in self.parameters.items():
                parameter.data = aside[name]
            return
        self._drop_gathered()
        for name, parameter in self.parameters.items():
            piece(parameter).copy_(aside[name])

    def _drop_gathered(self) -> None:
        """Let the next forward pass gather the pieces again."""
        if self._engine is None:
            drop_gathered(self.model)
        else:
            self._engine.empty_partition_cache()
