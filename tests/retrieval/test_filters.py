"""Filters by date and by exclusion list; a filter never starves a search."""

import numpy as np
import pytest

from healthgym.errors import ContentError, ToolError
from healthgym.retrieval import MemoryRetriever, Passage, QueryError, open_retriever
from healthgym.retrieval.dates import date_range, date_window
from healthgym.retrieval.dense import FaissDense, build_faiss
from healthgym.retrieval.exclusions import read_exclusions, write_exclusions


def dated(**dates):
    return MemoryRetriever(
        Passage(id=name, title="Measles", text=f"Measles {name}.", source="s", licence="CC0-1.0", date=date)
        for name, date in dates.items()
    )


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2019", (20190101, 20191231)),
        ("2020-02", (20200201, 20200229)),
        ("2019-05-07T10:00", (20190507, 20190507)),
        ("2019-13", (0, 0)),
        ("2019-02-30", (0, 0)),
        ("May 2019", (0, 0)),
        ("19", (0, 0)),
        (None, (0, 0)),
    ],
)
def test_dates_become_ranges_of_days(text, days):
    assert date_range(text) == days


def test_a_date_filter_keeps_what_may_lie_within_and_drops_the_undated():
    retriever = dated(old="1989", month="2019-05", day="2019-05-07", year="2019", none=None, words="last year")

    def found(**window):
        return {hit.id for hit in retriever.search("measles", 10, **window)}

    assert found() == {"old", "month", "day", "year", "none", "words"}
    assert found(since="1990") == {"month", "day", "year"}
    assert found(until="1989") == {"old"}
    assert found(since="2019-05-08") == {"month", "year"}
    assert found(since="2019-06") == {"year"}
    assert found(since="2019-05-07", until="2019-05-07") == {"month", "day", "year"}


def test_a_date_that_is_none_is_the_agents_mistake():
    with pytest.raises(ToolError, match="since must be a year"):
        dated(a="2019").search("measles", since="yesterday")
    with pytest.raises(ToolError, match="exchange"):
        date_window("2020", "2019")


def test_an_exclusion_list_survives_its_file(tmp_path):
    assert write_exclusions(tmp_path / "x.txt", ["b", "a#1", "a#1"], "overlap") == 2
    assert (tmp_path / "x.txt").read_text() == "# overlap\na#1\nb\n"
    assert read_exclusions(tmp_path / "x.txt") == {"a#1", "b"}
    write_exclusions(tmp_path / "none.txt", [], "overlap")
    assert read_exclusions(tmp_path / "none.txt") == frozenset()
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "bytes.txt").write_bytes(b"\xff")
    for name, word in (
        ("empty.txt", "no passage id"),
        ("bytes.txt", "not UTF-8"),
        ("missing.txt", "kb audit writes one"),
    ):
        with pytest.raises(ContentError, match=word):
            read_exclusions(tmp_path / name)


def test_an_index_opened_with_an_exclusion_list_never_shows_those_passages(built, tmp_path):
    write_exclusions(tmp_path / "x.txt", ["gout", "not-in-the-index"], "overlap")
    retriever = open_retriever(built, exclude=tmp_path / "x.txt")
    for mode in ("fused", "dense", "lexical"):
        assert "gout" not in {hit.id for hit in retriever.search("acute gout colchicine", 10, mode=mode)}
    assert "warfarin" not in {hit.id for hit in retriever.search("warfarin", 10, exclude=["warfarin"])}
    with pytest.raises(QueryError, match="No passage"):
        retriever.passage("gout")
    assert open_retriever(built).search("gout", 1)[0].id == "gout"


def test_a_filter_far_from_the_query_still_finds_k(monkeypatch):
    """Two clusters on a graph; the filter allows only the one the query is far from."""
    faiss = pytest.importorskip("faiss")
    monkeypatch.setattr("healthgym.retrieval.dense.FILTERED_EXACT", 0)
    monkeypatch.setattr("healthgym.retrieval.dense.SEARCH_BREADTH", 1)
    rng = np.random.default_rng(0)
    near, far = np.eye(32, dtype=np.float32)[:2]
    vectors = np.repeat([near, near * 0.2 + far], [1500, 500], axis=0) + rng.normal(0, 0.02, (2000, 32)).astype(
        np.float32
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    dense = FaissDense(build_faiss([vectors.astype(np.float32)], "hnsw"), faiss)
    allowed = np.arange(2000) >= 1500
    for positions, scores in dense.search(near[None], 50, allowed):
        assert len(positions) == 50 and positions.min() >= 1500
        exact = np.sort(vectors[1500:] @ near)[::-1][:50]
        np.testing.assert_allclose(scores, exact, atol=0.02)
    few = np.isin(np.arange(2000), [1501, 1999])
    assert set(dense.search(near[None], 50, few)[0][0]) == {1501, 1999}
