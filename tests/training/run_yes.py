"""Trains the tiny model on the yes environment, once for each scenario, on as many processes as it was launched with.

A scenario is a folder's name and options, joined by commas: `fsdp` shards the model, `lora` trains adapters, `resume`
continues from the folder's last checkpoint, `measure` measures both gradient norms, `balance` holds the term's to the
policy's by them, `sign` lets the reward give the sign, `lose` loses the last two episodes of each step, `ctrl_c` sends the last
process a signal in the second step, `dead` ends the run after two steps whatever its groups are like, `pieces` takes a step in
micro-batches of two episodes, `recompute` keeps no activations, `k3` compares at the sampled tokens alone, `nan` makes
the last process's second gradient no number, of a loss that is one.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from test_episode_trainer import build, settings
from tiny import YesEnvironment, make_model, make_tokenizer

from healthgym.errors import RunStopped
from healthgym.rollout import Trajectory
from healthgym.training.checkpoints import latest_checkpoint
from healthgym.training.dead_groups import DeadGroups
from healthgym.training.gradients import GradientBalance
from healthgym.training.processes import join_processes, sharding
from healthgym.training.replica import Replica
from healthgym.training.rows import EpisodeRow
from healthgym.training.shards import is_sharded, piece
from healthgym.training.stopping import StopOnSignal


class SeededByAttempt(YesEnvironment):
    """Samples each attempt from its own place in the whole batch, so that the split over processes changes nothing."""

    replica: Replica | None = None
    lost: tuple[int, ...] = ()
    signals_at: int | None = None

    def __call__(self, rows: Sequence[EpisodeRow], step: int) -> list[Trajectory | None]:
        if self.replica is not None:
            self.replica.refresh()
        processes = join_processes()
        if step == self.signals_at and processes.is_last_process:
            os.kill(os.getpid(), signal.SIGINT)
        first = processes.process_index * len(rows)
        return [
            None
            if first + place in self.lost
            else self.play(row, torch.Generator().manual_seed(1000 * step + first + place))
            for place, row in enumerate(rows)
        ]


def with_nan_gradient(trainer: Any, compute: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Add to the second step's loss a 0 whose derivative is no number: that of sqrt |x| at 0."""

    def computed(*arguments: Any) -> torch.Tensor:
        loss = compute(*arguments)
        return loss + (loss - loss.detach()).abs().sqrt() if trainer.state.global_step == 1 else loss

    return computed


def run(folder: Path, options: Sequence[str]) -> None:
    os.environ["ACCELERATE_USE_FSDP"] = str("fsdp" in options).lower()
    processes = join_processes()
    micro_batch = 2 if "pieces" in options else 8 // processes.num_processes
    optim = {"learning_rate": 1e-3, "micro_batch": micro_batch, "loss_type": "grpo"}
    optim["gradient_checkpointing"] = "recompute" in options
    measures = int(bool({"measure", "balance"} & set(options)))
    config = settings(
        4, optim=optim, checkpoint={"every": 2, "keep": 9}, guard={"grad_norm_every": measures},
        divergence={"kind": "k3" if "k3" in options else "topk"},
    )  # fmt: skip
    model = make_model(make_tokenizer(), lora="lora" in options)
    replica = Replica(model, device=processes.device, dtype=torch.float32) if sharding() != "none" else None
    trainer, log = build(folder, config, model=model)
    trainer.collect = SeededByAttempt(trainer.processing_class, model if replica is None else replica.model)
    trainer.collect.replica = replica
    trainer.collect.lost = (6, 7) if "lose" in options else ()
    if "ctrl_c" in options:
        trainer.collect.signals_at = 1
    if "dead" in options:
        trainer.dead_groups, trainer.stops_when_dead = DeadGroups(share=0.0, steps=2), True
    stop = StopOnSignal(processes=processes.num_processes)
    trainer.add_callback(stop)
    if "balance" in options:
        trainer.distill.balance = GradientBalance(0.02)
    if "nan" in options and processes.is_last_process:
        trainer._compute_loss = with_nan_gradient(trainer, trainer._compute_loss)
    if "sign" in options:
        trainer.distill.sign_clip = 0.9
    teacher = trainer.distill.distillation.teacher
    begun: dict[str, Any] = {}
    trainer.at_start.append(lambda: begun.update(teacher.state_dict()))
    found = latest_checkpoint(folder) if "resume" in options else None
    told = ""
    try:
        with stop.listening(folder):
            trainer.train(resume_from_checkpoint=None if found is None else str(found))
    except RunStopped as stopped:
        told = str(stopped)
    (folder / f"told-{processes.process_index}.txt").write_text(told)
    held = sum(piece(parameter).numel() for parameter in trainer.model.parameters())
    averaged = sum(weight.numel() for weight in teacher.ema.weights.values())
    if processes.is_main_process:
        facts = {"rows": log.rows, "sharded": is_sharded(trainer.model), "held": held, "averaged": averaged}
        (folder / "log.json").write_text(json.dumps(facts))
        torch.save(begun, folder / "begun.pt")
    processes.wait_for_everyone()


def main(root: str, *scenarios: str) -> None:
    for scenario in scenarios:
        name, *options = scenario.split(",")
        run(Path(root) / name, options)
    join_processes().destroy_process_group()  # gloo aborts a process whose peer has gone


if __name__ == "__main__":
    main(*sys.argv[1:])
