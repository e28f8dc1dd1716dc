"""Stored rows are scored again without inference; what changed is told, and changed items are refused."""

from dataclasses import replace

import pytest
from stored_evaluations import row

from healthgym.errors import ConfigError, HealthgymError
from healthgym.evaluation.items import Item, items_digest
from healthgym.evaluation.rescoring import rescore_rows

ITEMS = [Item(id=f"q{n}", content={"question": n, "gold": "A"}) for n in range(4)]


class Strict:
    """Reads only an output that is the gold's letter alone."""

    name = "quiz"

    def rescore(self, old, item):
        right = old.output == item.content["gold"]
        if len(old.output) > 1:
            return replace(old, status="unparsed", score=None, prediction=None)
        return replace(old, status="answered", score=float(right), prediction=old.output)


def stored(number, output, score=1.0, status="answered", **values):
    prediction = output[-1:] if status == "answered" else None
    return row(number, score, status, output=output, prediction=prediction, gold="A", **values)


def test_changes_are_told_row_by_row_and_in_sum():
    rows = [stored(0, "A"), stored(1, "it is A"), stored(2, "A", status="unparsed"), stored(3, "B", 0.0)]
    made, changes = rescore_rows(Strict(), rows, ITEMS)
    assert [each.score for each in made] == [1.0, None, 1.0, 0.0]
    assert (changes.n, len(changes.rows), changes.better, changes.worse) == (4, 2, 1, 1)
    assert changes.statuses() == {"answered > unparsed": 1, "unparsed > answered": 1}
    assert changes.to_dict()["rows"][0] == {
        "id": "q1", "attempt": 0, "status": ["answered", "unparsed"], "score": [1.0, None], "prediction": ["A", None],
    }  # fmt: skip
    assert str(changes).startswith("4 rows scored again: 2 changed, 1 better, 1 worse; answered > unparsed: 1")


def test_scoring_again_with_the_same_scorer_changes_nothing():
    rows, _ = rescore_rows(Strict(), [stored(0, "A"), stored(3, "B", 0.0)], ITEMS)
    again, changes = rescore_rows(Strict(), rows, ITEMS)
    assert again == rows and not changes.rows
    assert str(changes) == "2 rows scored again: none changed"


def test_rows_the_infrastructure_lost_stay_lost():
    lost = row(0, status="infra_error", error="gone")
    assert rescore_rows(Strict(), [lost], ITEMS)[0] == [lost]


def test_rows_whose_item_is_missing_or_changed_are_refused():
    with pytest.raises(ConfigError, match="1 rows belong to no item of quiz, 'q9'"):
        rescore_rows(Strict(), [stored(9, "A")], ITEMS)
    changed = [replace(ITEMS[0], content={"question": 0, "gold": "B"}), *ITEMS[1:]]
    digest = items_digest(ITEMS)
    assert rescore_rows(Strict(), [stored(0, "A")], ITEMS, digest=digest)[1].n == 1
    with pytest.raises(ConfigError, match="items of quiz have changed"):
        rescore_rows(Strict(), [stored(0, "A")], changed, digest=digest)
    with pytest.raises(ConfigError, match="another cluster or stratum"):
        rescore_rows(Strict(), [stored(0, "A", cluster="p1")], ITEMS)


def test_another_reader_can_take_the_benchmarks_place_but_not_swap_rows():
    made, _ = rescore_rows(Strict(), [stored(0, "A")], ITEMS, again=lambda old, item: replace(old, score=0.5))
    assert made[0].score == 0.5
    with pytest.raises(HealthgymError, match="answered with row"):
        rescore_rows(Strict(), [stored(0, "A")], ITEMS, again=lambda old, item: replace(old, id="q1"))
