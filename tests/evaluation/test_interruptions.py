"""Whatever ends an evaluation, no row is lost, none is counted twice, and the same call goes on."""

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from asked import Adder, Sums, adder

from healthgym.errors import ConfigError, HealthgymError, RunStopped
from healthgym.evaluation import rows as rows_module
from healthgym.evaluation.benchmark import Settings
from healthgym.evaluation.folder import EvaluationFolder
from healthgym.evaluation.rows import read_rows
from healthgym.evaluation.runner import evaluate
from healthgym.locks import is_held
from healthgym.terminated import sigterm_interrupts

SCRIPT = Path(__file__).with_name("run_sums.py")
TEXT = Settings(mode="text", in_flight=3)


def started(*arguments):
    return subprocess.Popen([sys.executable, str(SCRIPT), *map(str, arguments)], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("act", "made"), [("kill", 5), ("tear", 5)])
def test_after_a_kill_between_rows_or_within_one_only_the_missing_are_made(tmp_path, act, made):
    process = started(tmp_path, 12, act, 5)
    assert process.wait() == -signal.SIGKILL
    assert len(read_rows(tmp_path / "rows.jsonl")) == made
    again = Sums(12)
    found = evaluate(again, adder(), TEXT, tmp_path)
    assert len(again.asked) == 12 - made
    assert (found.record["n"], found.record["score"], found.is_partial) == (12, 1.0, False)
    whole = [line for line in (tmp_path / "rows.jsonl").read_text().splitlines() if line.endswith("}")]
    assert len(whole) == len({json.loads(line)["id"] for line in whole}) == 12


def test_two_processes_cannot_evaluate_into_one_folder(tmp_path):
    process = started(tmp_path, 12, "wait", 2)
    try:
        assert process.stdout.readline() == "waiting\n"
        assert is_held(tmp_path / "eval.lock")
        with pytest.raises(ConfigError, match=f"Another evaluation writes into .* \\(process {process.pid} on "):
            evaluate(Sums(12), adder(), TEXT, tmp_path)
        with pytest.raises(ConfigError, match="Another evaluation"):
            evaluate(Sums(12), adder(), TEXT, tmp_path, restart=True)
    finally:
        process.kill()
        process.wait()
    assert not is_held(tmp_path / "eval.lock")
    assert evaluate(Sums(12), adder(), TEXT, tmp_path).record["n"] == 12


@pytest.fixture
def interruptible():
    """Ctrl-C as in a terminal: what a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("number", "how", "code"), [(signal.SIGINT, "Interrupted", 130), (signal.SIGTERM, "Stopped by SIGTERM", 143)]
)
def test_ctrl_c_and_sigterm_sum_up_the_rows_so_far_and_say_how_to_go_on(tmp_path, interruptible, number, how, code):
    def interrupt(answers):
        if answers == 4:
            signal.raise_signal(number)

    with (
        pytest.raises(RunStopped, match=rf"{how} with 4 of 10 rows .* same command") as stopped,
        sigterm_interrupts(),
    ):
        evaluate(Sums(), adder(before=interrupt), TEXT, tmp_path)
    assert stopped.value.exit_code == code
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["partial"], result["n"], result["expected"]) == (True, 4, 10)
    assert not is_held(tmp_path / "eval.lock")
    assert evaluate(Sums(), adder(), TEXT, tmp_path).record["n"] == 10


class Crowded(Adder):
    """Answers first, then runs out of memory with more than so many prompts at once."""

    def __init__(self, fits, answers_first=0):
        super().__init__(before=self.run_out)
        self.fits, self.answers_first, self.crowds = fits, answers_first, []

    def run_out(self, answers):
        if answers >= self.answers_first and len(self.waiting) + 1 > self.fits:
            self.crowds.append(len(self.waiting) + 1)
            raise torch.OutOfMemoryError("out of memory. Tried to allocate")


def test_out_of_memory_goes_on_with_fewer_in_flight_and_no_row_is_made_twice(tmp_path):
    policy, sums = Crowded(fits=2, answers_first=3), Sums(20)
    found = evaluate(sums, replace(adder(), policy=policy), Settings(mode="text", in_flight=8), tmp_path)
    assert (found.record["n"], found.record["score"], found.is_partial) == (20, 1.0, False)
    assert policy.crowds == [8, 4]  # then two at once, to the end
    assert len(sums.asked) == len(set(sums.asked)) == len((tmp_path / "rows.jsonl").read_text().splitlines()) == 20
    assert found.record["settings"]["in_flight"] == 8  # as asked: it is no part of what rows depend on


def test_what_trains_need_not_be_installed_where_an_encoder_has_loaded_torch(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("healthgym.training.", "healthgym.rollout.memory"))]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("accelerate", "trl", "peft", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    assert "torch" in sys.modules
    assert evaluate(Sums(4), adder(), TEXT, tmp_path).record["n"] == 4


def test_a_prompt_that_alone_runs_out_of_memory_says_what_to_lower(tmp_path):
    with pytest.raises(HealthgymError, match=r"with one in flight. The rows before are whole. Lower --max-tokens"):
        evaluate(Sums(), replace(adder(), policy=Crowded(fits=0, answers_first=3)), TEXT, tmp_path)
    assert len(read_rows(tmp_path / "rows.jsonl")) == 3
    assert evaluate(Sums(), adder(), TEXT, tmp_path).record["n"] == 10


def test_a_full_disk_stops_with_what_to_do_and_the_rows_before_are_whole(tmp_path, monkeypatch):
    write, count = os.write, [0]

    def filling(file, data):
        count[0] += 1
        if count[0] > 3:
            write(file, bytes(data[:10]))
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data)

    folder = tmp_path / "out"
    EvaluationFolder(folder)
    with monkeypatch.context() as patch:
        patch.setattr(rows_module.os, "write", filling)
        with pytest.raises(HealthgymError, match=r"disk is full: .* 3 of 10 rows are in .* whole"):
            evaluate(Sums(), adder(), TEXT, folder)
    assert len(read_rows(folder / "rows.jsonl")) == 3
    again = Sums()
    assert evaluate(again, adder(), TEXT, folder).record["n"] == 10
    assert len(again.asked) == 7


def test_a_result_is_never_seen_half_written(tmp_path, monkeypatch):
    evaluate(Sums(), adder(), TEXT, tmp_path, limit=3)
    before = (tmp_path / "result.json").read_text()

    def full(path, *arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(OSError, match="No space"):
            evaluate(Sums(), adder(), TEXT, tmp_path)
    assert (tmp_path / "result.json").read_text() == before
    assert len(read_rows(tmp_path / "rows.jsonl")) == 10
