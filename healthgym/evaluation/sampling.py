"""A fixed sample of a benchmark's items: strata in proportion, and a larger sample holds every smaller one."""

from collections import defaultdict
from collections.abc import Sequence

from healthgym.errors import ConfigError
from healthgym.evaluation.items import Item
from healthgym.seeds import mix_seed

_WHOLE = 2**53


def sample_items(items: Sequence[Item], limit: int | None) -> list[Item]:
    """Return `limit` items in the benchmark's order, or all of them; the same ones for every run of the benchmark.

    Within each stratum items lie at even distances on a line from 0 to 1, in an order and with an offset that only their
    names decide; the sample is whatever comes first on that line. A stratum's share of the sample is its share of the
    items, to within two items.

    Args:
        items: All items.
        limit: How many are wanted; None or more than there are takes all.

    Raises:
        ConfigError: The limit is below 1.
    """
    if limit is not None and limit < 1:
        raise ConfigError(f"--limit must be at least 1, got {limit}; leave it out to take all items")
    if limit is None or limit >= len(items):
        return list(items)
    strata: dict[str, list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        strata[repr(sorted(item.strata.items()))].append(place)
    line: list[tuple[float, int, int]] = []
    for name, places in strata.items():
        places.sort(key=lambda place: mix_seed("order", items[place].id))
        offset = mix_seed("offset", name, bits=53) / _WHOLE
        line += [
            ((rank + offset) / len(places), mix_seed("tie", items[place].id), place)
            for rank, place in enumerate(places)
        ]
    return [items[place] for place in sorted(place for _, _, place in sorted(line)[:limit])]
