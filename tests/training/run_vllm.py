"""Runs a recipe with its own engine on as many processes as it was launched with; kills a process after a given step."""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from accelerate import PartialState

from healthgym.training.loading import load_config
from healthgym.training.run import train


def main(recipe: str, run_dir: str, kill_at: str, pid_file: str) -> None:
    def on_step(step: int, row: Mapping[str, float]) -> None:
        if step == int(kill_at) and PartialState().is_main_process:
            os.kill(int(Path(pid_file).read_text()), signal.SIGKILL)

    train(load_config(recipe), run_dir=Path(run_dir), on_step=on_step)
    PartialState().destroy_process_group()  # gloo aborts a process whose peer has gone


main(*sys.argv[1:])
