"""A run's checkpoints are evaluated as they appear, and the rule in its config chooses among them."""

import json
import shutil
import threading
import time

import pytest

from healthgym.errors import ConfigError
from healthgym.evaluation.rows import Row
from healthgym.evaluation.selection import Selection, metrics_of, rule_of, step_folder
from healthgym.locks import release_lock, take_lock
from healthgym.training.config import Best


def row(n, *, score=1.0, status="answered", turns=3, clipped=False, degenerate=False):
    return Row(
        id=f"t{n}", status=status, score=score if status == "answered" else None, turns=turns,
        scores={"reward": 0.5}, detail={"clipped": clipped, "degenerate": degenerate},
    )  # fmt: skip


def rows(successes, n=100, **options):
    return [row(place, score=float(place < successes), **options) for place in range(n)]


class Scripted:
    """Gives each step the rows it is told; remembers which models it saw."""

    def __init__(self, by_step, known=()):
        self.by_step, self.known, self.seen = by_step, set(known), []

    def stored(self, step):
        return self.by_step[step] if step in self.known else None

    def measure(self, step, folder):
        self.seen.append((step, (folder / "model.safetensors").read_text()))
        found = self.by_step[step]
        if isinstance(found, str):
            raise ConfigError(f"{found} {folder}")
        return found


@pytest.fixture
def run(tmp_path):
    return tmp_path / "run"


def checkpoint(run, step):
    folder = run / "checkpoints" / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_text(f"weights {step}")
    (folder / "optimizer.pt").write_text("moments")
    return folder


def selection(run, *, every=10, split="val", **rule):
    return Selection(run=run, every=every, rule=Best(**rule), suite="gym", split=split)


def test_the_earliest_within_a_standard_error_of_the_maximum_is_chosen(run):
    # Maximum 0.62 of 100 at step 30; its standard error is sqrt(0.62 * 0.38 / 100) = 0.0485, so 0.58 counts and 0.40 not.
    for step in (10, 20, 30, 35):
        checkpoint(run, step)
    made = selection(run)
    made.follow(Scripted({10: rows(40), 20: rows(58), 30: rows(62)}), wait=False)
    found = json.loads((run / "evals" / "gym-val" / "choice.json").read_text())
    assert found["choice"]["step"] == 20 and "earliest whose eval/success, 0.580, lies within 0.049" in found["why"]
    assert [one["step"] for one in found["rows"]] == [10, 20, 30]  # 35 is not divisible by 10
    assert found["warning"] is None


def test_a_checkpoint_that_breaks_a_cap_is_never_chosen(run):
    for step in (10, 20):
        checkpoint(run, step)
    made = selection(run)
    made.follow(Scripted({10: rows(40), 20: rows(90, degenerate=True)}), wait=False)
    assert made.choice.step == 10 and made.choice.refused == {
        20: "degenerate 1.00 is above checkpoint.best.max_degenerate 0.10"
    }


def test_models_that_may_be_chosen_outlive_the_run_s_rotation_and_the_others_go(run):
    for step in (10, 20, 30):
        checkpoint(run, step)
    made = selection(run)
    made.follow(Scripted({10: rows(20), 20: rows(58), 30: rows(62)}), wait=False)
    shutil.rmtree(run / "checkpoints")
    model = run / "evals" / "gym-val" / "checkpoint-20"
    assert made.to_dict()["model"] == str(model)
    assert sorted(path.name for path in model.iterdir()) == ["model.safetensors"]
    assert {path.name for path in model.parent.glob("checkpoint-*")} == {"checkpoint-20", "checkpoint-30"}


def test_what_was_evaluated_before_counts_though_its_checkpoint_is_gone(run):
    checkpoint(run, 20)
    step_folder(run, "gym", "val", 10).mkdir(parents=True)
    measures = Scripted({10: rows(80), 20: rows(40)}, known=[10])
    made = selection(run)
    made.follow(measures, wait=False)
    assert made.choice.step == 10 and made.to_dict()["model"] is None
    assert [step for step, _ in measures.seen] == [20]


def test_a_damaged_checkpoint_is_left_out_and_named_and_a_wrong_setting_is_not_swallowed(run):
    for step in (10, 20):
        checkpoint(run, step)
    made = selection(run)
    made.follow(Scripted({10: "damaged:", 20: rows(40)}), wait=False)
    assert made.choice.step == 20 and made.skipped[10].startswith("damaged:")

    class Misset(Scripted):
        def measure(self, step, folder):
            raise ConfigError("gym has no option 'domain'")

    with pytest.raises(ConfigError, match="no option"):
        selection(run).follow(Misset({}), wait=False)


def test_a_checkpoint_removed_before_it_could_be_read_does_not_stop_the_others(run, monkeypatch):
    for step in (10, 20):
        checkpoint(run, step)
    true_copy = shutil.copytree

    def rotated(source, *arguments, **options):
        if source.name == "checkpoint-10":
            shutil.rmtree(source)
        return true_copy(source, *arguments, **options)

    monkeypatch.setattr(shutil, "copytree", rotated)
    made = selection(run)
    made.follow(Scripted({10: rows(90), 20: rows(40)}), wait=False)
    assert made.choice.step == 20 and "removed before it was evaluated" in made.skipped[10]


def test_following_takes_what_appears_until_the_run_lets_go_of_its_folder(run):
    checkpoint(run, 10)
    lock = take_lock(run / "run.lock")

    def go_on():
        time.sleep(0.2)
        checkpoint(run, 20)
        release_lock(lock)

    thread = threading.Thread(target=go_on)
    thread.start()
    made = selection(run)
    made.follow(Scripted({10: rows(20), 20: rows(90)}), wait=True, seconds=0.05)
    thread.join()
    assert sorted(made.rows) == [10, 20] and made.choice.step == 20


def test_a_choice_made_on_test_says_so(run):
    assert "no test figure" in selection(run, split="test").warning
    assert selection(run, split="val").warning is None


def test_a_run_without_a_fitting_checkpoint_or_a_rule_is_refused(run):
    checkpoint(run, 7)
    with pytest.raises(ConfigError, match=r"divisible by 10; there are \[7\]"):
        selection(run).follow(Scripted({}), wait=False)
    with pytest.raises(ConfigError, match="fixes no rule"):
        rule_of(None, run)
    checkpoint(run, 10)
    with pytest.raises(ConfigError, match=r"'eval/sucess' is not among.*Did you mean 'eval/success'"):
        selection(run, metric="eval/sucess").follow(Scripted({10: rows(1)}), wait=False)


def test_metrics_count_every_row_that_was_not_lost():
    found = metrics_of(
        [
            row(0), row(1, score=0.0, turns=1), row(2, status="truncated", clipped=True), row(3, status="infra_error"),
        ], 40,
    )  # fmt: skip
    # Three of four rows count; one succeeded, one was clipped, one ended in its first turn.
    assert found == {
        "step": 40, "eval/success": 1 / 3, "eval/n": 3.0, "eval/clipped": 1 / 3, "eval/degenerate": 0.0,
        "eval/reward": 0.5, "eval/single_turn": 1 / 3,
    }  # fmt: skip
