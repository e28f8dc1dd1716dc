import pytest
from tiny import make_rows, make_trajectory

from healthgym.errors import ConfigError
from healthgym.training.config import Hint
from healthgym.training.hint_switch import HintSwitch


class Teaching:
    """A distillation whose teacher is always in place and whose hints read alike."""

    def __init__(self, hint: Hint) -> None:
        from contextlib import nullcontext
        from types import SimpleNamespace

        self.hint: Hint | None = hint
        self.teacher = SimpleNamespace(active=nullcontext)

    def hints_of(self, trajectories):
        return ["hint"] * len(trajectories)


class Source:
    """Episodes that all end with one reward, whatever the hint."""

    def __init__(self, reward: float) -> None:
        self.reward = reward

    def sample(self, rows, *, seed, hints=None):
        return [make_trajectory(row, [1], [2], [1], [0.0], [], self.reward, []) for row in rows]


def switch(reward: float, **hint) -> HintSwitch:
    settings = Hint(probe_every=1, **hint)
    return HintSwitch(settings, Teaching(settings), Source(reward), seed=0)  # type: ignore[arg-type]


def test_hints_stay_on_when_no_attempt_failed_and_go_when_they_do_not_help():
    solved, hopeless = switch(1.0), switch(0.0)
    for one in (solved, hopeless):
        one.measure(1, one.source.sample(make_rows(4), seed=0))
    assert solved.distillation.hint is not None and not solved.findings
    assert hopeless.distillation.hint is None and "4 failed tasks" in hopeless.findings[0]


def test_a_required_probe_that_found_nothing_to_probe_says_so():
    with pytest.raises(ConfigError, match="no attempt before training failed"):
        switch(1.0, require_probe=True).before_training(make_rows(4), None)
    with pytest.raises(ConfigError, match="does not beat none"):
        switch(0.0, require_probe=True).before_training(make_rows(4), None)
