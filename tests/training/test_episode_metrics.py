from tiny import make_rows, make_trajectory

from healthgym.rollout import Trajectory
from healthgym.training.episode_metrics import episode_metrics, gathered


def episode(reward: float, text: str = "ok") -> Trajectory:
    return make_trajectory(
        make_rows(1)[0], [1], [2], [1], [0.0], [], reward,
        [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}],
    )  # fmt: skip


def test_a_steps_metrics_keep_clear_of_the_names_trl_fills_with_shaped_rewards():
    metrics = episode_metrics([episode(1.0), episode(0.0)])
    assert metrics["episode/success"] == metrics["episode/reward"] == 0.5
    assert metrics["episode/stop/submitted"] == 1.0
    assert not {"reward", "reward_std", "frac_reward_zero_std"} & metrics.keys()


def test_echoes_of_a_hint_are_counted_by_episode():
    spoken = "Review of an attempt at this task: the decision was wrong."
    assert episode_metrics([episode(1.0, spoken), episode(0.0)])["episode/hint_echo"] == 0.5


def test_episodes_lost_to_the_infrastructure_lower_the_gradeable_share():
    assert episode_metrics([episode(1.0), None, None, None])["group/gradeable_share"] == 0.25


def test_gathering_drops_the_tokens_and_nothing_else():
    one, none = gathered([episode(1.0), None])
    assert none is None and one is not None
    assert one.completion_ids == () and one.reward == 1.0 and one.messages == episode(1.0).messages
