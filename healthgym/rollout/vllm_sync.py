"""Keeps the weights an engine serves those of the model in training, and proves it."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from healthgym.errors import HealthgymError
from healthgym.rollout.vllm_messages import Adapter, Engine
from healthgym.rollout.weight_folder import WeightFolder
from healthgym.rollout.weights import ModelWeights, combined, tensor_digest

PROBE_TOKENS = 16
TOLERANCE = {torch.float32: 0.01, torch.bfloat16: 0.3}
"""Largest mean difference, in nats a token, between engine and trainer on the probe, by the dtype they compute in."""


def _alone() -> None:
    """One process has nobody to wait for."""


class WeightSync:
    """Pushes a model's weights into an engine when they have changed, and checks what the engine serves.

    Three checks, each a loud error: the engine received the tensors that were sent (digests); it still serves the version
    last pushed, so nobody else has pushed in between; and it gives a fixed token sequence the log-probabilities that the
    trainer gives it, so what it computes with is what it received.

    Args:
        engine: The engine.
        weights: The model's weights.
        folder: Where versions are published; trainer and engine both see it.
        adapters_only: Push LoRA adapters alone, the frozen base once.
        pushes: Whether this process pushes; of those that share a server one does, and all check.
        wait_for_everyone: Returns once every process that shares the server has called it.
    """

    def __init__(
        self,
        engine: Engine,
        weights: ModelWeights,
        folder: Path,
        *,
        adapters_only: bool = False,
        pushes: bool = True,
        wait_for_everyone: Callable[[], None] = _alone,
    ) -> None:
        self.engine, self.weights, self.folder = engine, weights, WeightFolder(folder)
        self.adapters_only, self.pushes, self.wait_for_everyone = adapters_only, pushes, wait_for_everyone
        self.adapter: Adapter | None = None
        """The adapter that requests name; None when whole weights are pushed."""
        self.pushed = 0
        """How often weights were pushed."""
        self.seconds = 0.0
        """Time spent on it."""
        self._version: str | None = None  # what this process last knew the engine to serve

    def engine_is_new(self) -> None:
        """Forget what the engine served: it has just been started."""
        self._version, self.adapter = None, None

    def run(self) -> None:
        """Bring the engine to the trainer's weights as they are now.

        Raises:
            HealthgymError: The engine serves other weights than it should; names both.
        """
        self.wait_for_everyone()  # until no process is sampling with the old weights
        started, version = time.perf_counter(), self.weights.fingerprint()
        if self.adapters_only:
            if self.pushes:
                self._push_adapter(version)
            else:
                self.adapter = Adapter(version, 0, "")
            self.wait_for_everyone()
        else:
            served = self.engine.serving().version
            if self._version is not None and served != self._version:
                raise HealthgymError(
                    f"The engine serves weights {served or 'of its own'}, but this run last gave it {self._version}: "
                    "another run pushes to the same engine. Give each run a server of its own."
                )
            if self.pushes and served != version:
                self._push(version)
            self.wait_for_everyone()
            self._check_version(version)
        self._version = version
        self.seconds += time.perf_counter() - started

    def again(self) -> None:
        """Give the weights to an engine that was revived while other processes go on."""
        version = self.weights.fingerprint()
        if self.adapters_only:
            self._push_adapter(version)
        elif self.engine.serving().version != version:
            self._push(version)
        self._version = version

    def close(self) -> None:
        """Delete what was published."""
        self.folder.remove()

    def _push(self, version: str) -> None:
        self._load(self.weights.named(), version)
        self._probe(version)

    def _load(self, named: Any, version: str) -> None:
        sent: list[str] = []

        def watched() -> Any:
            for name, tensor in named:
                sent.append(tensor_digest(name, tensor))
                yield name, tensor

        served = self.engine.load(self.folder.publish(watched()), version)
        self.pushed += 1
        if served.received != combined(sent):
            raise HealthgymError(
                f"The engine received weights with digest {served.received}, but {combined(sent)} were sent: trainer and "
                f"engine do not see the same files under {self.folder.root}."
            )

    def _push_adapter(self, version: str) -> None:
        if self.adapter is not None and self.adapter.name == version:
            return
        if self.adapter is None:
            self._load(self.weights.frozen(), "base")
        self.pushed += 1
        adapter = Adapter(version, self.pushed, str(self.folder.publish_with(self.weights.save_adapter)))
        self.engine.use_adapter(adapter)
        self.adapter = adapter
        self._probe(version)

    def _check_version(self, version: str) -> None:
        served = self.engine.serving().version
        if served != version:
            raise HealthgymError(
                f"The engine serves weights {served or 'of its own'}, but the trainer's are {version}: they were not "
                "pushed, or another run pushes to the same engine."
            )

    def _probe(self, version: str) -> None:
        """Compare log-probabilities on a fixed sequence; sharded models are left to the check of sampled tokens."""
        if self.weights.is_sharded:
            return
        size = self.weights.base.config.get_text_config().vocab_size
        ids = np.random.default_rng(0).integers(0, size, PROBE_TOKENS).tolist()
        expected = self.weights.score(ids)
        gap = float(np.abs(np.asarray(self.engine.score(ids, self.adapter)) - expected).mean())
        if not gap <= TOLERANCE[self.weights.dtype]:
            raise HealthgymError(
                f"The engine says it serves weights {version}, but on {PROBE_TOKENS} fixed tokens its log-probabilities "
                f"differ from the trainer's by {gap:.3f} nats a token ({TOLERANCE[self.weights.dtype]} allowed): it "
                "computes with other weights, or in another way."
            )
