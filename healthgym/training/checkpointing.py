"""Checkpoints of the trainer: with our state in them, whole or not there, and the right ones kept."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import torch

from healthgym.training.checkpoints import publish, rotate, working_folder
from healthgym.training.retrying import RetryingTrainer
from healthgym.training.saving import check_finite, whole_or_nothing

OUR_STATE = "healthgym.pt"


class CheckpointingTrainer(RetryingTrainer):
    """Adds to each checkpoint what `state_dict` returns, and hands it to `load_state_dict` when a run is resumed."""

    keep: int
    """Checkpoints kept."""
    spared: Callable[[], Collection[int]]
    """Names the steps whose checkpoints are kept besides."""

    def state_dict(self) -> dict[str, Any]:
        """Return what of ours a resumed run needs besides what TRL and transformers keep; subclasses name theirs."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`; subclasses take up theirs."""

    def _get_output_dir(self, trial: Any) -> str:
        """Where transformers writes a checkpoint before it is published under its name."""
        return str(working_folder(Path(self.args.output_dir)))

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Write a checkpoint aside, add our state, and rename it: a checkpoint with a name is whole.

        Raises:
            SaveError: It could not be written, as on a full disk; earlier ones stay whole.
        """
        root, name = Path(self.args.output_dir), f"checkpoint-{self.state.global_step}"
        check_finite(self.model, name)
        with whole_or_nothing(working_folder(root), name, root):
            super()._save_checkpoint(model, trial)
            state = self.state_dict()  # gathered from all processes
            if self.args.should_save:
                torch.save(state, working_folder(root) / name / OUR_STATE)
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            publish(root, name)
            rotate(root, self.keep, self.spared())
        self.accelerator.wait_for_everyone()

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        model = self.model if model is None else model
        if "ref" in getattr(model, "peft_config", {}) and not self.is_fsdp_enabled:
            # transformers reads adapters from subfolders alone where there are any: the reference's, not the trained ones.
            model.load_adapter(resume_from_checkpoint, "default", is_trainable=True)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            state = torch.load(Path(checkpoint) / OUR_STATE, map_location="cpu", weights_only=True)
            self.load_state_dict(state)
