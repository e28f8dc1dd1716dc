"""The best-checkpoint rule on curves made by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import TrainerControl, TrainerState

from healthgym.errors import ConfigError
from healthgym.training.best import choose_best, standard_error
from healthgym.training.config import Best
from healthgym.training.keep_best import KeepBest
from healthgym.training.run_folder import RunFolder


def curve(*successes: float, n: int = 100, **others: Any) -> list[dict[str, Any]]:
    """Rows of steps 10, 20, ..."""
    return [{"step": 10 * (at + 1), "eval/success": value, "eval/n": n, **others} for at, value in enumerate(successes)]


def test_the_earliest_step_within_one_standard_error_of_the_maximum_is_the_best():
    # The maximum is 0.80 at step 40; its standard error is sqrt(0.8 * 0.2 / 100) = 0.04, so 0.77 at step 30 is on the
    # plateau and 0.70 at step 20 is not.
    choice = choose_best(curve(0.5, 0.7, 0.77, 0.8, 0.78), Best())
    assert (choice.step, choice.value, choice.maximum, choice.at_maximum) == (30, 0.77, 0.8, 40)
    assert choice.margin == pytest.approx(0.04)
    assert choice.contenders == (30, 40)


def test_a_stated_margin_replaces_the_standard_error():
    rows = curve(0.5, 0.7, 0.77, 0.8)
    assert choose_best(rows, Best(margin=0.0)).step == 40
    assert choose_best(rows, Best(margin=0.101)).step == 20


@pytest.mark.parametrize(
    ("cap", "name"),
    [("clipped", "eval/clipped"), ("degenerate", "eval/degenerate"), ("single_turn", "eval/single_turn")],
)
def test_a_degenerate_maximum_is_refused(cap: str, name: str):
    rows = curve(0.5, 0.7, 0.9)
    rows[2][name] = 0.6  # over every default cap
    choice = choose_best(rows, Best())
    assert (choice.step, choice.maximum) == (20, 0.7)
    assert choice.refused is not None and cap in choice.refused[30]


def test_the_share_of_held_out_episodes_is_read_before_that_of_the_steps_own():
    rows = curve(0.5, **{"completions/clipped_ratio": 0.9})
    assert choose_best(rows, Best()).step is None
    assert choose_best([{**rows[0], "eval/clipped": 0.0}], Best()).step == 10
    assert choose_best(rows, Best(max_clipped=None)).step == 10


def test_no_evaluation_gives_no_best_and_rows_without_one_are_passed_over():
    assert choose_best([{"step": 1, "loss": 0.1}], Best()).step is None
    assert choose_best([{"step": 1, "loss": 0.1}, *curve(0.4)], Best()).step == 10


def test_the_standard_error_of_64_episodes_at_a_half():
    assert standard_error(0.5, 64) == 0.0625
    assert standard_error(3.2, 64) == standard_error(0.5, None) == 0.0


@pytest.mark.parametrize("curves", [(0.1, 0.5, 0.52, 0.6, 0.58, 0.61), (0.9, 0.2, 0.3), (0.3, 0.3, 0.4)])
def test_every_choice_was_a_contender_when_its_step_ended(curves: tuple[float, ...]):
    # What is saved at a step must hold whatever comes later: the best at the end was a contender at its own step and
    # at every step since.
    rows = curve(*curves)
    best = choose_best(rows, Best()).step
    since = [choose_best(rows[:count], Best()).contenders for count in range(1, len(rows) + 1) if 10 * count >= best]
    assert all(best in contenders for contenders in since)


def test_the_best_model_is_laid_out_without_the_optimisers_files(tmp_path: Path):
    folder = RunFolder(tmp_path)
    keeper = KeepBest(Best(), folder)
    state, control = TrainerState(), TrainerControl()

    def step(number: int, success: float) -> bool:
        state.global_step, control.should_save = number, False
        keeper.on_log(None, state, control, logs={"loss": 0.1})  # a step that was not evaluated
        keeper.on_log(None, state, control, logs={"eval/success": success, "eval/n": 100})
        asked = control.should_save
        if asked:
            made = folder.checkpoints / f"checkpoint-{number}"
            made.mkdir()
            for name in ("model.safetensors", "config.json", "optimizer.pt", "healthgym.pt", "rng_state.pth"):
                (made / name).write_text(str(number))
            keeper.on_save(None, state, control)
        return asked

    assert [step(1, 0.5), step(2, 0.8), step(3, 0.6)] == [True, True, False]
    assert keeper.spared == (2,)
    assert json.loads((tmp_path / "best.json").read_text())["step"] == 2
    assert sorted(path.name for path in (tmp_path / "best").iterdir()) == [
        "checkpoint.json", "config.json", "model.safetensors",
    ]  # fmt: skip
    assert (tmp_path / "best" / "model.safetensors").read_text() == "2"


def test_a_resumed_run_remembers_what_was_best(tmp_path: Path):
    folder = RunFolder(tmp_path)
    for row in curve(0.5, 0.8, 0.6):
        folder.append(row)
    keeper = KeepBest(Best(), folder)
    keeper.on_train_begin(None, TrainerState(), TrainerControl())
    assert keeper.spared == (20,)


def test_a_metric_that_no_evaluation_gives_is_refused_at_the_first(tmp_path: Path):
    keeper = KeepBest(Best(metric="eval/sucess"), RunFolder(tmp_path))
    state, control = TrainerState(global_step=5), TrainerControl()
    with pytest.raises(ConfigError, match=r"'eval/sucess' is not among.*Did you mean 'eval/success'"):
        keeper.on_log(None, state, control, logs={"eval/success": 0.5, "eval/n": 64})
