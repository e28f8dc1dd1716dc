"""Runs the experiment: every setting, arm and seed that `experiment.yaml` names, each once, in any number of sittings.

A finished run is one small file under `results/`; the same command goes on with the runs that have none.
"""

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from design import FILE, Design, Run, config_digest

from healthgym.cli.launch import launch, make_policy, measure
from healthgym.diagnostics import verdict
from healthgym.errors import HealthgymError
from healthgym.files import write_whole
from healthgym.tasks import load_suite
from healthgym.training.models import load_saved
from healthgym.training.policy_source import source_from
from healthgym.training.run import prepare

FOLDER = Path(__file__).parent
CURVE = {
    "episode/success": "success",
    "reward": "reward",
    "completions/mean_length": "tokens",
    "episode/turns": "turns",
    "episode/tool_calls": "tool_calls",
    "episode/single_turn_share": "single_turn_share",
    "completions/clipped_ratio": "clip_share",
    "episode/dead_group_share": "dead_group_share",
    "episode/hazards": "hazards",
    "episode/degenerate": "degenerate",
    "tt_opd/kl": "kl",
    "tt_opd/kl_correct": "kl_correct",
    "tt_opd/kl_wrong": "kl_wrong",
    "tt_opd/lambda": "lambda",
    "tt_opd/teacher_distance": "teacher_distance",
    "tt_opd/grad_norm_policy": "grad_norm_policy",
    "tt_opd/grad_norm_distillation": "grad_norm_distillation",
    "eval/success": "eval_success",
    "cpu_seconds": "cpu_seconds",
}
"""What of a step's metrics is kept, and its short name."""


def main() -> int:
    """Run what is left, `--jobs` runs at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--design", type=Path, default=FILE)
    parser.add_argument("--setting")
    parser.add_argument("--arm")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, a process and a thread each")
    parser.add_argument("--runs", type=Path, default=Path("runs/ablation"), help="folder of the runs themselves")
    parser.add_argument("--results", type=Path, default=FOLDER / "results")
    parser.add_argument("--list", action="store_true", help="say what is left and stop")
    parser.add_argument("--one", action="store_true", help="make the first run in this process")
    parser.add_argument("--start", action="store_true", help="make the start of the first run and stop")
    arguments = parser.parse_args()
    design = Design(arguments.design)
    try:
        runs = design.runs(arguments.setting, arguments.arm, arguments.seed)
        if arguments.start:
            shared_start(design, runs[0], arguments.runs)
            return 0
        if arguments.one:
            run_one(design, runs[0], arguments.runs, arguments.results)
            return 0
        left = [run for run in runs if not result_file(arguments.results, run).is_file()]
        print(f"{len(runs) - len(left)} of {len(runs)} runs are done", file=sys.stderr)
        if arguments.list:
            print("\n".join(run.name for run in left))
            return 0
        return run_all(design, left, arguments)
    except HealthgymError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2


def run_all(design: Design, left: Sequence[Run], arguments: argparse.Namespace) -> int:
    """Work through the runs, `jobs` at a time; return 1 if any failed."""

    def work(piece: tuple[Run, bool]) -> int:
        run, is_start = piece
        what = f"start of {run.name}" if is_start else run.name
        log = arguments.runs / f"{run.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, __file__, "--start" if is_start else "--one", "--design", str(arguments.design)]
        command += ["--setting", run.setting, "--arm", run.arm, "--seed", str(run.seed)]
        command += ["--runs", str(arguments.runs), "--results", str(arguments.results)]
        say(f"{what} begins")
        with log.open("a") as stream:
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            code = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, env=environment).returncode
        say(f"{what} {f'failed with exit code {code}: see {log}' if code else 'is done'}")
        return code

    with ThreadPoolExecutor(arguments.jobs) as pool:
        return int(any(pool.map(work, in_order(design, left, arguments))))


def in_order(design: Design, left: Sequence[Run], arguments: argparse.Namespace) -> list[tuple[Run, bool]]:
    """Return runs and the starts they need (True), each start `jobs` groups of runs ahead, so that none is waited for."""
    groups: dict[str, list[Run]] = {}
    for run in left:
        groups.setdefault(design.start_of(run), []).append(run)
    missing = [None if (arguments.runs / "starts" / name).is_dir() else runs[0] for name, runs in groups.items()]
    ahead = [(run, True) for run in missing[: arguments.jobs] if run is not None]
    for place, runs in enumerate(groups.values()):
        ahead += [(run, True) for run in missing[place + arguments.jobs :][:1] if run is not None]
        ahead += [(run, False) for run in runs]
    return ahead


def say(line: str) -> None:
    """Print a line with the time of day."""
    print(time.strftime("%H:%M:%S"), line, file=sys.stderr, flush=True)


def run_one(design: Design, run: Run, folder: Path, results: Path) -> None:
    """Train one run from its shared start, measure it, and write its result."""
    import torch

    torch.set_num_threads(1)
    config, home = design.config(run), folder / run.name
    start = shared_start(design, run, folder)
    shutil.rmtree(home, ignore_errors=True)  # a run cut short begins anew: the time of its steps would be lost
    shutil.copytree(start, home / "start")
    curve: list[dict[str, float]] = []
    clock = [time.process_time()]

    def on_step(step: int, row: Mapping[str, float]) -> None:
        now = time.process_time()
        curve.append(thinned(step, {**row, "cpu_seconds": now - clock[0]}))
        clock[0] = time.process_time()
        print(json.dumps(curve[-1]), flush=True)

    result = launch(config, home, on_step=on_step)
    record: dict[str, Any] = {
        "setting": run.setting, "arm": run.arm, "seed": run.seed, "config": config_digest(config),
        "steps": result.steps, "findings": result.findings, "verdict": judged(home),
        "hint_probe": read_json(home / "hint_probe.json"), "curve": curve,
        "start": read_json(start / "measured.json"), **measured(design, run, result.model, result.tokenizer),
    }  # fmt: skip
    file = result_file(results, run)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps(record, separators=(",", ":")) + "\n")
    shutil.rmtree(home)


def shared_start(design: Design, run: Run, folder: Path) -> Path:
    """Return the warm-started model of a run, made the first time it is needed, and measured."""
    import torch

    torch.set_num_threads(1)
    target = folder / "starts" / design.start_of(run)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be making it
        if not target.is_dir():
            config, aside = design.start_config(run), target.with_suffix(".making")
            made = prepare(config, aside, source_from(make_policy))
            rows = measured(design, run, *load_saved(made, config.model))
            (made / "measured.json").write_text(json.dumps(rows), encoding="utf-8")
            made.replace(target)
            shutil.rmtree(aside)
    return target


def measured(design: Design, run: Run, model: Any, tokenizer: Any) -> dict[str, dict[str, Any]]:
    """Return the held-out figures of a model by name of the task set.

    `test` and `test_ood` are the splits, whose wording no train task has; `fresh` are train-like tasks past those practised:
    new patients in familiar words.
    """
    config, rows = design.config(run), {}
    for name, count in design.measured(run.setting).items():
        practised = config.env.per_family.get("train", 0)
        split, sizes = ("train", {"train": practised + count}) if name == "fresh" else (name, {name: count})
        suite = load_suite(*config.env.domains, per_family=sizes)
        ids = [
            task_id
            for domain in suite.domains
            for task_id in suite.ids(domain, split, config.env.families)
            if name != "fresh" or int(task_id.rsplit("/", 1)[1]) >= practised
        ]
        rows[name] = summary(measure(config, model, tokenizer, suite, ids, None))
    return rows


def summary(result: Any) -> dict[str, Any]:
    """Return what is kept of an evaluation: rates, means, counts, and each task's success as a string of 0 and 1."""
    record = result.to_dict()
    kept = {
        name: record[name]
        for name in (
            "n",
            "success",
            "ci",
            "mean_reward",
            "mean_tokens",
            "mean_turns",
            "mean_tool_calls",
            "hazards",
            "counts",
        )
    }
    kept["by_family"] = {name: row["success"] for name, row in result.by_family.items()}
    kept["tasks"] = result.hashes["tasks"]
    kept["wins"] = "".join("1" if row["success"] else "0" for row in result.rows)
    return rounded(kept)


def judged(home: Path) -> dict[str, Any]:
    """Return the verdict on a run: one word, and each finding's name with the word it stands for."""
    found = verdict(home)
    return {"status": found.status, "findings": {finding.name: finding.severity for finding in found.findings}}


def thinned(step: int, row: Mapping[str, Any]) -> dict[str, float]:
    """Return the kept metrics of one step under their short names."""
    return {"step": step, **{short: rounded(float(row[name])) for name, short in CURVE.items() if name in row}}


def rounded(value: Any) -> Any:
    """Return JSON-like data with floats cut to five significant digits."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, Mapping):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return value


def result_file(results: Path, run: Run) -> Path:
    """Return where the result of a run lies."""
    return results / f"{run.name}.json"


def read_json(file: Path) -> Any:
    """Return the content of a JSON file, or None when there is no such file."""
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


if __name__ == "__main__":
    sys.exit(main())
