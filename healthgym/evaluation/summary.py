"""The summary: rows of an evaluation become one result, each number with n, interval, and what was left out of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from healthgym.evaluation.benchmark import Floor
from healthgym.evaluation.cautions import cautions
from healthgym.evaluation.design_effect import design_effect, inflated
from healthgym.evaluation.estimate import Estimate, mean_estimate, score_estimate
from healthgym.evaluation.repeats import cluster_of, pass_rates
from healthgym.evaluation.rows import LOST, STATUSES, Row
from healthgym.evaluation.sample_size import required_for_one, required_for_two, required_for_width

DIFFERENCE = 0.05
"""Difference in score that `required_n` is stated for."""
COUNTS: tuple[tuple[str, Callable[[Row], float | None]], ...] = (
    ("tokens", lambda row: row.tokens),
    ("turns", lambda row: row.turns),
    ("tool_calls", lambda row: row.tool_calls),
    ("hazards", lambda row: row.hazards),
)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What rows say together.

    answered: the headline score, over answered rows.
    everything: refused, degenerate, truncated and unparsed rows counted as 0.
    counts: rows by status, all seven statuses.
    expected: rows that the run was to have; None when unknown.
    partial: whether rows are still missing or lost.
    scores: further scores by name, over answered rows.
    means: tokens, turns, tool calls and hazards a row, over rows that were not lost.
    strata: by stratum and value, the two estimates.
    floors: each with its score and whether the headline's interval lies above, below or around it.
    required_n: rows that would be enough, see `to_dict`.
    """

    suite: str
    mode: str
    candidate: str
    answered: Estimate
    everything: Estimate
    counts: Mapping[str, int]
    items: int
    expected: int | None
    partial: bool
    pass_at_k: Mapping[str, Estimate] = field(default_factory=dict)
    pass_hat_k: Mapping[str, Estimate] = field(default_factory=dict)
    scores: Mapping[str, Estimate] = field(default_factory=dict)
    means: Mapping[str, Estimate] = field(default_factory=dict)
    strata: Mapping[str, Mapping[str, tuple[Estimate, Estimate]]] = field(default_factory=dict)
    floors: Sequence[Mapping[str, Any]] = ()
    required_n: Mapping[str, float | int | None] = field(default_factory=dict)
    seeds: Sequence[int] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)
    scorer: str = ""
    engine: str = ""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON-like data: what result.json holds.

        The headline is `score`, `ci`, `n`; with every unanswered row counted as 0 it is `score_all`, `ci_all`, `n_all`.
        `required_n` states rows for the interval to reach `difference` either side (`width`), for two runs on
        different rows to show it with 80 % power at 5 % (`two_runs`; the same rows need fewer), and to tell this score
        from the highest floor (`above_floor`). All are for rows that share clusters as these do: `design_effect` times as
        many as independent rows.
        """
        return {
            "suite": self.suite, "mode": self.mode, "candidate": self.candidate, "partial": self.partial,
            **_headline(self.answered, self.everything),
            "items": self.items, "expected": self.expected, "counts": dict(self.counts),
            "pass_at_k": _dicts(self.pass_at_k), "pass_hat_k": _dicts(self.pass_hat_k),
            "scores": _dicts(self.scores), "means": _dicts(self.means),
            "strata": {
                name: {value: _headline(*pair) for value, pair in values.items()}
                for name, values in self.strata.items()
            },
            "floors": [dict(floor) for floor in self.floors], "required_n": dict(self.required_n),
            "seeds": list(self.seeds), "hashes": dict(self.hashes), "scorer": self.scorer, "engine": self.engine,
            "sampling": dict(self.sampling), "settings": dict(self.settings), "machine": dict(self.machine),
            "warnings": list(self.warnings),
        }  # fmt: skip


def summarise_rows(
    rows: Iterable[Row],
    *,
    suite: str = "",
    mode: str = "",
    candidate: str = "",
    floors: Sequence[Floor] = (),
    hashes: Mapping[str, str] | None = None,
    scorer: str = "",
    engine: str = "",
    sampling: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    machine: Mapping[str, Any] | None = None,
    expected: int | None = None,
    partial: bool = False,
) -> Summary:
    """Sum up rows; of two rows with the same key the last counts, as it does in their file.

    Args:
        rows: In any order.
        suite: Name of the benchmark; so for the next two.
        mode: agentic or text.
        candidate: What was measured.
        floors: What policies without understanding score on the same items; one without a score takes that of the rows' further
            score of its name.
        hashes: Weights, chat template, items and the like, carried along; so for the next five.
        scorer: Name and version of the scorer.
        engine: Name and version of the engine.
        sampling: As used.
        settings: As used.
        machine: As described.
        expected: How many rows the run was to have.
        partial: Whether the run was ended early; fewer whole rows than `expected` say so as well.
    """
    kept = list({row.key: row for row in rows}.values())
    whole = [row for row in kept if row.status not in LOST]
    answered, everything = _both(kept)
    scores = _scores(kept)
    floors = [_measured(floor, scores) for floor in floors]
    stated = [_floor(floor, answered) for floor in floors]
    counts = Counter(row.status for row in kept)
    partial = partial or (expected is not None and len(whole) < expected)
    at_least_one, all_right = pass_rates(whole)
    return Summary(
        suite=suite,
        mode=mode,
        candidate=candidate,
        answered=answered,
        everything=everything,
        counts={status: counts[status] for status in STATUSES},
        items=len({row.id for row in kept}),
        expected=expected,
        partial=partial,
        pass_at_k=at_least_one,
        pass_hat_k=all_right,
        scores=scores,
        means=_means(whole),
        strata=_strata(kept),
        floors=stated,
        required_n=_required(answered, floors, *_answered(whole)),
        seeds=sorted({row.seed for row in kept}),
        hashes=hashes or {},
        scorer=scorer,
        engine=engine,
        sampling=sampling or {},
        settings=settings or {},
        machine=machine or {},
        warnings=cautions(kept, answered, stated, expected=expected, partial=partial),
    )


def _both(rows: Sequence[Row]) -> tuple[Estimate, Estimate]:
    """Return the estimate over answered rows, and the one that counts the other whole rows as 0."""
    whole = [row for row in rows if row.status not in LOST]
    scores, clusters = _answered(whole)
    answered = score_estimate(scores, clusters)
    if len(scores) == len(whole):
        return answered, answered
    return answered, score_estimate([row.score or 0.0 for row in whole], [cluster_of(row) for row in whole])


def _answered(whole: Sequence[Row]) -> tuple[list[float], list[str]]:
    """Return the scores of answered rows and their clusters."""
    scored = [(row.score, cluster_of(row)) for row in whole if row.score is not None]
    return [score for score, _ in scored], [cluster for _, cluster in scored]


def _headline(answered: Estimate, everything: Estimate) -> dict[str, Any]:
    one, every = answered.to_dict(), everything.to_dict()
    return {
        "score": one["value"], "ci": one["ci"], "n": one["n"], "clusters": one["clusters"], "ci_method": one["method"],
        "score_all": every["value"], "ci_all": every["ci"], "n_all": every["n"], "ci_all_method": every["method"],
    }  # fmt: skip


def _strata(rows: Sequence[Row]) -> dict[str, dict[str, tuple[Estimate, Estimate]]]:
    groups: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        for name, value in row.strata.items():
            groups.setdefault(name, {}).setdefault(str(value), []).append(row)
    return {
        name: {value: _both(group) for value, group in sorted(values.items())}
        for name, values in sorted(groups.items())
    }


def _scores(rows: Sequence[Row]) -> dict[str, Estimate]:
    found: dict[str, list[tuple[float, str]]] = {}
    for row in rows:
        if row.status == "answered":
            for name, score in row.scores.items():
                found.setdefault(name, []).append((float(score), cluster_of(row)))
    made = {}
    for name, pairs in found.items():
        values, clusters = [value for value, _ in pairs], [cluster for _, cluster in pairs]
        is_share = all(0.0 <= value <= 1.0 for value in values)
        made[name] = score_estimate(values, clusters) if is_share else mean_estimate(values, clusters)
    return made


def _means(rows: Sequence[Row]) -> dict[str, Estimate]:
    made = {}
    for name, count in COUNTS:
        pairs = [(float(value), cluster_of(row)) for row in rows if (value := count(row)) is not None]
        if pairs:
            made[name] = mean_estimate([value for value, _ in pairs], [cluster for _, cluster in pairs])
    return made


def _measured(floor: Floor, scores: Mapping[str, Estimate]) -> Floor:
    """Return a floor that needs a model, with its score where the rows measured one of that name."""
    if floor.score is not None or floor.name not in scores:
        return floor
    return replace(floor, score=scores[floor.name].value)


def _floor(floor: Floor, answered: Estimate) -> dict[str, Any]:
    """Return a floor beside where the headline's interval lies: above it, below it, or around it."""
    place = None
    if floor.score is not None and answered.interval is not None:
        low, high = answered.interval
        place = "above" if low > floor.score else "below" if high < floor.score else "around"
    return {"name": floor.name, "score": floor.score, "how": floor.how, "interval_is": place}


def _required(
    answered: Estimate, floors: Sequence[Floor], scores: Sequence[float], clusters: Sequence[str]
) -> dict[str, float | int | None]:
    """Return rows that would be enough for scores of 0 and 1, which no other score in [0, 1] needs more than."""
    if answered.value is None:
        return {}
    rate = answered.value
    other = rate + DIFFERENCE if rate + DIFFERENCE <= 1 else rate - DIFFERENCE
    known = [floor.score for floor in floors if floor.score]  # one success is enough against a floor of 0
    effect = design_effect(scores, clusters)
    return {
        "difference": DIFFERENCE,
        "design_effect": effect,
        "width": inflated(required_for_width(rate, DIFFERENCE), effect),
        "two_runs": inflated(required_for_two(rate, other), effect),
        "above_floor": inflated(required_for_one(rate, max(known)) if known else None, effect),
    }


def _dicts(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: estimate.to_dict() for name, estimate in estimates.items()}
