"""Metrics to tensorboard, trackio or wandb, through transformers' own integrations."""

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.integrations import get_reporting_integration_callbacks

from healthgym.errors import MissingDependency
from healthgym.training.config import RunConfig
from healthgym.training.loading import dump_config

FOLDER = "tensorboard"


def check_reporters(config: RunConfig) -> None:
    """Refuse reporters whose package is not installed.

    Raises:
        MissingDependency: Names the package.
    """
    for name in config.log.report_to:
        if not _is_installed(name):
            raise MissingDependency(
                f"log.report_to: {name} needs the package {name}, which is not installed. Install it with: pip install "
                f"{name} (or all of them: pip install 'healthgym[log]'), or set log.report_to: none."
            )


def reporters(config: RunConfig, run_dir: Path) -> list[TrainerCallback]:
    """Return the callbacks that `log.report_to` asks for, to be added after whatever completes a step's row.

    tensorboard writes into RUN_DIR/tensorboard. trackio and wandb are given `log.run_name` (the folder's name when
    null) and `log.project`.
    """
    made = [kind() for kind in get_reporting_integration_callbacks(list(config.log.report_to))]
    for callback in made:
        if hasattr(callback, "tb_writer"):
            callback.logging_dir = str(run_dir / FOLDER)
        if hasattr(callback, "_wandb") and callback._wandb.run is None:  # transformers has no argument for the project
            callback._wandb.init(project=config.log.project, name=run_name(config, run_dir), dir=str(run_dir))
    return [*made, LogConfig(config, made)] if made else []


def run_name(config: RunConfig, run_dir: Path) -> str:
    """Return the name under which a run is shown."""
    return config.log.run_name or run_dir.resolve().name


class LogConfig(TrainerCallback):
    """Sends the run's resolved config to the reporters, beside the arguments that transformers sends."""

    def __init__(self, config: RunConfig, callbacks: Sequence[TrainerCallback]) -> None:
        self.config, self.callbacks = config, callbacks

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Send it once the reporters have begun."""
        if not state.is_world_process_zero:
            return
        values: Mapping[str, Any] = {"healthgym": self.config.model_dump(by_alias=True, mode="json")}
        for callback in self.callbacks:
            writer = getattr(callback, "tb_writer", None)
            if writer is not None:
                writer.add_text("healthgym", f"```yaml\n{dump_config(self.config)}```")
            for name in ("_wandb", "_trackio"):
                package = getattr(callback, name, None)
                if package is not None:
                    package.config.update(values, allow_val_change=True)


def _is_installed(name: str) -> bool:
    names = ("tensorboard", "tensorboardX") if name == "tensorboard" else (name,)
    return any(importlib.util.find_spec(one) is not None for one in names)
