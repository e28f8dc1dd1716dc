"""Searches: fused order, filters, limits, the query cache; in memory as on disk."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from healthgym.errors import ContentError, MissingDependency, ToolError
from healthgym.retrieval import HashingEncoder, MemoryRetriever, QueryError, open_retriever
from healthgym.retrieval.ranking import reciprocal_rank_fusion, top

QUESTIONS = {
    "mortality of septic shock": "sepsis",
    "amiodarone and warfarin INR": "warfarin",
    "first line drug for type 2 diabetes": "metformin",
    "hypoglycemia from too much insulin": "insulin",
    "salbutamol for asthma attack": "asthma",
    "breathlessness chronic obstructive disease": "copd",
    "alteplase ischemic stroke 4.5 hours": "stroke",
    "aspirin heart attack": "mi",
    "nitrofurantion cystitis": "uti",
    "colchicin for gouty pain": "gout",
    "bronchodilator": "copd",
    "reperfusin": "mi",
}
"""Questions with the one passage that answers each; some are misspelt or spelt the American way."""


@pytest.fixture(scope="module")
def memory(facts):
    pytest.importorskip("bm25s")
    return MemoryRetriever(facts)


@pytest.fixture(params=["memory", "disk"])
def retriever(request, memory, built):
    return memory if request.param == "memory" else open_retriever(built)


def reciprocal_rank(retriever, mode):
    ranks = [[hit.id for hit in hits] for hits in retriever.search_many(list(QUESTIONS), 10, mode=mode)]
    return float(
        np.mean(
            [
                1 / (1 + ids.index(want)) if want in ids else 0
                for ids, want in zip(ranks, QUESTIONS.values(), strict=True)
            ]
        )
    )


def test_fused_order_is_no_worse_than_either_alone(retriever):
    dense, lexical, fused = (reciprocal_rank(retriever, mode) for mode in ("dense", "lexical", "fused"))
    assert lexical < 1  # misspelt words are out of its reach
    assert fused >= max(dense, lexical)
    assert fused > 0.9


def test_fusion_adds_reciprocal_ranks():
    # 7: 1/11 + 1/12 = 0.17424; 3: 1/11 + 1/13 = 0.16783; 5: 1/12; 9: 1/13.
    one = (np.array([7, 5, 3]), np.ones(3, np.float32))
    other = (np.array([3, 7, 9]), np.ones(3, np.float32))
    positions, scores = reciprocal_rank_fusion([one, other], 10)
    assert positions.tolist() == [7, 3, 5, 9]
    np.testing.assert_allclose(scores, [1 / 11 + 1 / 12, 1 / 11 + 1 / 13, 1 / 12, 1 / 13], rtol=1e-6)


def test_a_ranking_counts_by_its_weight():
    # 7: 0.5/11 + 1/13 = 0.12238; 3: 0.5/13 + 1/11 = 0.12937; 5: 0.5/12; 9: 1/12.
    one = (np.array([7, 5, 3]), np.ones(3, np.float32))
    other = (np.array([3, 9, 7]), np.ones(3, np.float32))
    positions, scores = reciprocal_rank_fusion([one, other], 10, (0.5, 1.0))
    assert positions.tolist() == [3, 7, 9, 5]
    np.testing.assert_allclose(scores, [0.5 / 13 + 1 / 11, 0.5 / 11 + 1 / 13, 1 / 12, 0.5 / 12], rtol=1e-6)


def test_equal_scores_rank_in_the_order_of_passages():
    positions, scores = top(np.array([0.5, 0.0, 0.9, 0.5, 0.5, -1.0]), 3)
    assert positions.tolist() == [2, 0, 3]
    assert scores.tolist() == pytest.approx([0.9, 0.5, 0.5])
    fused, _ = reciprocal_rank_fusion([(np.array([4]), np.ones(1)), (np.array([2]), np.ones(1))], 5)
    assert fused.tolist() == [2, 4]


def test_dense_scores_are_cosines(memory, encoder, facts):
    hit = memory.search("acute gout", 1, mode="dense")[0]
    query, passage = encoder.encode(["acute gout", facts[-1].full_text])
    assert hit.score == pytest.approx(float(query @ passage), abs=2e-6)


def test_memory_and_disk_agree(memory, built):
    on_disk = open_retriever(built)
    for mode in ("dense", "lexical", "fused"):
        for query in QUESTIONS:
            assert [hit.id for hit in memory.search(query, 4, mode=mode)] == [
                hit.id for hit in on_disk.search(query, 4, mode=mode)
            ]


@pytest.mark.parametrize("mode", ["fused", "dense", "lexical"])
def test_filters_and_exclusions_hold_in_every_mode(retriever, mode):
    query = "treatment of diabetes, gout, stroke, warfarin, insulin and asthma"
    everything = retriever.search(query, 10, mode=mode)
    assert {hit.passage.source for hit in everything} == {"drugs", "conditions"}
    drugs = retriever.search(query, 10, sources=["drugs"], mode=mode)
    assert {hit.id for hit in drugs} == {"warfarin", "metformin", "insulin"}
    free = retriever.search(query, 10, sources="drugs", licences={"CC0-1.0"}, mode=mode)
    assert {hit.id for hit in free} == {"metformin", "insulin"}
    rest = retriever.search(query, 10, exclude=frozenset({"insulin", "no-such-passage"}), sources=("drugs",), mode=mode)
    assert {hit.id for hit in rest} == {"warfarin", "metformin"}
    assert retriever.search(query, 10, sources=["drugs"], exclude=["warfarin", "metformin", "insulin"], mode=mode) == []


def test_a_small_k_returns_the_head_of_a_large_k(retriever):
    hits = retriever.search("insulin and diabetes", 5)
    assert retriever.search("insulin and diabetes", 2) == hits[:2]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_many_queries_answer_as_one_by_one(retriever):
    assert retriever.search_many(list(QUESTIONS), 3) == [retriever.search(query, 3) for query in QUESTIONS]
    assert retriever.search_many([], 3) == []


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"query": " \n"}, "empty"),
        ({"query": "x" * 2001}, "2001 characters"),
        ({"query": "gout \udcff"}, "not UTF-8"),
        ({"query": None}, "NoneType"),
        ({"query": "x", "k": 0}, "1 to 100"),
        ({"query": "x", "k": 10_000}, "10000"),
        ({"query": "x", "k": True}, "True"),
        ({"query": "x", "k": 2.0}, "2.0"),
        ({"query": "x", "mode": "fusd"}, "'fused'"),
        ({"query": "x", "sources": ["drug"]}, "Did you mean 'drugs'"),
        ({"query": "x", "licences": ["MIT"]}, "CC0-1.0"),
        ({"query": "x", "sources": []}, "leave it out"),
    ],
)
def test_a_bad_search_is_the_agents_mistake_and_says_what_to_change(retriever, options, word):
    with pytest.raises(QueryError, match=word) as caught:
        retriever.search(**options)
    assert isinstance(caught.value, ToolError)
    assert isinstance(caught.value, ValueError)


def test_a_query_of_2000_characters_is_searched(retriever):
    assert retriever.search(("gout " * 400)[:2000], 1)[0].id == "gout"


def test_queries_without_a_known_word_find_nothing(retriever):
    for mode in ("dense", "lexical", "fused"):
        assert retriever.search("the of and", mode=mode) == []


def test_an_unknown_id_is_an_error(retriever):
    assert retriever.passage("gout").title == "Gout"
    for name in ("gouty", "", None):
        with pytest.raises(QueryError, match="No passage has the id"):
            retriever.passage(name)


class CountingEncoder(HashingEncoder):
    def __init__(self):
        super().__init__()
        self.seen = []

    def encode(self, texts, *, is_query=False):
        if is_query:
            self.seen.append(list(texts))
        return super().encode(texts, is_query=is_query)


def test_a_query_is_encoded_once_and_new_ones_together(facts):
    retriever = MemoryRetriever(facts, encoder := CountingEncoder())
    first = retriever.search("gout")
    retriever.search_many(["gout", "sepsis", "stroke", "sepsis"])
    assert encoder.seen == [["gout"], ["sepsis", "stroke"]]
    assert retriever.search(" gout ") == first
    assert len(encoder.seen) == 2


def test_the_cache_forgets_the_oldest_query(monkeypatch, facts):
    monkeypatch.setattr("healthgym.retrieval.retriever.CACHED_QUERIES", 2)
    retriever = MemoryRetriever(facts, encoder := CountingEncoder())
    for query in ("gout", "sepsis", "gout", "stroke", "gout", "sepsis"):
        retriever.search(query)
    assert encoder.seen == [["gout"], ["sepsis"], ["stroke"], ["sepsis"]]


def test_threads_share_a_retriever(retriever):
    queries = [f"{query} {number}" for number in range(20) for query in QUESTIONS]
    expected = [retriever.search(query, 3) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: retriever.search(query, 3), queries)) == expected


def test_without_bm25s_memory_searches_are_dense_and_say_so(monkeypatch, facts):
    whole = MemoryRetriever(facts)
    monkeypatch.setitem(sys.modules, "bm25s", None)
    bare = MemoryRetriever(facts)
    assert bare.info["lexical"] == "missing"
    assert whole.info["lexical"] == "bm25s"
    assert bare.search("acute gout") == whole.search("acute gout", mode="dense")
    with pytest.raises(MissingDependency, match=r"healthgym\[kb\]"):
        bare.search("acute gout", mode="lexical")


def test_memory_needs_passages_of_distinct_ids(facts):
    with pytest.raises(ContentError, match="at least one"):
        MemoryRetriever([])
    with pytest.raises(ContentError, match="'gout'"):
        MemoryRetriever([*facts, facts[-1]])
