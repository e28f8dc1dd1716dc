"""Checkpoints that are whole or not there: written aside, then renamed."""

import shutil
from collections.abc import Collection
from pathlib import Path

_NAME = "checkpoint-"
_ASIDE = ".writing"
_DISCARDED = ".discarded-"


def working_folder(root: Path) -> Path:
    """Return the folder beside the checkpoints in which one is written."""
    return root / _ASIDE


def publish(root: Path, name: str) -> Path:
    """Move a finished checkpoint from the working folder to its name, replacing an older one of that name."""
    target = root / name
    if target.exists():
        _discard(target)
    (working_folder(root) / name).replace(target)
    shutil.rmtree(working_folder(root), ignore_errors=True)
    return target


def checkpoints(root: Path) -> list[Path]:
    """Return the whole checkpoints under `root`, oldest first."""
    found = [path for path in root.glob(f"{_NAME}*") if path.is_dir() and step_of(path) is not None]
    return sorted(found, key=lambda path: step_of(path) or 0)


def latest_checkpoint(root: Path) -> Path | None:
    """Return the newest whole checkpoint, after removing what a kill left half written."""
    for left in (working_folder(root), *root.glob(f"{_DISCARDED}*")):
        shutil.rmtree(left, ignore_errors=True)
    found = checkpoints(root)
    return found[-1] if found else None


def rotate(root: Path, keep: int, spared: Collection[int] = ()) -> None:
    """Delete all but the newest `keep` checkpoints and those of the steps `spared`."""
    for path in checkpoints(root)[:-keep]:
        if step_of(path) not in spared:
            _discard(path)


def step_of(path: Path) -> int | None:
    """Return the optimiser steps done at a checkpoint, or None for another folder."""
    number = path.name.removeprefix(_NAME)
    return int(number) if path.name.startswith(_NAME) and number.isdigit() else None


def _discard(path: Path) -> None:
    """Delete a checkpoint that is never seen half deleted."""
    aside = path.with_name(f"{_DISCARDED}{path.name}")
    shutil.rmtree(aside, ignore_errors=True)
    path.replace(aside)
    shutil.rmtree(aside)
