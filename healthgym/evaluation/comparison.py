"""Two evaluations of the same benchmark, row by row: what changed, how sure that is, and whether they may be compared."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from healthgym.errors import ConfigError
from healthgym.evaluation.paired import Paired, compare_scores
from healthgym.evaluation.repeats import cluster_of
from healthgym.evaluation.rows import LOST, Row
from healthgym.evaluation.statistics import holm
from healthgym.evaluation.stored import Stored

MODEL = "candidate.hashes."
"""Models are what is compared: other weights go without saying, another chat template does not."""
MIN_STRATUM = 10
"""Rows below which a part is not compared: it could show nothing, and would weaken what the others show."""
DECISIVE = ("benchmark", "scorer", "items")
"""Where these differ, equal keys need not mean equal questions or equal marks."""
Key = tuple[str, int]
Pair = tuple[Row, Row]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The second evaluation against the first on one benchmark.

    both: over rows that both answered; None when there is none.
    everything: over all rows that neither lost, unanswered ones counted as 0.
    answering: over the same rows, whether they were answered.
    scores, strata: over rows that both answered; parts of fewer than ten rows are left out.
    gained, lost: keys of rows where the second is better, and worse, unanswered ones counted as 0.
    only_first, only_second: how many rows just one of them has whole.
    warnings: in what else the two differ.
    """

    suite: str
    first: str
    second: str
    both: Paired | None
    everything: Paired
    answering: Paired
    scores: Mapping[str, Paired] = field(default_factory=dict)
    strata: Mapping[str, Mapping[str, Paired]] = field(default_factory=dict)
    gained: Sequence[Key] = ()
    lost: Sequence[Key] = ()
    only_first: int = 0
    only_second: int = 0
    warnings: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON-like data."""
        return {
            "suite": self.suite, "first": self.first, "second": self.second,
            "answered_by_both": None if self.both is None else self.both.to_dict(),
            "all_rows": self.everything.to_dict(), "answering": self.answering.to_dict(),
            "scores": {name: paired.to_dict() for name, paired in self.scores.items()},
            "strata": {
                name: {value: paired.to_dict() for value, paired in values.items()}
                for name, values in self.strata.items()
            },
            "gained": [{"id": key, "attempt": attempt} for key, attempt in self.gained],
            "lost": [{"id": key, "attempt": attempt} for key, attempt in self.lost],
            "only_first": self.only_first, "only_second": self.only_second, "warnings": list(self.warnings),
        }  # fmt: skip


def compare_evaluations(
    first: Sequence[Stored], others: Sequence[Sequence[Stored]], *, margin: float = 0.05, anyway: bool = False
) -> list[Comparison]:
    """Compare every other run with the first, benchmark by benchmark.

    P-values are adjusted by Holm's method within families: the headlines over answered rows of all benchmarks and runs
    are one, those over all rows another; answer rates, further scores and strata are one each.

    Args:
        first: The first run's evaluations, one a benchmark.
        others: Those of each other run.
        margin: Difference in score that is too small to matter.
        anyway: Compare even where scorer or items differ, with a warning.

    Raises:
        ConfigError: There is no common benchmark, or a pair cannot be compared; says in what it differs.
    """
    made = []
    for run in others:
        for other in run:
            for one in (one for one in first if _matches(one, other, alone=len(first) == len(run) == 1)):
                made.append(_compare(one, other, margin, anyway))
    if not made:
        told = "; ".join(", ".join(f"{one.suite} ({one.mode})" for one in run) for run in (first, *others))
        raise ConfigError(f"The runs have no benchmark in common: {told}. Compare evaluations of the same one")
    return _adjusted(made)


def _matches(one: Stored, other: Stored, *, alone: bool) -> bool:
    """Two single evaluations of one benchmark may differ in mode; among several the mode tells them apart."""
    return one.suite == other.suite and (alone or one.mode == other.mode)


def _compare(one: Stored, other: Stored, margin: float, anyway: bool) -> Comparison:
    warnings = _doubts(one, other, anyway)
    whole = [{row.key: row for row in run.rows if row.status not in LOST} for run in (one, other)]
    pairs = [(row, whole[1][key]) for key, row in whole[0].items() if key in whole[1]]
    if not pairs:
        raise ConfigError(f"{one.path} and {other.path} have no row in common; compare runs on the same items")
    changed = [a.id for a, b in pairs if a.gold != b.gold]
    if changed:
        told = f"{len(changed)} rows have another gold answer, {changed[0]!r} among them"
        if not anyway:
            raise ConfigError(f"{one.path} and {other.path} cannot be compared: {told}. Run one of them again")
        warnings.append(told[0].upper() + told[1:] + ".")
    reseeded = sum(a.seed != b.seed for a, b in pairs)
    if reseeded:
        warnings.append(
            f"{reseeded:,} of {len(pairs):,} rows were made with other seeds: less is paired than could be."
        )
    missing = [len(rows) - len(pairs) for rows in whole]
    if any(missing):
        warnings.append(
            f"{missing[0]:,} rows are only in {one.name} and {missing[1]:,} only in {other.name}; neither is compared."
        )
    answered = [(a, b) for a, b in pairs if a.score is not None and b.score is not None]
    return Comparison(
        suite=one.suite,
        first=one.name,
        second=other.name,
        both=_paired(answered, _score, margin) if answered else None,
        everything=_paired(pairs, _score, margin),
        answering=_paired(pairs, _is_answered, margin),
        scores=_by_score(answered, margin),
        strata=_by_stratum(answered, margin),
        gained=[a.key for a, b in pairs if _score(b) > _score(a)],
        lost=[a.key for a, b in pairs if _score(b) < _score(a)],
        only_first=missing[0],
        only_second=missing[1],
        warnings=warnings,
    )


def _doubts(one: Stored, other: Stored, anyway: bool) -> list[str]:
    """Return in what two evaluations differ beside their models; refuse where marks or questions may."""
    found: list[str] = []
    grave: list[str] = []
    before, now = _flat(one.identity), _flat(other.identity)
    for name in sorted(before.keys() | now.keys()):
        is_model = name.startswith(MODEL) and name != f"{MODEL}chat_template"
        if before.get(name) != now.get(name) and not is_model:
            told = f"{name}: {_short(before.get(name))} in {one.name}, {_short(now.get(name))} in {other.name}"
            (grave if name in DECISIVE else found).append(told)
    if grave and not anyway:
        advice = (
            "score one again (healthgym eval --rescore, then compare --rescored)"
            if grave[0].startswith("scorer")
            else "run one again"
        )
        raise ConfigError(
            f"{one.path} and {other.path} cannot be compared: {'; '.join(grave)}. Either {advice}, or compare anyway "
            "with --anyway"
        )
    for run in (one, other):
        if run.result.get("partial"):
            found.append(f"{run.name} is partial")
        if not run.identity:
            found.append(f"{run.name} has no run.json: whether it was made alike cannot be checked")
    return [f"They differ in {told}." if ": " in told else f"{told}." for told in grave + found]


def _paired(pairs: Sequence[Pair], number: Callable[[Row], float], margin: float) -> Paired:
    first, second = [number(a) for a, _ in pairs], [number(b) for _, b in pairs]
    return compare_scores(first, second, [cluster_of(a) for a, _ in pairs], margin=margin)


def _score(row: Row) -> float:
    return row.score or 0.0


def _is_answered(row: Row) -> float:
    return float(row.status == "answered")


def _by_score(pairs: Sequence[Pair], margin: float) -> dict[str, Paired]:
    found = {}
    for name in sorted({name for pair in pairs for name in pair[0].scores if name in pair[1].scores}):
        having = [(a, b) for a, b in pairs if name in a.scores and name in b.scores]
        found[name] = _paired(having, lambda row, name=name: float(row.scores[name]), margin)  # type: ignore[misc]
    return found


def _by_stratum(pairs: Sequence[Pair], margin: float) -> dict[str, dict[str, Paired]]:
    groups: dict[str, dict[str, list[Pair]]] = {}
    for pair in pairs:
        for name, value in pair[0].strata.items():
            groups.setdefault(name, {}).setdefault(str(value), []).append(pair)
    return {
        name: {
            value: _paired(group, _score, margin)
            for value, group in sorted(values.items())
            if len(group) >= MIN_STRATUM
        }
        for name, values in sorted(groups.items())
        if len(values) > 1
    }


def _adjusted(made: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with Holm's p-values, family by family."""
    both = _holm([one.both for one in made])
    everything, answering = _holm([one.everything for one in made]), _holm([one.answering for one in made])
    scores = _holm([paired for one in made for paired in one.scores.values()])
    strata = _holm([paired for one in made for values in one.strata.values() for paired in values.values()])
    left_scores, left_strata = iter(scores), iter(strata)
    return [
        replace(
            one,
            both=both[place],
            everything=everything[place],
            answering=answering[place],
            scores={name: next(left_scores) for name in one.scores},
            strata={name: {value: next(left_strata) for value in values} for name, values in one.strata.items()},
        )
        for place, one in enumerate(made)
    ]


def _holm(family: Sequence[Paired | None]) -> list[Any]:
    adjusted = iter(holm([paired.p_value for paired in family if paired is not None]))
    return [None if paired is None else replace(paired, p_adjusted=next(adjusted)) for paired in family]


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _short(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:12]}..."
