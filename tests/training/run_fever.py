"""Runs a recipe on the reference source; kills itself without warning after a given step, or while saving at it."""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from fever import plain_source

from healthgym.training.loading import load_config
from healthgym.training.processes import join_processes
from healthgym.training.run import train


def main(recipe: str, run_dir: str, kill_at: str, while_saving: str = "") -> None:
    save = torch.save

    def dying(value: Any, target: Any, *args: Any, **kwargs: Any) -> None:
        if f"checkpoint-{kill_at}" in str(target) and str(target).endswith("healthgym.pt"):
            Path(target).write_bytes(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
        save(value, target, *args, **kwargs)

    def on_step(step: int, row: Mapping[str, float]) -> None:
        if step == int(kill_at) and not while_saving:
            os.kill(os.getpid(), signal.SIGKILL)

    if while_saving:
        torch.save = dying  # type: ignore[assignment]
    train(load_config(recipe), run_dir=Path(run_dir), make_source=plain_source, on_step=on_step)
    join_processes().destroy_process_group()  # gloo aborts a process whose peer has gone


main(*sys.argv[1:])
