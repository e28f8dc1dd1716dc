"""Several attempts at each item: pass@k, pass^k, and whether the attempts differ at all."""

from collections.abc import Callable, Sequence

from healthgym.evaluation.estimate import Estimate, is_binary, score_estimate
from healthgym.evaluation.rows import Row
from healthgym.evaluation.statistics import pass_at_k, pass_hat_k


def cluster_of(row: Row) -> str:
    """Return the patient or question that a row belongs to: its item where it names none."""
    return row.cluster or row.id


def by_item(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each item, in the order of their attempts."""
    items: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.attempt):
        items.setdefault(row.id, []).append(row)
    return items


def pass_rates(rows: Sequence[Row]) -> tuple[dict[str, Estimate], dict[str, Estimate]]:
    """Return pass@k and pass^k by k, over items with at least k attempts; both empty where they mean nothing.

    An attempt is right when its score is 1; refused, degenerate, truncated and unparsed attempts are not. The mean is
    over items, its interval from items or, where items share one, their clusters.

    Args:
        rows: Without those that were lost.
    """
    items = by_item(rows)
    most = max((len(attempts) for attempts in items.values()), default=0)
    if most < 2 or not is_binary([row.score for row in rows if row.score is not None]):
        return {}, {}
    shown = [k for k in range(1, most + 1) if k <= 4 or k & (k - 1) == 0 or k == most]

    def over_items(rate: Callable[[int, int, int], float], k: int) -> Estimate:
        enough = [attempts for attempts in items.values() if len(attempts) >= k]
        values = [rate(len(attempts), sum(row.score == 1.0 for row in attempts), k) for attempts in enough]
        return score_estimate(values, [cluster_of(attempts[0]) for attempts in enough])

    return {str(k): over_items(pass_at_k, k) for k in shown}, {str(k): over_items(pass_hat_k, k) for k in shown}


def attempts_are_alike(rows: Sequence[Row]) -> bool:
    """Say whether every item with several attempts got the same output in all of them, and there is such an item."""
    several = [attempts for attempts in by_item(rows).values() if len(attempts) > 1]
    return bool(several) and all(len({(row.output, row.prediction) for row in attempts}) == 1 for attempts in several)
