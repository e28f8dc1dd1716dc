"""Runs a recipe on the reference source; kills itself without warning after a given step."""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from fever import plain_source

from healthgym.training.loading import load_config
from healthgym.training.processes import join_processes
from healthgym.training.run import train


def main(recipe: str, run_dir: str, kill_at: str) -> None:
    def on_step(step: int, row: Mapping[str, float]) -> None:
        if step == int(kill_at):
            os.kill(os.getpid(), signal.SIGKILL)

    train(load_config(recipe), run_dir=Path(run_dir), make_source=plain_source, on_step=on_step)
    join_processes().destroy_process_group()  # gloo aborts a process whose peer has gone


main(*sys.argv[1:])
