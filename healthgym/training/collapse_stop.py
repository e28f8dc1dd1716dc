"""Ends a run whose own log says that it has collapsed."""

from math import lcm
from typing import Any

from accelerate import PartialState
from accelerate.utils import gather_object
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from healthgym.diagnostics.run import Run
from healthgym.diagnostics.verdict import verdict
from healthgym.training.run_folder import RunFolder

LOOK_EVERY = 5
"""Steps between looks at the log."""


class CollapseStop(TrainerCallback):
    """Asks for a checkpoint and the end of the run at the first collapsed verdict. Register it after the log's writer.

    Args:
        folder: The run's folder.
        config: The run's settings as plain data, for detectors that read them.
        num_iterations: Passes over each batch; a checkpoint between two of them could not be resumed exactly.
    """

    def __init__(self, folder: RunFolder, config: dict[str, Any], *, num_iterations: int = 1) -> None:
        self.folder, self.config = folder, config
        self.look_every = lcm(LOOK_EVERY, num_iterations)
        self.findings: list[str] = []

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Judge the log every few steps."""
        if state.global_step and state.global_step % self.look_every == 0 and not self.findings:
            self.findings = self._judge(state.global_step)
            if self.findings:
                control.should_training_stop = control.should_save = True
        return control

    def _judge(self, step: int) -> list[str]:
        found: list[str] = []
        if PartialState().is_main_process:
            judged = verdict(Run(path=self.folder.path, rows=tuple(self.folder.metrics()), config=self.config))
            if judged.status == "collapsed":
                worst = [finding for finding in judged.findings if finding.severity == "collapsed"]
                found = [f"step {step}: stopped, {finding.name}: {finding.message}" for finding in worst]
        gathered: list[str] = gather_object(found)
        return gathered
