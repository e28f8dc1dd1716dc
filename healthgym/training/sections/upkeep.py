"""What surrounds the steps: evaluations, checkpoints, what a run endures, where its metrics go."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from healthgym.training.sections.base import Count, NotNegative, Section, Share, Steps


class Evaluation(Section):
    """Held-out measurement during the run."""

    every: Steps = 0
    """Steps between evaluations, 0 for none."""


class Best(Section):
    """Which checkpoint is the best: the earliest on the plateau of a held-out metric that has not degenerated.

    It is named in best.json, its model is laid into best/, and rotation leaves it. Evaluations make it: see eval.every.
    """

    metric: str = "eval/success"
    margin: NotNegative | None = None
    """How far below the maximum the plateau reaches; None takes one standard error of the maximum."""
    max_clipped: Share | None = 0.25
    """No checkpoint more of whose held-out episodes were cut off by a token limit."""
    max_degenerate: Share | None = 0.1
    """No checkpoint more of whose held-out episodes hold degenerate text."""
    max_single_turn: Share | None = 0.5
    """No checkpoint more of whose held-out episodes end in their first turn."""


class Checkpoint(Section):
    """What can be resumed."""

    every: Steps = 50
    """Steps between checkpoints, 0 for the last step only."""
    keep: Count = 2
    best: Best | None = Best()
    """Keeps the best one too; null keeps none."""


class Robust(Section):
    """What a run endures."""

    max_bad_steps: Count = 5
    """Steps in a row with a loss or gradient that is not finite, each skipped, after which the run stops."""
    dead_group_share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.95
    """Share of groups without spread of reward that counts as nothing left to learn from."""
    dead_group_steps: Steps = 20
    """Steps in a row at that share after which a finding is reported, 0 for never."""
    dead_group_stop: bool = False
    """End the run with that finding, model and checkpoint saved."""


Reporter = Literal["tensorboard", "trackio", "wandb"]


class Log(Section):
    """Where the metrics go besides RUN_DIR/metrics.jsonl."""

    report_to: tuple[Reporter, ...] = ()
    """Any of tensorboard (writes to RUN_DIR/tensorboard), trackio and wandb; none for none of them."""
    run_name: str | None = None
    """Name shown there; None takes the run folder's."""
    project: str = "healthgym"

    @field_validator("report_to", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        if isinstance(value, str) or value is None:
            return () if value in ("none", None) else (value,)
        return () if value == ["none"] else value
