"""Keeps hints on only while the probe finds that they help."""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from accelerate import PartialState
from accelerate.utils import gather_object

from healthgym.errors import ConfigError
from healthgym.rollout import Trajectory
from healthgym.seeds import mix_seed
from healthgym.training.callbacks import randomness_set_aside
from healthgym.training.config import Hint
from healthgym.training.distillation import Distillation
from healthgym.training.probe import ProbeResult, Rate, probe_hints
from healthgym.training.rows import EpisodeRow
from healthgym.training.source import EpisodeSource

logger = logging.getLogger(__name__)


class HintSwitch:
    """Probes the hints of a run with its teacher, and switches them off for good when they do not help.

    Args:
        hint: The run's hint settings.
        distillation: Writes hints; its `hint` is set to None when they are switched off.
        source: Makes episodes.
        seed: The run's seed.
    """

    def __init__(self, hint: Hint, distillation: Distillation, source: EpisodeSource, *, seed: int) -> None:
        self.hint, self.distillation, self.source, self.seed = hint, distillation, source, seed
        self.findings: list[str] = []

    def before_training(self, rows: Sequence[EpisodeRow], report: Path | None) -> None:
        """Attempt `rows`, probe what failed, and write the result to `report`.

        Raises:
            ConfigError: The hints do not help and `hint.require_probe` is set.
        """
        own = list(rows[PartialState().process_index :: PartialState().num_processes])
        with randomness_set_aside():
            attempts = self.source.sample(own, seed=self._seed(0, "attempts"))
            result = self._probe(attempts, 0)
        if report is not None:
            report.write_text(json.dumps(result.metrics(), indent=1), encoding="utf-8")
        if self.hint.require_probe and not result.right.n:
            raise ConfigError(
                "hint.require_probe: no attempt before training failed with a known outcome, so the hints could not be "
                "probed. Raise hint.probe_tasks, take harder tasks, or set hint.require_probe: false."
            )
        if self.hint.require_probe and not result.helps:
            raise ConfigError(
                f"{result.describe()}: the right hint does not beat none. Teach hints first with "
                "warm_start.hinted_share, or set hint.require_probe: false."
            )
        self._decide(result, 0)

    def measure(self, step: int, episodes: Sequence[Trajectory | None]) -> Mapping[str, float]:
        """Probe the failures among a step's episodes, one of each group, and return the rates for the log."""
        if self.distillation.hint is None or not self.hint.probe_every or step % self.hint.probe_every:
            return {}
        failures = {one.group: one for one in episodes if one is not None and not one.grade.success}
        result = self._probe(list(failures.values())[: self.hint.probe_tasks], step)
        self._decide(result, step)
        return result.metrics()

    def _probe(self, attempts: Sequence[Trajectory | None], step: int) -> ProbeResult:
        failed = [one for one in attempts if one is not None and not one.grade.success]

        def resample(tasks: Sequence[Trajectory], hints: Sequence[str | None]) -> list[Trajectory | None]:
            rows = [EpisodeRow(task.task_id, task.group, task.seed) for task in tasks]
            # Also without rows: processes that share an engine or a sharded model prepare it together.
            return self.source.sample(rows, seed=self._seed(step, "again"), hints=hints)

        with self.distillation.teacher.active():
            local = probe_hints(failed, self.distillation.hints_of(failed), resample)
        everywhere: list[ProbeResult] = gather_object([local])
        return ProbeResult(
            *(_sum([getattr(one, name) for one in everywhere]) for name in ("right", "shuffled", "none"))
        )

    def _decide(self, result: ProbeResult, step: int) -> None:
        if result.helps or not result.right.n:  # without a failed task nothing was found out
            logger.info("step %d: %s", step, result.describe())
            return
        message = f"step {step}: {result.describe()}: the right hint does not beat none, so hints were switched off"
        logger.warning(message)
        self.findings.append(message)
        self.distillation.hint = None

    def _seed(self, step: int, what: str) -> int:
        return mix_seed(self.seed, "probe", step, what, PartialState().process_index, bits=31)


def _sum(rates: Sequence[Rate]) -> Rate:
    return Rate(sum(rate.successes for rate in rates), sum(rate.n for rate in rates))
