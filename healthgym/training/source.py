"""Where a run's episodes come from: the seam between training and rollout."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from healthgym.rollout import Trajectory
from healthgym.tasks import Suite
from healthgym.training.config import RunConfig
from healthgym.training.demonstrations import Turns
from healthgym.training.rows import EpisodeRow


class EpisodeSource(Protocol):
    """Makes episodes with the model as it stands, or by script, always with the tokens the model reads."""

    def sample(
        self, rows: Sequence[EpisodeRow], *, seed: int, hints: Sequence[str | None] | None = None
    ) -> list[Trajectory | None]:
        """Return one episode per row, sampled from the model; None where the infrastructure failed.

        A row's hint is a user message of its own at the end of its prompt. The same seed and weights give the same
        episodes.
        """

    def scripted(self, plans: Sequence[tuple[str, Turns]]) -> list[Trajectory]:
        """Return one episode per (task id, calls by turn), written in the model's own tool-call markup."""


OnEpisode = Callable[[int, int], None]
"""Told how many of a step's episodes are finished, and of how many."""

SourceFactory = Callable[[RunConfig, Any, Any, Suite], EpisodeSource]
"""Takes config, model, tokenizer and suite."""
