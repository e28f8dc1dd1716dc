"""Signals end a run with a checkpoint; heard in this process, and by a real command."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fever import fever_folder
from safetensors.torch import load_file
from transformers import TrainerControl, TrainerState

from healthgym.errors import RunStopped
from healthgym.training.checkpoints import checkpoints
from healthgym.training.stopping import StopOnSignal


def state(step: int, last: int = 9) -> TrainerState:
    return TrainerState(global_step=step, max_steps=last)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_after_the_step_and_stops(tmp_path: Path, number: signal.Signals, code: int):
    told: list[str] = []
    stop, control = StopOnSignal(tell=told.append), TrainerControl()
    before = signal.getsignal(number)
    words = r"after step 3; .*checkpoint-3 is saved\. The same command"
    with pytest.raises(RunStopped, match=words) as stopped, stop.listening(tmp_path):
        os.kill(os.getpid(), number)
        stop.on_step_end(None, state(3), control)
        assert control.should_save and control.should_training_stop
    assert stopped.value.exit_code == code and signal.getsignal(number) == before
    assert number.name in told[0]


def test_a_second_signal_stops_at_once(tmp_path: Path):
    stop = StopOnSignal(tell=lambda line: None)
    with pytest.raises(KeyboardInterrupt), stop.listening(tmp_path):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)


def test_a_run_does_not_stop_between_two_passes_over_a_batch(tmp_path: Path):
    stop, control = StopOnSignal(num_iterations=2, tell=lambda line: None), TrainerControl()
    with pytest.raises(RunStopped, match="after step 4"), stop.listening(tmp_path):
        os.kill(os.getpid(), signal.SIGINT)
        stop.on_step_end(None, state(3), control)
        assert not control.should_training_stop
        stop.on_step_end(None, state(4), control)


def test_a_signal_in_the_last_step_changes_nothing(tmp_path: Path):
    stop, control = StopOnSignal(tell=lambda line: None), TrainerControl()
    with stop.listening(tmp_path):
        os.kill(os.getpid(), signal.SIGINT)
        stop.on_step_end(None, state(9), control)
    assert not control.should_training_stop


RECIPE = """
preset: tt_opd
model: {tiny: {layers: 1, hidden_size: 32, intermediate_size: 64, heads: 2, kv_heads: 1, vocab_size: 600}}
env: {domains: [DOMAIN], prompt_profile: bare, tasks: 8}
rollout: {max_tokens_per_turn: 64, max_completion_tokens: 400, trace_every: 0}
optim: {steps: 40, tasks_per_step: 1, num_generations: 2, learning_rate: 1e-3}
teacher: {update_every: 1, ema_decay: 0.9}
hint: {probe_tasks: 0}
checkpoint: {every: 40}
"""
COMMAND = (sys.executable, "-c", "from healthgym.cli.main import main; main()", "train")


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recipe")
    path = folder / "recipe.yaml"
    path.write_text(RECIPE.replace("DOMAIN", fever_folder(folder)))
    return path


@pytest.fixture(scope="module")
def undisturbed(recipe: Path) -> Path:
    """Return the folder of the run that nothing interrupts."""
    subprocess.run([*COMMAND, recipe, "--run-dir", recipe.parent / "whole"], check=True, capture_output=True)
    return recipe.parent / "whole"


def rows_of(run_dir: Path) -> list[dict[str, Any]]:
    file = run_dir / "metrics.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_command_saves_says_how_to_continue_and_goes_on_exactly(
    recipe: Path, undisturbed: Path, tmp_path: Path, number: signal.Signals, code: int
):
    run_dir = tmp_path / "run"
    process = subprocess.Popen(
        [*COMMAND, recipe, "--run-dir", run_dir], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while len(rows_of(run_dir)) < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(number)
    _, told = process.communicate(timeout=600)
    told = " ".join(told.split())  # lines are wrapped
    assert process.returncode == code, told
    assert "finishing this step" in told and "The same command continues the run" in told and "Traceback" not in told
    [saved] = checkpoints(run_dir / "checkpoints")
    assert saved.name == f"checkpoint-{rows_of(run_dir)[-1]['step']}" and not (run_dir / "model").exists()
    again = subprocess.run([*COMMAND, recipe, "--run-dir", run_dir], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert [row["step"] for row in rows_of(run_dir)] == list(range(1, 41))
    expected, got = (load_file(path / "model" / "model.safetensors") for path in (undisturbed, run_dir))
    assert all(bool((tensor == got[name]).all()) for name, tensor in expected.items())


@pytest.mark.slow
def test_ctrl_c_on_a_grid_saves_the_run_at_hand_and_the_same_command_finishes_the_grid(recipe: Path, tmp_path: Path):
    grid, arms = tmp_path / "grid", ("tt_opd", "tt_opd_no_hints")
    command = [*COMMAND, recipe, "--grid", "ablation", "--arms", ",".join(arms), "--run-dir", grid]
    command += ["--set", "optim.steps=12"]
    first, second = (grid / arm / "seed-0" for arm in arms)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(rows_of(second)) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=600)
    told = " ".join(told.split())
    assert process.returncode == 130, told
    assert (
        "The same command continues the run" in told and "1 of 2 runs are finished" in told and "Traceback" not in told
    )
    [saved] = checkpoints(second / "checkpoints")
    stopped_at = rows_of(second)[-1]["step"]
    assert saved.name == f"checkpoint-{stopped_at}" and stopped_at < 12
    before = (first / "metrics.jsonl").stat().st_mtime_ns
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0 and "already finished" in again.stderr, again.stderr
    assert (first / "metrics.jsonl").stat().st_mtime_ns == before
    assert [row["step"] for row in rows_of(second)] == list(range(1, 13))
    assert [line["status"] for line in json.loads((grid / "grid.json").read_text())["runs"]] == ["finished"] * 2


@pytest.mark.slow
def test_a_second_run_in_the_folder_is_refused_while_the_first_goes_on(recipe: Path, tmp_path: Path):
    run_dir = tmp_path / "run"
    first = subprocess.Popen([*COMMAND, recipe, "--run-dir", run_dir], stderr=subprocess.DEVNULL)
    try:
        while not rows_of(run_dir):
            assert first.poll() is None
            time.sleep(0.05)
        first.send_signal(signal.SIGSTOP)
        second = subprocess.run([*COMMAND, recipe, "--run-dir", run_dir], capture_output=True, text=True, check=False)
        assert second.returncode == 2 and f"process {first.pid} on" in " ".join(second.stderr.split())
    finally:
        first.kill()
        first.wait()
