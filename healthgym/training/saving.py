"""What happens when a model or checkpoint cannot be written: the reason in words, and nothing half-written left."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from healthgym.errors import ConfigError, HealthgymError
from healthgym.training.checkpoints import checkpoints
from healthgym.training.shards import piece


class SaveError(HealthgymError):
    """A model or checkpoint that could not be written."""


@contextmanager
def whole_or_nothing(aside: Path, what: str, kept: Path | None = None) -> Iterator[None]:
    """Remove what was written to `aside` when writing it fails.

    Args:
        aside: Folder in which something is written before it gets its name.
        what: What is being written, for the message.
        kept: Folder of earlier checkpoints, named in the message.

    Raises:
        SaveError: Writing failed.
    """
    try:
        yield
    except (OSError, SafetensorError, RuntimeError) as error:
        # torch's writer hides the system's error behind a RuntimeError of its own; others are no matter of saving.
        if isinstance(error, RuntimeError) and not _is_of_writing(error):
            raise
        free = shutil.disk_usage(_existing(aside)).free / 2**20
        shutil.rmtree(aside, ignore_errors=True)
        earlier = [path.name for path in checkpoints(kept)] if kept is not None else []
        whole = f" Whole are {', '.join(earlier)}: the same command continues from the last." if earlier else ""
        raise SaveError(
            f"{what} could not be written to {aside.parent}: {str(error).splitlines()[0]} ({free:,.0f} MiB were free). "
            f"Free space there, or lower checkpoint.keep.{whole}"
        ) from error


def check_finite(model: Any, what: str) -> None:
    """Refuse to save weights that are not finite numbers; of a sharded model, this process's share of them.

    Raises:
        ConfigError: Names the first such weight.
    """
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and not bool(torch.isfinite(piece(parameter)).all()):
            raise ConfigError(
                f"{what} was not saved: {name} holds NaN or infinity. Resume from the checkpoint before, with a smaller "
                "optim.learning_rate."
            )


def _is_of_writing(error: RuntimeError) -> bool:
    text = str(error)
    return any(words in text for words in ("PytorchStreamWriter", "inline_container", "No space left", "iostream"))


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
