"""`healthgym eval --run`: evaluates a run's checkpoints as they appear and chooses by the rule in its config."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from healthgym.cli.eval_output import shown
from healthgym.cli.eval_request import Request
from healthgym.cli.output import console, errors, print_json, table
from healthgym.errors import ConfigError

if TYPE_CHECKING:
    from healthgym.evaluation.rows import Row
    from healthgym.evaluation.run_settings import RunSettings
    from healthgym.world import Services

SPLIT = "val"
"""What a choice looks at unless a split is given, where the benchmark has it."""


def select(run_dir: Path, every: int, request: Request, *, follow: bool, as_json: bool) -> None:
    """Evaluate a run's checkpoints and print which one is the best.

    Raises:
        ConfigError: The folder is no run, its config fixes no rule, or there is nothing to evaluate.
    """
    from healthgym.evaluation.checkpoint import CONFIG, is_run
    from healthgym.evaluation.run_settings import run_settings
    from healthgym.evaluation.selection import Selection, rule_of, told
    from healthgym.training.loading import load_config

    if not is_run(run_dir):
        raise ConfigError(f"{run_dir} is no training run: {CONFIG} and checkpoints/ are expected there")
    config = load_config(run_dir / CONFIG)
    request = replace(request, preferred_split=SPLIT)
    settings = run_settings(config)
    selection = Selection(
        run=run_dir, every=every, rule=rule_of(config.checkpoint.best, run_dir), suite=request.suites[0],
        split=request.split_name(request.suites[0]),
    )  # fmt: skip
    if selection.warning is not None:
        errors.print(selection.warning, markup=False, soft_wrap=True)
    request.check(settings)
    measures = Steps(run_dir, request, settings, request.services(settings))
    selection.follow(measures, wait=follow)
    found = selection.to_dict()
    if as_json:
        return print_json({**found, "results": measures.records, "folder": str(selection.folder)})
    _show(found)
    for line in told(found):
        console.print(line, markup=False, soft_wrap=True)
    return None


@dataclass
class Steps:
    """Evaluates the checkpoints of a run on all suites; the rows of the first are those that a choice is made on."""

    run_dir: Path
    request: Request
    settings: "RunSettings"
    services: "Services | None"
    records: list[dict[str, Any]] = field(default_factory=list)
    """Results made by this process."""

    def folder(self, step: int, suite: str) -> Path:
        """Return where a suite's evaluation of a step lies."""
        from healthgym.evaluation.selection import step_folder

        return step_folder(self.run_dir, suite, self.request.split_name(suite), step)

    def stored(self, step: int) -> "Sequence[Row] | None":
        """Return the rows of the first suite if those of all suites were made before."""
        if self.request.restart:
            return None
        found = [
            self.request.stored(suite, self.settings, self.services, self.folder(step, suite))
            for suite in self.request.suites
        ]
        return found[0] if all(rows is not None for rows in found) else None

    def measure(self, step: int, folder: Path) -> "Sequence[Row]":
        """Evaluate a step's model on every suite."""
        from healthgym.errors import HealthgymError

        candidate = self.request.open(str(folder), self.settings)
        try:
            for suite in self.request.suites:
                errors.print(f"step {step}", markup=False)
                found = self.request.evaluate(suite, candidate, self.settings, self.services, self.folder(step, suite))
                self.records.append({**found, "step": step})
        finally:
            candidate.close()
        rows = replace(self.request, restart=False).stored(
            self.request.suites[0], self.settings, self.services, self.folder(step, self.request.suites[0])
        )
        if rows is None:
            raise HealthgymError(
                f"Some rows of step {step} were lost to errors of ours, so its score cannot be compared. The same command "
                "makes them again."
            )
        return rows


def _show(found: Mapping[str, Any]) -> None:
    metric = found["rule"]["metric"]
    table(
        f"Checkpoints on {found['suite']}, split {found['split']}",
        ("step", metric, "n", "clipped", "degenerate", ""),
        [
            [
                row["step"], shown(row[metric]), int(row["eval/n"]), shown(row["eval/clipped"]),
                shown(row["eval/degenerate"]), "chosen" if row["step"] == found["choice"]["step"] else "",
            ]
            for row in found["rows"]
        ],
    )  # fmt: skip
