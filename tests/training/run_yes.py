"""Trains the tiny model on the yes environment, on as many processes as it was launched with, and writes its log."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from accelerate import PartialState
from test_episode_trainer import build, settings
from tiny import YesEnvironment

from healthgym.rollout import Trajectory
from healthgym.training.rows import EpisodeRow


class SeededByAttempt(YesEnvironment):
    """Samples each attempt from its own place in the whole batch, so that the split over processes changes nothing."""

    def __call__(self, rows: Sequence[EpisodeRow], step: int) -> list[Trajectory | None]:
        first = PartialState().process_index * len(rows)
        return [
            self.play(row, torch.Generator().manual_seed(1000 * step + first + place)) for place, row in enumerate(rows)
        ]


def main(folder: str) -> None:
    processes = PartialState(cpu=True)
    config = settings(4, optim={"learning_rate": 1e-3, "micro_batch": 8 // processes.num_processes})
    trainer, log = build(Path(folder), config)
    trainer.collect = SeededByAttempt(trainer.processing_class, trainer.model)
    trainer.train()
    if processes.is_main_process:
        (Path(folder) / "log.json").write_text(json.dumps(log.rows))
    processes.wait_for_everyone()
    processes.destroy_process_group()  # gloo aborts a process whose peer has gone


main(sys.argv[1])
