"""What happens around optimiser steps besides training: metrics, held-out evaluation, hint probes."""

import math
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from accelerate.utils import gather_object
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from healthgym.training.distill_step import DistillStep
from healthgym.training.run_folder import RunFolder

Metrics = Mapping[str, float]
Evaluate = Callable[[Any, Any, int], Metrics]
"""Measures (model, tokenizer, steps done) on held-out tasks."""


def held_out(
    evaluate: Evaluate, model: Callable[[], Any], tokenizer: Any, every: int, distill: DistillStep | None
) -> Callable[[int], Metrics]:
    """Return a measure that evaluates what `model()` returns every `every` steps and tells the teacher's gate of it."""

    def measure(step: int) -> Metrics:
        if step % every:
            return {}
        found = evaluate(model(), tokenizer, step)
        if distill is not None and "eval/success" in found:
            # The main process's number, so that no process's teacher goes another way.
            everywhere: list[float] = gather_object([found["eval/success"]])
            distill.gate.note_validation(everywhere[0])
        return found

    return measure


class StepLog(TrainerCallback):
    """Appends one row per step to the run folder.

    Args:
        folder: Where rows go.
        measures: By name, functions of the steps done whose metrics join the row: evaluation, probes. They must not
            change the run; randomness is set aside around them.
        on_step: Called with the step and its row.
    """

    def __init__(
        self,
        folder: RunFolder,
        measures: list[Callable[[int], Metrics]],
        on_step: Callable[[int, Metrics], None] | None = None,
    ) -> None:
        self.folder, self.measures, self.on_step = folder, measures, on_step
        self.last: dict[str, Any] = {}

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        """Write the row of a step; transformers' closing summary is no step."""
        if not logs or "loss" not in logs:
            return
        row: dict[str, Any] = {"step": state.global_step, **logs}
        for measure in self.measures:
            with randomness_set_aside():
                row |= measure(state.global_step)
        if row.get("robust/bad_step"):  # the step was skipped: what it gave is not a state of the run
            # TRL's mean over nothing but NaN is None.
            row = {
                name: value
                for name, value in row.items()
                if name != "loss" and value is not None and math.isfinite(value)
            }
        self.last = row
        logs.clear()
        logs.update({name: value for name, value in row.items() if name != "step"})  # what reporters after us see
        self.folder.append(row)
        if self.on_step is not None:
            self.on_step(state.global_step, row)


@contextmanager
def randomness_set_aside() -> Iterator[None]:
    """Leave every random generator as it was found, so that measuring does not change what is trained."""
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        yield
    random.setstate(python)
    np.random.set_state(numpy)
