"""Cautions: what a reader must know before believing a score, in sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from healthgym.evaluation.estimate import Estimate
from healthgym.evaluation.repeats import attempts_are_alike
from healthgym.evaluation.rows import LOST, Row

MIN_ROWS = 30
MIN_CLUSTERS = 30
MIN_ANSWERED = 0.95
MAX_SAME = 0.8
"""Share of rows with one and the same answer above which the model hardly looks at its input."""


def cautions(
    rows: Sequence[Row],
    answered: Estimate,
    floors: Sequence[Mapping[str, Any]],
    *,
    expected: int | None,
    partial: bool,
) -> list[str]:
    """Return the sentences, the gravest first; empty when nothing speaks against the score.

    Args:
        rows: One for each key.
        answered: The headline.
        floors: With `score` and `interval_is`, see `healthgym.evaluation.summary`.
        expected: Rows the run was to have.
        partial: Whether some are missing.
    """
    whole = [row for row in rows if row.status not in LOST]
    return [
        *_missing(rows, whole, expected, partial),
        *_unanswered(whole, answered),
        *_small(answered),
        *_floors(floors),
        *_alike(whole),
    ]


def _missing(rows: Sequence[Row], whole: Sequence[Row], expected: int | None, partial: bool) -> list[str]:
    found = []
    if partial:
        of = "" if expected is None else f" of {expected:,}"
        found.append(f"Partial: {len(whole):,}{of} rows are done; the score may move.")
    lost = Counter(row.status for row in rows)
    for status in LOST:
        if lost[status]:
            found.append(f"Lost to {status}: {_rows(lost[status])}, in no score; resuming makes them again.")
    return found


def _unanswered(whole: Sequence[Row], answered: Estimate) -> list[str]:
    if not whole or answered.n / len(whole) >= MIN_ANSWERED:
        return []
    if answered.n == 0:
        return [f"None of {_rows(len(whole))} was answered: there is no score."]
    return [
        f"Only {answered.n / len(whole):.1%} of rows were answered: read the score over all rows as well, since what "
        "was left unanswered may be what is hard."
    ]


def _small(answered: Estimate) -> list[str]:
    if 0 < answered.n < MIN_ROWS:
        return [f"Only {_rows(answered.n)}: the interval is wide, and a difference of a few points means nothing."]
    if 0 < answered.clusters < min(MIN_CLUSTERS, answered.n):
        return [
            f"{answered.n:,} rows come from only {answered.clusters} clusters (patients, questions): the interval "
            "rests on the clusters and is likely too narrow."
        ]
    return []


def _floors(floors: Sequence[Mapping[str, Any]]) -> list[str]:
    around = [floor for floor in floors if floor["interval_is"] == "around"]
    below = [floor for floor in floors if floor["interval_is"] == "below"]
    found = []
    if below:
        found.append(f"The score lies below what needs no understanding: {_named(below)}.")
    if around:
        found.append(f"The interval includes what needs no understanding: {_named(around)}.")
    return found


def _alike(whole: Sequence[Row]) -> list[str]:
    found = []
    said = Counter(row.prediction if row.prediction is not None else row.output for row in whole)
    said.pop("", None)
    golds = {row.gold for row in whole if row.gold is not None}
    if len(whole) >= 10 and said and len(golds) > 1:
        answer, times = said.most_common(1)[0]
        if times / len(whole) >= MAX_SAME:
            shown = answer if len(answer) <= 40 else answer[:40] + "..."
            found.append(f"{times / len(whole):.0%} of rows have the same answer, {shown!r}.")
    if attempts_are_alike(whole):
        found.append("All attempts at an item are alike, as with greedy decoding: more attempts add nothing.")
    return found


def _named(floors: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{floor['name']} {floor['score']:.1%}" for floor in floors)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
