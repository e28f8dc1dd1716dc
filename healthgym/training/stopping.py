"""Ctrl-C and SIGTERM end a run after the step at hand, with a checkpoint from which the same command goes on."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from accelerate.utils import gather_object
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from healthgym.errors import RunStopped

logger = logging.getLogger(__name__)
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopOnSignal(TrainerCallback):
    """Finishes the optimiser step, saves, and lets the trainer return; a second signal of the kind stops at once.

    Args:
        processes: Processes that train together: any one's signal stops all after the same step.
        num_iterations: Passes over each batch; a checkpoint between two of them could not be resumed exactly.
        tell: Told at once that the signal was heard; None logs a warning.
    """

    def __init__(
        self, *, processes: int = 1, num_iterations: int = 1, tell: Callable[[str], None] | None = None
    ) -> None:
        self.processes, self.num_iterations, self.tell = processes, num_iterations, tell or logger.warning
        self.signal: int | None = None
        self._step = -1

    @contextmanager
    def listening(self, checkpoints: Path) -> Iterator[None]:
        """Take signals while the trainer runs.

        Raises:
            RunStopped: A signal ended the training; says where it stands and how to go on.
        """
        before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            before = {number: signal.signal(number, self._heard) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if self.signal is not None and self._step >= 0:
            raise RunStopped(
                f"Stopped by {signal.Signals(self.signal).name} after step {self._step}; "
                f"{checkpoints / f'checkpoint-{self._step}'} is saved. The same command continues the run.",
                exit_code=128 + self.signal,
            )

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Ask for a checkpoint and the end."""
        self._stop(state, control)

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Likewise for a signal that came during an evaluation: the step's checkpoint is still to be written."""
        if state.global_step and state.global_step < state.max_steps:
            self._stop(state, control)

    def _stop(self, state: TrainerState, control: TrainerControl) -> None:
        self.signal = self._agreed()
        if self.signal is None or state.global_step % self.num_iterations or state.global_step >= state.max_steps:
            return
        self._step = state.global_step
        control.should_save = control.should_training_stop = True

    def _agreed(self) -> int | None:
        """Return the signal that any of the processes heard."""
        if self.processes == 1:
            return self.signal
        heard = [number for number in gather_object([self.signal]) if number is not None]
        return heard[0] if heard else None

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.signal == number:
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
        self.signal = number
        name = signal.Signals(number).name
        self.tell(f"{name}: finishing this step and saving a checkpoint. Once more stops at once.")
