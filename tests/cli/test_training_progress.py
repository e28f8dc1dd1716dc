import io
import re

import pytest
from rich.console import Console

from healthgym.cli import training_progress as shown
from healthgym.cli.training_progress import training_progress

ROW = {"episode/success": 0.25, "completions/mean_length": 80.0, "episode/turns": 3.5, "tt_opd/kl": 0.1, "tt_opd/lambda": 0.4, "loss": 0.02}  # fmt: skip


def drawn(terminal: bool, quiet: bool = False, steps: int = 3) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=160, color_system=None)
    with training_progress(console, steps=steps, warm_start_steps=2, quiet=quiet) as progress:
        for step in (1, 2):
            progress.on_warm_start(step, 3.0 - step)
        for step in range(1, steps + 1):
            for done in range(5):
                progress.on_episode(done, 4)
            progress.on_step(step, {**ROW, **({"eval/success": 0.5} if step == 2 else {})})
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.getvalue())


def test_a_terminal_shows_bars_of_warm_start_steps_and_episodes():
    text = drawn(terminal=True)
    for words in ("warm start", "2/2", "loss 1.000", "training", "3/3", "success 0.25  length 80  turns 3.5  kl 0.1  lambda 0.4"):  # fmt: skip
        assert words in text, words


def test_episodes_of_the_step_at_hand_are_counted():
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=160, color_system=None)
    with training_progress(console, steps=2, warm_start_steps=0) as progress:
        progress.on_episode(0, 4)
        progress.on_episode(3, 4)
        progress.progress.refresh()  # type: ignore[attr-defined]
    assert "episodes" in text.getvalue() and "3/4" in text.getvalue()


def test_elsewhere_lines_come_now_and_then_and_always_for_evaluations_and_the_end():
    lines = [line for line in drawn(terminal=False, steps=6).splitlines() if line.startswith("step")]
    # The first, the evaluated and the last: within half a minute no other.
    assert [line.split()[1] for line in lines] == ["1/6", "2/6", "6/6"]
    assert "held-out success 0.5" in lines[1]


def test_time_brings_the_next_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shown, "EVERY_SECONDS", 0.0)
    assert drawn(terminal=False, steps=6).count("step ") == 6 + 2  # and two of the warm start


def test_json_shows_nothing():
    assert drawn(terminal=True, quiet=True) == drawn(terminal=False, quiet=True) == ""
