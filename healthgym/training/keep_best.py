"""Keeps the best checkpoint of a run: asks for it to be saved, spares it from rotation, and lays its model into best/."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accelerate.utils import broadcast_object_list
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from healthgym.errors import ConfigError, nearest
from healthgym.files import link_or_copy, write_whole
from healthgym.training.best import Choice, choose_best
from healthgym.training.config import Best
from healthgym.training.run_folder import RunFolder

NOT_OF_THE_MODEL = (
    "optimizer.pt",
    "scheduler.pt",
    "trainer_state.json",
    "training_args.bin",
    "healthgym.pt",
    "rng_state",
)
"""Files of a checkpoint that only a resumed run needs, by the start of their names."""


class KeepBest(TrainerCallback):
    """Applies `checkpoint.best` after each held-out evaluation; must follow `StepLog`, whose rows it reads.

    Args:
        rule: Metric, margin and caps.
        folder: The run's; receives `best.json` and `best/`.
        num_iterations: Passes over each batch; a checkpoint between two of them could not be resumed exactly.
        processes: Processes that train together: all save what the main one chooses.
    """

    def __init__(self, rule: Best, folder: RunFolder, *, num_iterations: int = 1, processes: int = 1) -> None:
        self.rule, self.folder, self.num_iterations, self.processes = rule, folder, num_iterations, processes
        self.choice = choose_best((), rule)
        self._evaluated: list[Mapping[str, Any]] = []

    @property
    def spared(self) -> tuple[int, ...]:
        """Steps whose checkpoints rotation must leave."""
        return self.choice.contenders

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Take up what was measured before an interruption."""
        rows = self.folder.metrics() if self.folder.writes else []
        self._evaluated = [row for row in rows if self._counts(row)]
        self._choose()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        """Choose again after an evaluation, and have the step saved if it may become the best."""
        row = {**(logs or {}), "step": state.global_step}
        measured = [name for name in row if name.startswith("eval/")]
        if measured and self.rule.metric not in row:
            raise ConfigError(
                f"checkpoint.best.metric {self.rule.metric!r} is not among what an evaluation gives.{nearest(self.rule.metric, measured)}"
            )
        if not self._counts(row):
            return
        self._evaluated.append(row)
        self._choose()
        if state.global_step in self.choice.contenders:
            control.should_save = True

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Write what was chosen."""
        if not self.folder.writes or not (self.choice.contenders or self.choice.refused):
            return
        write_whole(self.folder.path / "best.json", json.dumps(self.choice.to_dict(), indent=1) + "\n")
        if self.choice.step is not None:
            lay_out(self.folder, self.choice)

    def _counts(self, row: Mapping[str, Any]) -> bool:
        return row.get(self.rule.metric) is not None and row["step"] % self.num_iterations == 0

    def _choose(self) -> None:
        self.choice = choose_best(self._evaluated, self.rule)
        if self.processes > 1:
            self.choice = broadcast_object_list([self.choice])[0]


def lay_out(folder: RunFolder, choice: Choice) -> Path:
    """Make `best/` the model of the chosen checkpoint, sharing its files on disk where the file system can."""
    source, target = folder.checkpoints / f"checkpoint-{choice.step}", folder.path / "best"
    note = target / "checkpoint.json"
    if note.is_file() and _step_of(note) == choice.step:
        return target
    aside = target.with_name(".best.writing")
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(source, aside, copy_function=link_or_copy, ignore=not_of_the_model)
    base = folder.path / "start" / "base"
    if base.is_dir():  # adapters over a model that exists nowhere else
        shutil.copytree(base, aside / "base", copy_function=link_or_copy)
    (aside / note.name).write_text(json.dumps({"step": choice.step, "value": choice.value}), encoding="utf-8")
    shutil.rmtree(target, ignore_errors=True)
    aside.replace(target)
    return target


def not_of_the_model(folder: str, names: list[str]) -> list[str]:
    """Return which files of a checkpoint only a resumed run needs; for `shutil.copytree`."""
    return [name for name in names if name.startswith(NOT_OF_THE_MODEL)]


def _step_of(note: Path) -> int | None:
    found: Mapping[str, Any] = json.loads(note.read_text(encoding="utf-8"))
    return found.get("step")
