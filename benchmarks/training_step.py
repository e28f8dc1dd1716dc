"""What TT-OPD costs on top of GRPO: CPU time of a step, memory of a LoRA teacher and of the divergence, time to the first update.

    python benchmarks/training_step.py
    python benchmarks/training_step.py --model runs/models/SmolLM2-135M-Instruct --tasks 1 --rounds 1

Both trainers take the same episodes, one after the other in this process. The update is measured on the oracle's episodes,
whose tokens are made beforehand; sampling is measured apart, once, since both methods sample alike.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import torch
from transformers import TrainerCallback

from healthgym.rollout import Trajectory
from healthgym.tasks import load_suite
from healthgym.training.arguments import rows_needed, trl_arguments
from healthgym.training.assembly import make_distill
from healthgym.training.config import RunConfig
from healthgym.training.corpus import tokenizer_texts
from healthgym.training.loading import make_config
from healthgym.training.models import load_model
from healthgym.training.policy_source import source_from
from healthgym.training.rows import plan_rows
from healthgym.training.run import run_tasks
from healthgym.training.trainer import EpisodeTrainer

TARGETS = {
    "step_ratio": "<= 1.35", "step_ratio_with_looks": "<= 1.35", "lora_teacher_memory_share": "<= 0.10", "divergence_peak_share": "<= 0.125",
}  # fmt: skip
STEPS, SKIPPED = 7, 2
"""Steps of one round, and how many of its first are not counted."""

DIVERGENCE = """
import sys, torch
from pathlib import Path
from healthgym.training.divergence import chunked_divergence, topk_divergence

def kib(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])

torch.manual_seed(0)
positions, vocabulary, width = 256, 248_000, 16
hidden, weight = torch.randn(positions, width, requires_grad=True), torch.randn(vocabulary, width, requires_grad=True)
teacher, teacher_weight = torch.randn(positions, width), torch.randn(vocabulary, width)
(hidden.sum() + weight.sum()).backward()

def naive(rows):
    logps = (hidden[:rows] @ weight.T).log_softmax(-1)
    with torch.no_grad():
        teacher_logps = (teacher[:rows] @ teacher_weight.T).log_softmax(-1)
    topk_divergence(logps, teacher_logps, k=64).mean().backward()

def chunked(rows):
    chunked_divergence(
        hidden[:rows], weight, teacher[:rows], teacher_weight,
        divergence=lambda a, b: topk_divergence(a, b, k=64), chunk_size=8,
    ).mean().backward()

form = {"naive": naive, "chunked": chunked}[sys.argv[1]]
form(4)
Path("/proc/self/clear_refs").write_text("5")
before = kib("VmRSS")
form(positions)
print(kib("VmHWM") - before)
"""


class Clock(TrainerCallback):
    """CPU seconds of each optimiser step."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.began = 0.0

    def on_step_begin(self, *arguments: Any, **unused: Any) -> None:
        self.began = time.process_time()

    def on_step_end(self, *arguments: Any, **unused: Any) -> None:
        self.seconds.append(time.process_time() - self.began)


def config_of(arguments: argparse.Namespace, preset: str, *, looks: bool = False) -> RunConfig:
    """Return the run of one method, equal to the other's but for the preset.

    With `looks` every step measures both gradient norms and reads a wrong hint, as every tenth does by default.
    """
    tiny = {"layers": 2, "hidden_size": 128, "intermediate_size": 384, "vocab_size": 2048, "max_positions": 2048}
    lora = {"rank": 16} if arguments.model else None
    values: dict[str, Any] = {
        "preset": preset,
        "model": {"path": arguments.model, "lora": lora} if arguments.model else {"tiny": tiny},
        "env": {"domains": ["triage_emergency"], "families": ["vital_sign_triage"], "prompt_profile": "bare"},
        "rollout": {"max_tokens_per_turn": 32, "max_completion_tokens": 480, "max_context": 1024},
        "optim": {"steps": STEPS, "tasks_per_step": arguments.tasks, "num_generations": 4, "micro_batch": 4},
    }
    if preset == "tt_opd":
        values |= {"teacher": {"update_every": 1}, "turns": {"start": 8}, "hint": {"probe_tasks": 0}}
        values |= {
            "guard": {"grad_norm_every": int(looks), "leakage_every": int(looks)},
            "lambda": {"shape": "constant", "start": 0.3},
        }
    return make_config(values)


def loaded(config: RunConfig) -> tuple[Any, Any, Any, list[str]]:
    """Return model, tokenizer, suite and task ids of a run."""
    suite = load_suite(*config.env.domains)
    task_ids = run_tasks(config, suite)
    texts = lambda: tokenizer_texts(config, suite, task_ids)  # noqa: E731
    return *load_model(config.model, texts, seed=0), suite, task_ids


def update_seconds(config: RunConfig, folder: Path) -> list[float]:
    """Return the CPU seconds of a round's later steps, on episodes that are at hand."""
    model, tokenizer, suite, task_ids = loaded(config)
    source = source_from()(config, model, tokenizer, suite)
    rows = plan_rows(task_ids, rows_needed(config), seed=0)
    every = [row for row in rows for _ in range(config.optim.num_generations)]
    plans = [(row.task_id, [tuple(turn) for turn in suite.task(row.task_id).turns_of_solution()]) for row in every]
    episodes = iter(source.scripted(plans))

    def collect(wanted: Any, step: int) -> list[Trajectory | None]:
        return [next(episodes) for _ in wanted]

    clock = Clock()
    trainer = EpisodeTrainer(
        model=model, args=trl_arguments(config, folder), tokenizer=tokenizer, rows=rows, collect=collect,
        distill=make_distill(config, model, tokenizer, suite), callbacks=[clock],
    )  # fmt: skip
    trainer.train()
    return clock.seconds[SKIPPED:]


def sampling_seconds(config: RunConfig) -> float:
    """Return the CPU seconds of sampling one step's episodes."""
    model, tokenizer, suite, task_ids = loaded(config)
    source = source_from()(config, model, tokenizer, suite)
    rows = plan_rows(task_ids, config.optim.tasks_per_step, seed=0)
    started = time.process_time()
    source.sample([row for row in rows for _ in range(config.optim.num_generations)], seed=0)
    return time.process_time() - started


def step_seconds(arguments: argparse.Namespace) -> dict[str, float]:
    """Return the CPU seconds of each method's step, and TT-OPD's as a multiple of GRPO's with its guards' looks and without."""
    configs = {
        "grpo": config_of(arguments, "grpo"),
        "tt_opd": config_of(arguments, "tt_opd"),
        "looking": config_of(arguments, "tt_opd", looks=True),
    }
    times: dict[str, list[float]] = {name: [] for name in configs}
    sampled = []
    for _ in range(arguments.rounds):
        sampled.append(sampling_seconds(configs["grpo"]))
        for name, config in configs.items():
            with tempfile.TemporaryDirectory() as folder:
                times[name] += update_seconds(config, Path(folder))
    sampling = median(sampled)
    grpo, tt_opd, looking = (median(seconds) for seconds in times.values())
    by_default = 0.9 * tt_opd + 0.1 * looking  # guard.grad_norm_every and guard.leakage_every are 10
    return {
        "sampling_s": sampling, "grpo_update_s": grpo, "tt_opd_update_s": tt_opd, "tt_opd_looking_update_s": looking,
        "update_ratio": tt_opd / grpo,
        "step_ratio": (sampling + tt_opd) / (sampling + grpo),
        "step_ratio_with_looks": (sampling + by_default) / (sampling + grpo),
    }  # fmt: skip


def teacher_share(arguments: argparse.Namespace) -> float:
    """Return a LoRA teacher's bytes as a share of everything GRPO keeps for the same model between steps."""
    config = config_of(arguments, "tt_opd")
    adapted = config.model_copy(
        update={"model": config.model.model_copy(update={"lora": config.model.lora or _lora()})}
    )
    model, tokenizer, suite, _ = loaded(adapted)
    distill = make_distill(adapted, model, tokenizer, suite)
    assert distill is not None
    teacher = sum(weight.nbytes for weight in distill.distillation.teacher.ema.weights.values())
    trained = sum(p.nbytes for p in model.parameters() if p.requires_grad)
    return teacher / (sum(p.nbytes for p in model.parameters()) + 3 * trained)  # gradients and AdamW's two averages


def _lora() -> Any:
    from healthgym.training.config import Lora

    return Lora(rank=4, alpha=8)


def divergence_share() -> float:
    """Return the chunked divergence's peak over a vocabulary of 248,000 as a share of the naive one's."""
    # glibc keeps freed blocks of a few MB for itself; returned at once, the peak is that of live tensors.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    peaks = {}
    for form in ("naive", "chunked"):
        done = subprocess.run(
            [sys.executable, "-c", DIVERGENCE, form], capture_output=True, text=True, check=True, env=environment
        )
        peaks[form] = int(done.stdout)
    return peaks["chunked"] / peaks["naive"]


def first_update_seconds() -> tuple[float, float]:
    """Return wall and CPU seconds from a process's start to the end of its first update."""
    script = (
        "import sys, time, tempfile, pathlib\n"
        "from healthgym.cli.launch import launch\n"
        "from healthgym.training.loading import load_config\n"
        "sets = ['warm_start=null', 'optim.steps=1', 'hint.probe_tasks=0', 'optim.tasks_per_step=2', "
        "'teacher.update_every=1']\n"
        "config = load_config(sys.argv[1], sets)\n"
        "launch(config, pathlib.Path(tempfile.mkdtemp()), on_step=lambda s, r: print(time.process_time()))\n"
    )
    recipe = Path(__file__).parents[1] / "recipes" / "quickstart" / "tt_opd.yaml"
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", script, str(recipe)], capture_output=True, text=True, check=True)
    return time.perf_counter() - started, float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="folder of a model, trained with LoRA; a tiny one from scratch when absent")
    parser.add_argument("--tasks", type=int, default=4, help="tasks a step, four attempts at each")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("step", "memory", "divergence", "launch"), help="measure one thing alone")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    result: dict[str, float] = {}
    if arguments.only in (None, "step"):
        result |= step_seconds(arguments)
    if arguments.only in (None, "memory"):
        result["lora_teacher_memory_share"] = teacher_share(arguments)
    if arguments.only in (None, "divergence"):
        result["divergence_peak_share"] = divergence_share()
    if arguments.only in (None, "launch"):
        result["first_update_wall_s"], result["first_update_cpu_s"] = first_update_seconds()
    for name, value in result.items():
        print(f"{name:28} {value:12.4f}   {'target ' + TARGETS[name] if name in TARGETS else ''}".rstrip())
    print(json.dumps({name: round(value, 4) for name, value in result.items()}))


if __name__ == "__main__":
    main()
