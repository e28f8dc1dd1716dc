"""A sample of items is fixed, keeps the strata's shares, and lies within every larger one."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthgym.errors import ConfigError
from healthgym.evaluation.items import Item
from healthgym.evaluation.sampling import sample_items


def items(**sizes):
    return [Item(id=f"{name}{n}", content={}, strata={"of": name}) for name, size in sizes.items() for n in range(size)]


@given(a=st.integers(1, 40), b=st.integers(1, 40), c=st.integers(0, 9), limit=st.integers(1, 100))
def test_a_larger_sample_holds_the_smaller_and_shares_are_those_of_the_items(a, b, c, limit):
    every = items(a=a, b=b, c=c)
    chosen, more = sample_items(every, limit), sample_items(every, limit + 1)
    assert len(chosen) == min(limit, len(every))
    assert {one.id for one in chosen} <= {one.id for one in more}
    drawn = Counter(one.strata["of"] for one in chosen)
    for name, size in (("a", a), ("b", b), ("c", c)):
        assert abs(drawn[name] - len(chosen) * size / len(every)) < 2


def test_the_sample_keeps_the_order_and_ignores_that_of_the_items():
    every = items(a=10, b=30)
    chosen = [one.id for one in sample_items(every, 8)]
    assert chosen == [one.id for one in every if one.id in chosen]
    assert sorted(chosen) == sorted(one.id for one in sample_items(every[::-1], 8))
    # 8 of 40: a fifth of each stratum, 2 of 10 and 6 of 30.
    assert Counter(name[0] for name in chosen) == {"a": 2, "b": 6}


def test_no_limit_or_a_high_one_takes_all_and_none_is_refused():
    every = items(a=3)
    assert sample_items(every, None) == sample_items(every, 99) == every
    with pytest.raises(ConfigError, match="at least 1"):
        sample_items(every, 0)
