"""Multiple choice by log-likelihood against lm-evaluation-harness: rows a CPU second, and the same prediction for every row.

Both sides get the same model object settings, rows, prompts and one thread, each in a process of its own. Times are CPU
seconds of scoring alone: tokenising and running the model, without loading it.

Run it where healthgym and lm_eval are both installed:

    python benchmarks/mc_speed.py --model DIR --data DIR --rows 200
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FILES = {"medqa": "medqa_us_test.jsonl.gz", "medmcqa": "medmcqa_dev.jsonl.gz"}
TASK = {
    "output_type": "multiple_choice",
    "test_split": "test",
    "doc_to_text": "{{prompt}}",
    "doc_to_target": "{{gold}}",
}


def questions(data: Path, name: str, rows: int) -> tuple[Any, list[Any]]:
    """Return a benchmark and its first rows."""
    from healthgym.evaluation.benchmark import Source
    from healthgym.evaluation.benchmarks import load_benchmark

    benchmark = load_benchmark(name, Source(path=data / FILES[name]))
    return benchmark, list(benchmark.items()[:rows])


def run_healthgym(arguments: argparse.Namespace) -> dict[str, Any]:
    """Score the rows with healthgym and return predictions and CPU seconds by benchmark."""
    from healthgym.evaluation.benchmark import Settings
    from healthgym.evaluation.items import attempts_at
    from healthgym.evaluation.transformers_candidate import open_transformers

    candidate = open_transformers(arguments.model, dtype="float32", device="cpu")
    found = {}
    for name in FILES:
        benchmark, items = questions(arguments.data, name, arguments.rows)
        kept: list[Any] = []
        kind = "label" if arguments.reading == "letter" else "text"
        settings = Settings(mode="text", options={"option_text": arguments.reading == "text"})
        started = time.process_time()
        benchmark.measure(attempts_at(items, 1), candidate, settings, None, lambda row, _=None, to=kept: to.append(row))
        seconds = time.process_time() - started
        details = {row.id: row.detail for row in kept}
        found[name] = {
            "seconds": seconds,
            "predictions": [details[item.id]["likeliest"][kind] for item in items],
            "logps": [list(details[item.id]["logps"][kind].values()) for item in items],
        }
    return found


def run_lm_eval(arguments: argparse.Namespace) -> dict[str, Any]:
    """Score the rows with lm-evaluation-harness, through local tasks with the same prompts."""
    import torch
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32)
    lm = HFLM(
        pretrained=model, tokenizer=AutoTokenizer.from_pretrained(arguments.model), device="cpu",
        batch_size=arguments.lm_eval_batch,
    )  # fmt: skip
    spent = [0.0]
    score = lm.loglikelihood

    def timed(requests: Any, **words: Any) -> Any:
        started = time.process_time()
        try:
            return score(requests, **words)
        finally:
            spent[0] += time.process_time() - started

    lm.loglikelihood = timed
    found = {}
    for name in FILES:
        benchmark, items = questions(arguments.data, name, arguments.rows)
        with tempfile.TemporaryDirectory() as folder:
            write_task(Path(folder), name, benchmark, items, arguments.reading)
            spent[0] = 0.0
            task = f"local_{name}"
            result = simple_evaluate(
                model=lm, tasks=[task], task_manager=TaskManager(include_path=folder, include_defaults=False),
                bootstrap_iters=0, log_samples=True,
            )  # fmt: skip
        samples = sorted(result["samples"][task], key=lambda one: one["doc_id"])
        logps = [[float(pair[0]) for pair in one["filtered_resps"]] for one in samples]
        labels = [list(item.content["options"]) for item in items]
        found[name] = {
            "seconds": spent[0],
            "predictions": [
                names[max(range(len(row)), key=row.__getitem__)] for names, row in zip(labels, logps, strict=True)
            ],
            "logps": logps,
        }
    return found


def write_task(folder: Path, name: str, benchmark: Any, items: list[Any], reading: str) -> None:
    """Write the rows and a task that puts them as healthgym does."""
    lines = []
    for item in items:
        options = item.content["options"]
        choices = list(options) if reading == "letter" else list(options.values())
        gold = list(options).index(item.content["answer"])
        lines.append(json.dumps({"prompt": benchmark.prompt(item.content, True), "choices": choices, "gold": gold}))
    (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    task = {
        "task": f"local_{name}", "dataset_path": "json", "doc_to_choice": "{{choices}}", **TASK,
        "dataset_kwargs": {"data_files": {"test": str(folder / f"{name}.jsonl")}},
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    }  # fmt: skip
    (folder / f"{name}.yaml").write_text(json.dumps(task), encoding="utf-8")


def main() -> None:
    """Run both sides and print how they compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", type=Path, required=True, help="folder of the packs")
    parser.add_argument("--rows", type=int, default=200, help="of each benchmark")
    parser.add_argument("--reading", choices=("letter", "text"), default="letter")
    parser.add_argument("--lm-eval-batch", type=int, default=8)
    parser.add_argument("--side", choices=("healthgym", "lm_eval"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        import torch

        torch.set_num_threads(1)
        found = run_healthgym(arguments) if arguments.side == "healthgym" else run_lm_eval(arguments)
        print("\n" + json.dumps(found))
        return
    sides = {}
    for side in ("healthgym", "lm_eval"):
        command = [sys.executable, __file__, *sys.argv[1:], "--side", side]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
        sides[side] = json.loads(done.stdout.splitlines()[-1])
    for name in FILES:
        ours, theirs = sides["healthgym"][name], sides["lm_eval"][name]
        n = len(ours["predictions"])
        same = sum(a == b for a, b in zip(ours["predictions"], theirs["predictions"], strict=True))
        gap = max(
            abs(a - b)
            for one, other in zip(ours["logps"], theirs["logps"], strict=True)
            for a, b in zip(one, other, strict=True)
        )
        print(
            f"{name} ({arguments.reading}): {n / ours['seconds']:.2f} rows a CPU second against {n / theirs['seconds']:.2f} "
            f"({theirs['seconds'] / ours['seconds']:.2f} x); same prediction in {same} of {n}; log-probabilities differ by at "
            f"most {gap:.1e}"
        )


if __name__ == "__main__":
    main()
