"""Which checkpoint to keep as the best: the earliest on the plateau of held-out success that has not degenerated."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

from healthgym.training.config import Best

SIGNS: Mapping[str, tuple[str, ...]] = {
    "max_clipped": ("eval/clipped", "episode/clipped_ratio", "completions/clipped_ratio"),
    "max_degenerate": ("eval/degenerate", "episode/degenerate"),
    "max_single_turn": ("eval/single_turn", "episode/single_turn_share"),
}
"""By cap, the metrics that carry the share it limits: of the held-out episodes, else of the step's own."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The best checkpoint of a run so far, and why."""

    metric: str
    step: int | None
    """None while no evaluation passes the caps."""
    value: float | None = None
    maximum: float | None = None
    """Highest value that passes the caps."""
    at_maximum: int | None = None
    margin: float | None = None
    """How far below the maximum still counts as the plateau."""
    contenders: tuple[int, ...] = ()
    """Steps that may yet become the earliest on a plateau: their checkpoints must be kept."""
    refused: Mapping[int, str] | None = None
    """By step, the cap that an evaluation broke."""

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as JSON-like data."""
        record = asdict(self)
        return {**record, "contenders": list(self.contenders), "refused": dict(self.refused or {})}


def choose_best(rows: Sequence[Mapping[str, Any]], rule: Best) -> Choice:
    """Apply the rule to a run's metrics: the earliest step within the margin of the maximum whose shares keep the caps.

    With margin null the margin is one standard error of the maximum, sqrt(p (1 - p) / n) with n from `eval/n`; a metric
    that is no share, or has no n, gets none.

    Args:
        rows: One a step, in order; those without the metric were not evaluated.
        rule: Metric, margin and caps.
    """
    evaluated = [row for row in rows if row.get(rule.metric) is not None]
    refused = {int(row["step"]): reason for row in evaluated if (reason := broken_cap(row, rule)) is not None}
    sound = [row for row in evaluated if int(row["step"]) not in refused]
    if not sound:
        return Choice(metric=rule.metric, step=None, refused=refused)
    # Only a new record can be the earliest within any margin: of two equal values the earlier one is.
    records: list[Mapping[str, Any]] = []
    for row in sound:
        if not records or row[rule.metric] > records[-1][rule.metric]:
            records.append(row)
    top = records[-1]
    margin = rule.margin if rule.margin is not None else standard_error(top[rule.metric], top.get("eval/n"))
    plateau = [row for row in records if row[rule.metric] >= top[rule.metric] - margin]
    return Choice(
        metric=rule.metric,
        step=int(plateau[0]["step"]),
        value=float(plateau[0][rule.metric]),
        maximum=float(top[rule.metric]),
        at_maximum=int(top["step"]),
        margin=margin,
        contenders=tuple(int(row["step"]) for row in plateau),
        refused=refused,
    )


def broken_cap(row: Mapping[str, Any], rule: Best) -> str | None:
    """Return which cap a row breaks, in words, or None."""
    for cap, names in SIGNS.items():
        limit = getattr(rule, cap)
        share = next((row[name] for name in names if row.get(name) is not None), None)
        if limit is not None and share is not None and share > limit:
            return f"{cap.removeprefix('max_')} {share:.2f} is above checkpoint.best.{cap} {limit:.2f}"
    return None


def standard_error(value: float, n: float | None) -> float:
    """Return the standard error of a share among n episodes; 0 for other values or an unknown n."""
    return sqrt(value * (1 - value) / n) if n and 0.0 <= value <= 1.0 else 0.0
