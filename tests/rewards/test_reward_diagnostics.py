"""A batch says which of its scores can teach."""

import pytest

from healthgym.rewards.diagnostics import reward_diagnostics
from healthgym.rollout import Trajectory


@pytest.fixture
def batch(make_grade):
    """Return a function that builds groups from lists of accuracies; the reward is the accuracy."""

    def build(*groups):
        return [
            Trajectory(
                task_id=f"t{number}", domain="d", family="f", split="train", difficulty="easy", group=number,
                grade=make_grade(accuracy=value), reward=value, stop_reason="submitted",
            )
            for number, group in enumerate(groups)
            for value in group
        ]  # fmt: skip

    return build


def test_variance_inside_groups_is_told_from_variance_between_them(batch):
    # Values 0, 1 | 1, 1: mean 0.75, total variance 0.1875; inside: (0.25 + 0) / 2 = 0.125; share 2/3.
    found = reward_diagnostics(batch([0.0, 1.0], [1.0, 1.0]))
    assert found.within_share["accuracy"] == pytest.approx(2 / 3)
    assert found.within_share["total"] == pytest.approx(2 / 3)
    assert found.dead_share == 0.5


def test_a_score_constant_within_every_group_is_reported(batch):
    # 0, 0 | 1, 1: accuracy varies between groups only, the rest not at all.
    found = reward_diagnostics(batch([0.0, 0.0], [1.0, 1.0]))
    assert found.within_share["accuracy"] == 0.0
    assert found.constant == ("accuracy", "process", "safety", "format", "coherence")
    assert found.dead_share == 1.0


def test_a_score_that_varies_is_not_constant(batch):
    assert "accuracy" not in reward_diagnostics(batch([0.0, 1.0])).constant


def test_lost_episodes_lower_the_gradeable_share(batch):
    # four graded, one lost: 4 / 5
    assert reward_diagnostics(batch([0.0, 1.0], [1.0, 1.0]), ungraded=1).gradeable_share == 0.8


def test_metrics_carry_the_names_they_are_logged_by(batch):
    metrics = reward_diagnostics(batch([0.0, 1.0])).metrics()
    assert metrics["reward/accuracy/within_group_share"] == 1.0
    assert metrics["group/dead_share"] == 0.0
    assert metrics["group/constant_scores"] == 4.0


def test_an_empty_batch_is_refused():
    with pytest.raises(ValueError, match="no trajectories"):
        reward_diagnostics([])
