"""Chooses among a run's checkpoints by the rule in its config, from evaluations made as the checkpoints appear."""

import json
import logging
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

from healthgym.errors import ConfigError, nearest
from healthgym.evaluation.rows import LOST, Row
from healthgym.files import link_or_copy, write_whole
from healthgym.locks import is_held
from healthgym.training.best import Choice, choose_best
from healthgym.training.checkpoints import checkpoints, step_of
from healthgym.training.config import Best
from healthgym.training.keep_best import not_of_the_model
from healthgym.training.run_lock import LOCK

logger = logging.getLogger(__name__)

CHOICE = "choice.json"
TEST = ("test", "test_ood")

NAME = "step-"


class Measures(Protocol):
    """Evaluates checkpoints."""

    def stored(self, step: int) -> Sequence[Row] | None:
        """Return the rows of a step if all that are wanted were made before, as they would be made now."""

    def measure(self, step: int, folder: Path) -> Sequence[Row]:
        """Evaluate the model in a folder, the checkpoint of a step, and return its rows."""


@dataclass
class Selection:
    """The evaluations of a run's checkpoints, and which of them is the best so far.

    run: folder of the run.
    every: only steps divisible by this count.
    rule: metric, margin and caps.
    suite, split: what the choice is made on.
    """

    run: Path
    every: int
    rule: Best
    suite: str
    split: str
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    skipped: dict[int, str] = field(default_factory=dict)

    @property
    def choice(self) -> Choice:
        """The best so far."""
        return choose_best([self.rows[step] for step in sorted(self.rows)], self.rule)

    @property
    def folder(self) -> Path:
        """Where evaluations and choice lie, and the models that may yet be chosen, sharing files with the checkpoints."""
        return evaluations_of(self.run, self.suite, self.split)

    @property
    def warning(self) -> str | None:
        """What speaks against the choice's figure."""
        if self.split not in TEST:
            return None
        return (
            f"The choice looks at {self.split}: the chosen checkpoint's score there is no test figure any more. Choose on "
            "val, and measure the chosen one on test once."
        )

    def follow(self, measures: Measures, *, wait: bool, seconds: float = 10.0) -> None:
        """Evaluate every checkpoint that is there and, with `wait`, those that appear while the run is alive.

        A checkpoint that is damaged, or was removed before it could be read, is left out and named in `skipped`.

        Args:
            measures: Evaluates one.
            wait: Go on until the run has ended.
            seconds: Pause between two looks.
        """
        while True:
            alive = is_held(self.run / LOCK)  # before looking, so that a checkpoint written last is not missed
            for step, checkpoint in self._waiting(again=not alive):
                self._take(step, checkpoint, measures)
            if not (wait and alive):
                return self._check_any()
            time.sleep(seconds)

    def write(self) -> Path:
        """Write what was chosen and why."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return write_whole(self.folder / CHOICE, json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n")

    def to_dict(self) -> dict[str, Any]:
        """Return choice, rule and rows as JSON-like data."""
        return {
            "suite": self.suite, "split": self.split, "every": self.every, "rule": self.rule.model_dump(mode="json"),
            "choice": self.choice.to_dict(), "why": why(self.choice), "model": self._chosen_model(),
            "rows": [self.rows[step] for step in sorted(self.rows)], "skipped": dict(sorted(self.skipped.items())),
            "warning": self.warning,
        }  # fmt: skip

    def _check_any(self) -> None:
        if not self.rows and not self.skipped:
            steps = [step_of(path) for path in checkpoints(self.run / "checkpoints")]
            raise ConfigError(
                f"{self.run} has no checkpoint at a step divisible by {self.every}; there are {steps or 'none'}. Give "
                "--every another number, or --follow while the run is alive."
            )

    def _waiting(self, *, again: bool) -> Iterator[tuple[int, Path | None]]:
        """Yield the steps that were not looked at, with their checkpoints; damaged ones anew once the run has ended."""
        found: dict[int, Path | None] = {
            int(path.name.removeprefix(NAME)): None
            for path in self.folder.glob(f"{NAME}*")
            if path.name.removeprefix(NAME).isdigit()
        }
        found.update(
            {step: path for path in checkpoints(self.run / "checkpoints") if (step := step_of(path)) is not None}
        )
        for step in sorted(found):
            if step % self.every == 0 and step not in self.rows and (again or step not in self.skipped):
                yield step, found[step]

    def _take(self, step: int, checkpoint: Path | None, measures: Measures) -> None:
        rows, model = measures.stored(step), self._kept(step, checkpoint)
        try:
            if rows is None and model is not None:
                rows = measures.measure(step, model)
        except ConfigError as error:
            if str(model) not in str(error):  # a setting, which no other checkpoint would mend
                raise
            self.skipped[step] = str(error)
        else:
            if rows is None:
                self.skipped[step] = "removed before it was evaluated; raise checkpoint.keep, or evaluate with --follow"
            else:
                self.skipped.pop(step, None)
                self.rows[step] = self._checked(metrics_of(rows, step))
        if step in self.skipped:
            logger.warning("checkpoint %d is left out: %s", step, self.skipped[step])
        self._keep_contenders()
        self.write()

    def _kept(self, step: int, checkpoint: Path | None) -> Path | None:
        """Return a step's model under a name of ours, sharing its files, so that rotation cannot take it away."""
        kept = self.folder / f"checkpoint-{step}"
        if kept.is_dir() or checkpoint is None:
            return kept if kept.is_dir() else None
        aside = kept.with_name(f".{kept.name}.writing")
        shutil.rmtree(aside, ignore_errors=True)
        try:
            shutil.copytree(checkpoint, aside, copy_function=link_or_copy, ignore=not_of_the_model)
        except (FileNotFoundError, shutil.Error):
            shutil.rmtree(aside, ignore_errors=True)
            if checkpoint.is_dir():
                raise
            return None
        return aside.replace(kept)

    def _checked(self, row: dict[str, Any]) -> dict[str, Any]:
        if self.rule.metric not in row:
            raise ConfigError(
                f"checkpoint.best.metric {self.rule.metric!r} is not among what evaluating {self.suite} gives."
                f"{nearest(self.rule.metric, [name for name in row if name != 'step'])}"
            )
        return row

    def _keep_contenders(self) -> None:
        """Drop the models that cannot be chosen any more."""
        contenders = self.choice.contenders
        for path in checkpoints(self.folder):
            if step_of(path) not in contenders:
                shutil.rmtree(path, ignore_errors=True)

    def _chosen_model(self) -> str | None:
        model = self.folder / f"checkpoint-{self.choice.step}"
        return str(model) if model.is_dir() else None


def evaluations_of(run: Path, suite: str, split: str) -> Path:
    """Return the folder of a run's evaluations on one split of a benchmark; those of a step are below it."""
    return run / "evals" / f"{suite}-{split}"


def step_folder(run: Path, suite: str, split: str, step: int) -> Path:
    """Return the folder of one step's evaluation."""
    return evaluations_of(run, suite, split) / f"{NAME}{step:06d}"


def metrics_of(rows: Sequence[Row], step: int) -> dict[str, Any]:
    """Return an evaluation as the row of metrics that `checkpoint.best` reads, as training's own measurement gives it.

    Every row that was not lost counts; one without an answer has not succeeded.
    """
    whole = [row for row in rows if row.status not in LOST]
    n = max(1, len(whole))
    rewards = [row.scores["reward"] for row in whole if "reward" in row.scores]
    turns = [row.turns for row in whole if row.turns is not None]
    return {
        "step": step,
        "eval/success": sum(row.score or 0.0 for row in whole) / n,
        "eval/n": float(len(whole)),
        "eval/clipped": sum(_is_clipped(row) for row in whole) / n,
        "eval/degenerate": sum(_is_degenerate(row) for row in whole) / n,
        **({"eval/reward": fmean(rewards)} if rewards else {}),
        **({"eval/single_turn": sum(count <= 1 for count in turns) / len(turns)} if turns else {}),
    }


def why(choice: Choice) -> str:
    """Return, in a sentence, why a checkpoint was chosen, or why none was."""
    refused = "".join(f" Step {step}: {reason}." for step, reason in sorted((choice.refused or {}).items()))
    if choice.step is None:
        return f"No checkpoint can be chosen: none was evaluated that keeps the caps.{refused}"
    return (
        f"Step {choice.step}: the earliest whose {choice.metric}, {choice.value:.3f}, lies within {choice.margin:.3f} of "
        f"the highest, {choice.maximum:.3f} at step {choice.at_maximum}.{refused}"
    )


def _is_clipped(row: Row) -> bool:
    return bool(row.detail["clipped"]) if "clipped" in row.detail else row.status == "truncated"


def _is_degenerate(row: Row) -> bool:
    return bool(row.detail["degenerate"]) if "degenerate" in row.detail else row.status == "degenerate"


def rule_of(best: Best | None, run: Path) -> Best:
    """Return the rule of a run. Raises ConfigError when its config fixes none."""
    if best is None:
        raise ConfigError(
            f"The config of {run} fixes no rule for the best checkpoint (checkpoint.best: null). Evaluate a checkpoint "
            "by itself: healthgym eval CHECKPOINT --suite gym."
        )
    return best


def told(selection: Mapping[str, Any]) -> list[str]:
    """Return the sentences that a person is told of a selection."""
    lines = [str(selection["why"])]
    lines += [f"Step {step} was left out: {reason}" for step, reason in selection["skipped"].items()]
    if selection["choice"]["step"] is not None:
        lines.append(f"Its model: {selection['model'] or 'no longer there'}")
    return [*lines, *([str(selection["warning"])] if selection["warning"] else [])]
