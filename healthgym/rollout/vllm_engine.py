"""Writes assistant turns with vLLM: sends requests as they come, keeps its weights those of the trainer, revives it."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np

from healthgym.errors import ConfigError
from healthgym.rollout.policy import TurnRequest, TurnResult
from healthgym.rollout.sampling import Sampling
from healthgym.rollout.vllm_messages import Engine, EngineDied, Failed, Generate, Sync, Written

logger = logging.getLogger(__name__)
Result = TypeVar("Result")


class VLLMPolicy:
    """Writes assistant turns with a vLLM engine that follows a model in training.

    Before the first turn of every batch of episodes the engine's weights are made those of the trainer; they may change
    between batches, not while episodes are open. When the engine dies it is started again, given the weights, and asked
    again for the turns it owed: each has its own seed, so a turn does not depend on when it was asked for.

    Args:
        engine: The engine; started at the first turn.
        sync: Keeps its weights those of the trainer.
        tokenizer: The model's tokenizer.
        end_ids: Tokens that end a turn.
        sampling: How tokens are drawn.
        restarts: How often a dead engine is revived before the run gives up.
        sleeps: Give the accelerator's memory back between batches of episodes.
        wait_for_everyone: Returns once every process that shares the engine has called it.
    """

    def __init__(
        self,
        engine: Engine,
        sync: Sync,
        tokenizer: Any,
        *,
        end_ids: Sequence[int],
        sampling: Sampling | None = None,
        restarts: int = 3,
        sleeps: bool = False,
        wait_for_everyone: Callable[[], None] = lambda: None,
    ) -> None:
        self.engine, self.sync, self.tokenizer = engine, sync, tokenizer
        self.end_ids = tuple(sorted(end_ids))
        self.sampling, self.restarts, self.sleeps = sampling or Sampling(), restarts, sleeps
        self.wait_for_everyone, self.name = wait_for_everyone, engine.name
        self.sampled_tokens = 0
        """Tokens sampled so far."""
        self.prompt_tokens = 0
        """Tokens of the finished turns' prompts so far."""
        self.cached_tokens = 0
        """Those of them that the engine had seen before."""
        self.restarted = 0
        """How often the engine was revived."""
        self.seconds = 0.0
        """Time spent waiting for turns."""
        self._open: set[int] = set()
        self._pending: dict[str, tuple[TurnRequest, Generate]] = {}
        self._key_of: dict[int, str] = {}
        self._sent = 0
        self._is_started = self._is_prepared = self._is_asleep = False

    def prepare(self) -> None:
        """Make the engine serve the trainer's weights. Where several processes share a server, all must call it.

        Raises:
            HealthgymError: The engine serves other weights than the trainer's, or does not start.
        """
        if self._open:
            return
        if not self._is_started:
            self._start()
        if self._is_asleep:
            self._guarded(self.engine.wake)
            self._is_asleep = False
        self.sync.publish()
        self.wait_for_everyone()  # until no process samples with the old weights
        self._guarded(self.sync.load)
        self.wait_for_everyone()
        self._guarded(self.sync.check)
        self._is_prepared = True

    def submit(self, request: TurnRequest) -> None:
        """Queue one turn.

        Raises:
            ConfigError: The request has no tokens, or fills the engine's context.
        """
        if not len(request.prompt_ids):
            raise ConfigError("VLLMPolicy works on tokens: give collect() the model's ChatTemplate")
        if not self._open and not self._is_prepared:
            self.prepare()
        limit = min(request.max_tokens, self.engine.context_limit - len(request.prompt_ids))
        if limit < 1:
            raise ConfigError(
                f"{request.task_id}: {len(request.prompt_ids)} tokens leave no room for a turn of {request.max_tokens} in "
                f"the engine's {self.engine.context_limit} positions. Raise rollout.vllm.max_model_len, or give collect() "
                "max_context, at most that."
            )
        self._sent += 1
        generate = Generate(
            key=f"{request.key}.{self._sent}",
            prompt_ids=request.prompt_ids,
            max_tokens=limit,
            seed=request.seed,
            sampling=asdict(self.sampling),
            end_ids=self.end_ids,
            adapter=self.sync.adapter,
        )
        self._open.add(request.key)
        self._pending[generate.key] = request, generate
        self._key_of[request.key] = generate.key
        with suppress(EngineDied):  # asked again once poll() finds the engine dead
            self.engine.generate(generate)

    def poll(self) -> list[TurnResult]:
        """Wait for at least one turn and return the finished ones; none when nothing is pending."""
        results: list[TurnResult] = []
        started = time.perf_counter()
        while self._pending and not results:
            for one in self._guarded(self.engine.finished):
                asked = self._pending.pop(one.key, None)
                if asked is not None:  # else it was cancelled meanwhile
                    del self._key_of[asked[0].key]
                    results.append(self._result(asked[0], one))
        self.seconds += time.perf_counter() - started
        return results

    def cancel(self, key: int) -> None:
        """Forget an episode; once none is open the engine may rest."""
        self._open.discard(key)
        pending = self._key_of.pop(key, None)
        if pending is not None:
            del self._pending[pending]
            with suppress(EngineDied):
                self.engine.abort(pending)
        if not self._open:
            self._is_prepared = False
            if self.sleeps and not self._is_asleep:
                with suppress(EngineDied):
                    self.engine.sleep()
                    self._is_asleep = True

    def counters(self) -> dict[str, float]:
        """Return totals for the log."""
        return {
            "engine/sampled_tokens": float(self.sampled_tokens),
            "engine/prompt_tokens": float(self.prompt_tokens),
            "engine/cached_tokens": float(self.cached_tokens),
            "engine/restarts": float(self.restarted),
            "engine/weight_loads": float(self.sync.loads),
            "engine/sync_seconds": self.sync.seconds,
        }

    def close(self) -> None:
        """Let go of the engine."""
        self.engine.close()
        self.sync.close()
        self._is_started = self._is_prepared = False

    def _start(self) -> None:
        self.engine.start()
        self.sync.engine_is_new()
        self._is_started, self._is_asleep = True, False

    def _guarded(self, action: Callable[[], Result]) -> Result:
        """Run something that needs the engine; when the engine dies, revive it and run that again."""
        while True:
            try:
                return action()
            except EngineDied as error:
                self._revive(error)

    def _revive(self, error: EngineDied) -> None:
        """Start the engine again, give it the weights, and ask again for the turns it owes."""
        while True:
            if self.restarted >= self.restarts:
                raise EngineDied(
                    f"{error}\nThe vLLM engine died again after {self.restarted} restarts, and rollout.vllm.restarts allows "
                    "no more."
                ) from error
            self.restarted += 1
            logger.warning("%s", error)
            logger.warning(
                "Restart %d of %d; %d turns are asked again", self.restarted, self.restarts, len(self._pending)
            )
            try:
                self._start()
                self.sync.load(always=True)
                for _, generate in self._pending.values():
                    self.engine.generate(generate)
            except EngineDied as again:
                error = again
            else:
                return

    def _result(self, request: TurnRequest, one: Written | Failed) -> TurnResult:
        if isinstance(one, Failed):
            return TurnResult(request.key, "", error=one.reason)
        ended = one.token_ids[-1] in self.end_ids
        if not np.isfinite(one.logprobs).all():
            return TurnResult(request.key, "", error="vLLM gave log-probabilities that are no numbers")
        self.sampled_tokens += len(one.token_ids)
        self.prompt_tokens += len(request.prompt_ids)
        self.cached_tokens += one.cached
        ids = one.token_ids[:-1] if ended else one.token_ids
        text = self.tokenizer.decode(ids, skip_special_tokens=False)
        return TurnResult(request.key, text, one.token_ids, one.logprobs, clipped=not ended)
