"""What one step's episodes looked like, over all processes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from accelerate.utils import gather_object

from healthgym.diagnostics import step_metrics
from healthgym.diagnostics.text import prose_of
from healthgym.rollout import Trajectory
from healthgym.training.guards import echo_share
from healthgym.training.hints import HINT_WORDING

_TRLS_OWN = ("reward", "reward_std", "frac_reward_zero_std")
"""Logged by TRL from the rewards the trainer sees, which length shaping may have changed."""


def gathered(trajectories: Sequence[Trajectory | None]) -> list[Trajectory | None]:
    """Return the episodes of all processes in order, without their tokens."""
    bare = [
        None if one is None else replace(one, prompt_ids=(), completion_ids=(), completion_mask=(), logprobs=None)
        for one in trajectories
    ]
    everywhere: list[Trajectory | None] = gather_object(bare)
    return everywhere


def episode_metrics(trajectories: Sequence[Trajectory | None]) -> dict[str, float]:
    """Return one step's metrics: those of diagnostics, how episodes ended, and how often they echo a hint.

    Args:
        trajectories: The episodes of all processes; None where the infrastructure failed.
    """
    made = [one for one in trajectories if one is not None]
    metrics = step_metrics(made, ungraded=len(trajectories) - len(made))
    metrics["episode/reward"] = metrics["reward"]
    metrics["episode/hint_echo"] = fmean(echo_share(["\n".join(prose_of(one.messages))], HINT_WORDING) for one in made)
    stops = Counter(one.stop_reason for one in made)
    metrics.update({f"episode/stop/{reason}": count / len(made) for reason, count in stops.items()})
    return {name: value for name, value in metrics.items() if name not in _TRLS_OWN}
