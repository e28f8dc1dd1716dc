"""Keeps the weights an engine serves those of the model in training, and proves it."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from healthgym.errors import HealthgymError
from healthgym.rollout.vllm_messages import Adapter, Engine, EngineDied
from healthgym.rollout.weight_folder import WeightFolder
from healthgym.rollout.weights import ModelWeights, combined, tensor_digest

PROBE_TOKENS = 16
TOLERANCE = {torch.float32: 0.01, torch.bfloat16: 0.3}
"""Largest mean difference, in nats a token, between engine and trainer on the probe, by the dtype they compute in."""


BASE = "base"
"""Version of a frozen base that adapters lie on."""


class WeightSync:
    """Publishes a model's weights when they have changed, has an engine load them, and checks what it serves.

    Three checks, each a loud error: the engine received the tensors that were sent (digests); it still serves the version
    last given to it, so nobody else has pushed in between; and it gives a fixed token sequence the log-probabilities that
    the trainer gives it, so what it computes with is what it received.

    Args:
        engine: The engine.
        weights: The model's weights.
        folder: Where versions are published; trainer and engine both see it.
        adapters_only: Push LoRA adapters alone, the frozen base once.
        pushes: Whether this process pushes; of those that share a server one does, and all check.
    """

    def __init__(
        self, engine: Engine, weights: ModelWeights, folder: Path, *, adapters_only: bool = False, pushes: bool = True
    ) -> None:
        self.engine, self.weights, self.pushes, self.adapters_only = engine, weights, pushes, adapters_only
        self.whole, self.adapters = WeightFolder(folder / "whole"), WeightFolder(folder / "adapters")
        self.adapter: Adapter | None = None
        """The adapter that requests name; None when whole weights are pushed."""
        self.loads = 0
        """How often the engine was given weights."""
        self.seconds = 0.0
        """Time spent on publishing and loading."""
        self._wanted = ""  # the trainer's weights
        self._given: str | None = None  # what this process last gave the engine
        self._published: tuple[Path, str] | None = None  # whole weights on disk, and their digest
        self._is_adapter_loaded = False

    def engine_is_new(self) -> None:
        """Forget what the engine served: it has just been started."""
        self._given, self._is_adapter_loaded = None, False

    def publish(self) -> None:
        """Note the trainer's weights as they are now, and write them out when they have changed.

        Where processes hold parts of the weights, all must call it.
        """
        started, wanted = time.perf_counter(), self.weights.fingerprint()
        if wanted != self._wanted:
            self._wanted = wanted
            if self.adapters_only:
                self._publish_adapter()
            elif self.pushes:
                self._published = self._write(self.weights.named())
            else:
                self._published = None
                if self.weights.is_sharded:  # the process that pushes gathers the parts
                    for _ in self.weights.named():
                        pass
        self.seconds += time.perf_counter() - started

    def load(self, *, always: bool = False) -> None:
        """Have the engine load what was published, unless it serves that already.

        Args:
            always: Also in a process that does not push: an engine that was revived needs weights from whoever notices.

        Raises:
            HealthgymError: Another run pushes to the engine, or it does not serve what it was given.
        """
        if not (self.pushes or always):
            return
        started, served = time.perf_counter(), self.engine.serving().version
        if self._given is not None and served not in ("", self._given):  # empty: it was started again in between
            raise HealthgymError(
                f"The engine serves weights {served}, but this run last gave it {self._given}: another run pushes to the "
                "same engine. Give each run a server of its own."
            )
        expected = BASE if self.adapters_only else self._wanted
        if served != expected:
            self._load_whole(expected)
            self._is_adapter_loaded = False
        if self.adapters_only and not self._is_adapter_loaded:
            assert self.adapter is not None
            self.engine.use_adapter(self.adapter)
            self._is_adapter_loaded = True
            self.loads += 1
            self._probe()
        self._given = expected
        self.seconds += time.perf_counter() - started

    def check(self) -> None:
        """Raise HealthgymError, naming both, when the engine serves other weights than the trainer's."""
        served, expected = self.engine.serving().version, BASE if self.adapters_only else self._wanted
        if served != expected:
            raise HealthgymError(
                f"The engine serves weights {served or 'of its own'}, but the trainer's are {expected}: they were not "
                "pushed, or another run pushes to the same engine."
            )

    def close(self) -> None:
        """Delete what was published."""
        self.whole.remove()
        self.adapters.remove()

    def _publish_adapter(self) -> None:
        if self.adapter is None and self.pushes:
            self._published = self._write(self.weights.frozen())
        number = 1 if self.adapter is None else self.adapter.number + 1
        folder = self.adapters.publish_with(self.weights.save_adapter)
        self.adapter, self._is_adapter_loaded = Adapter(self._wanted, number, str(folder)), False

    def _write(self, named: Iterable[tuple[str, Tensor]]) -> tuple[Path, str]:
        sent: list[str] = []

        def watched() -> Iterator[tuple[str, Tensor]]:
            for name, tensor in named:
                sent.append(tensor_digest(name, tensor))
                yield name, tensor

        return self.whole.publish(watched()), combined(sent)

    def _load_whole(self, version: str) -> None:
        if self._published is None:  # in a process that does not push, for an engine that was revived
            if self.weights.is_sharded:
                raise EngineDied(
                    "The vLLM server came back without weights, which are sharded over the processes and cannot be gathered "
                    "in the middle of a batch. Run the same command again: it continues from the last checkpoint."
                )
            self._published = self._write(self.weights.frozen() if self.adapters_only else self.weights.named())
        folder, sent = self._published
        received = self.engine.load(folder, version).received
        self.loads += 1
        if received != sent:
            raise HealthgymError(
                f"The engine received weights with digest {received}, but {sent} were sent: trainer and engine do not see "
                f"the same files under {folder}."
            )
        if not self.adapters_only:
            self._probe()

    def _probe(self) -> None:
        """Compare log-probabilities on a fixed sequence; sharded models are left to the check of sampled tokens."""
        if self.weights.is_sharded:
            return
        size = self.weights.base.config.get_text_config().vocab_size
        ids = np.random.default_rng(0).integers(0, size, PROBE_TOKENS).tolist()
        gap = float(np.abs(np.asarray(self.engine.score(ids, self.adapter)) - self.weights.score(ids)).mean())
        allowed = TOLERANCE[self.weights.dtype]
        if not gap <= allowed:
            raise HealthgymError(
                f"The engine says it serves weights {self._wanted}, but on {PROBE_TOKENS} fixed tokens its log-probabilities "
                f"differ from the trainer's by {gap:.3f} nats a token ({allowed} allowed): it computes with other weights, "
                "or in another way."
            )
