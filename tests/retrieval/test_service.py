"""The search service encodes what threads ask together, remembers answers, and finds what the retriever finds."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from healthgym.errors import ConfigError
from healthgym.retrieval import HashingEncoder, MemoryRetriever, QueryError, SearchService, open_retriever
from healthgym.retrieval.batching import BatchingEncoder, EncoderClosed

QUERIES = [f"{word} {number}" for word in ("gout", "septic shock", "warfarin INR", "asthma") for number in range(16)]


class Gate(HashingEncoder):
    """Counts what it is asked for and encodes only while the gate is open."""

    def __init__(self):
        super().__init__()
        self.batches = []
        self.open = threading.Event()
        self.entered = threading.Event()

    def encode(self, texts, *, is_query=False):
        if is_query:
            self.batches.append(list(texts))
            self.entered.set()
            assert self.open.wait(30)
        return super().encode(texts, is_query=is_query)


class Broken(Gate):
    """Fails on every query."""

    def encode(self, texts, *, is_query=False):
        vectors = super().encode(texts, is_query=is_query)
        if is_query:
            raise OSError("the encoder broke")
        return vectors


def together(pool, service, encoder, queries, **options):
    """Ask for every query at once: the first is held in the encoder until the others wait."""
    first = pool.submit(service.search, queries[0], 3, **options)
    assert encoder.entered.wait(30)
    rest = [pool.submit(service.search, query, 3, **options) for query in queries[1:]]
    for _ in range(3000):
        if service.encoder.calls == len(queries):
            break
        threading.Event().wait(0.01)
    encoder.open.set()
    return [first, *rest]


def test_queries_that_arrive_while_the_encoder_is_busy_share_one_batch(facts):
    encoder = Gate()
    expected = [MemoryRetriever(facts).search(query, 3) for query in QUERIES]
    with SearchService(MemoryRetriever(facts, encoder)) as service, ThreadPoolExecutor(64) as pool:
        found = [future.result(30) for future in together(pool, service, encoder, QUERIES)]
    assert [len(batch) for batch in encoder.batches] == [1, 63]
    assert sorted(text for batch in encoder.batches for text in batch) == sorted(QUERIES)
    assert found == expected


def test_one_text_asked_by_many_threads_at_once_is_encoded_once_a_batch(facts):
    encoder = Gate()
    with SearchService(MemoryRetriever(facts, encoder)) as service, ThreadPoolExecutor(16) as pool:
        found = [future.result(30) for future in together(pool, service, encoder, ["gout", *["stroke"] * 9, "asthma"])]
    assert [sorted(batch) for batch in encoder.batches] == [["gout"], ["asthma", "stroke"]]
    assert {hits[0].id for hits in found[1:10]} == {"stroke"}


def test_batches_hold_no_more_than_they_may(facts):
    encoder = Gate()
    service = SearchService(MemoryRetriever(facts, encoder))
    service.encoder.max_batch = 10
    with ThreadPoolExecutor(64) as pool:
        expected = [MemoryRetriever(facts).search(query, 3) for query in QUERIES]
        assert [future.result(30) for future in together(pool, service, encoder, QUERIES)] == expected
    assert max(map(len, encoder.batches)) == 10
    assert len(encoder.batches) == 8  # 1 alone, then 63 by tens
    with pytest.raises(ConfigError, match="max_batch"):
        BatchingEncoder(HashingEncoder(), 0)


def test_a_repeated_search_is_answered_from_memory(facts):
    encoder = Gate()
    encoder.open.set()
    service = SearchService(MemoryRetriever(facts, encoder))
    first = service.search("gout", 3)
    first_again = service.search(" gout ", 3)
    assert first == first_again
    first_again.clear()  # the caller's list is its own
    assert service.search("gout", 3) == first
    assert (service.info["searches"], service.info["repeated"]) == (3, 2)
    assert [hit.id for hit in service.search("gout", 3, exclude=["gout"])] != [hit.id for hit in first]
    assert len(service.search("gout", 1)) == 1
    assert service.info["repeated"] == 2
    assert encoder.batches == [["gout"]]


def test_filters_given_in_any_form_are_one_search(facts):
    service = SearchService(MemoryRetriever(facts))
    asked = [("drugs", "conditions"), ["conditions", "drugs"], iter(("drugs", "conditions"))]
    assert len({tuple(service.search("insulin", 4, sources=sources)) for sources in asked}) == 1
    assert service.info["repeated"] == 2


def test_memory_forgets_the_answer_not_asked_for_longest(facts):
    service = SearchService(MemoryRetriever(facts), remembered=2)
    for query in ("gout", "sepsis", "gout", "stroke", "gout", "sepsis"):
        service.search(query)
    assert service.info["repeated"] == 2  # gout twice; sepsis went when stroke came


def test_one_bad_query_fails_alone(facts):
    service = SearchService(MemoryRetriever(facts))
    for query, k in (("", 3), ("x" * 2001, 3), (None, 3), ("gout", 0), ("gout", True), (["gout"], 3)):
        with pytest.raises(QueryError):
            service.search(query, k)
    assert service.search("gout", 1)[0].id == "gout"


def test_a_broken_encoder_fails_every_search_of_the_batch_and_nothing_hangs(facts):
    encoder = Broken()
    service = SearchService(MemoryRetriever(facts, encoder))
    with ThreadPoolExecutor(16) as pool:
        futures = together(pool, service, encoder, QUERIES[:12])
        for future in futures:
            with pytest.raises(OSError, match="the encoder broke"):
                future.result(30)
    with pytest.raises(OSError, match="the encoder broke"):
        service.search("once more")


def test_a_closed_service_refuses_new_texts_and_answers_those_under_way(facts):
    encoder = Gate()
    service = SearchService(MemoryRetriever(facts, encoder))
    with ThreadPoolExecutor(8) as pool:
        futures = together(pool, service, encoder, ["gout", "sepsis", "stroke"])
        service.close()
        assert [future.result(30)[0].id for future in futures] == ["gout", "sepsis", "stroke"]
    service.close()
    with pytest.raises(EncoderClosed, match="open a new one"):
        service.search("asthma")


def test_on_disk_the_service_finds_what_the_retriever_finds(built):
    retriever = open_retriever(built)
    expected = [retriever.search(query, 4) for query in QUERIES]
    with SearchService(open_retriever(built)) as service, ThreadPoolExecutor(16) as pool:
        assert list(pool.map(lambda query: service.search(query, 4), QUERIES)) == expected
        assert service.search_many(QUERIES, 4) == expected
        assert service.passage("gout") == retriever.passage("gout")
        assert service.info["passages"] == 10


def test_a_forked_child_searches_even_when_the_parent_was_inside_the_encoder(facts):
    encoder = Gate()
    with SearchService(MemoryRetriever(facts, encoder)) as service, ThreadPoolExecutor(1) as pool:
        held = pool.submit(service.search, "gout")
        assert encoder.entered.wait(30)
        child = os.fork()
        if child == 0:
            encoder.open.set()
            os._exit(0 if service.search("stroke", 1)[0].id == "stroke" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        encoder.open.set()
        assert held.result(30)[0].id == "gout"


FORK = """
import os, random, signal, sys
from healthgym.retrieval import HashingEncoder, Passage, SearchService, build_index, open_retriever

rng = random.Random(0)
words = [f"word{number}" for number in range(300)]
rows = [Passage(id=str(n), title="t", text=" ".join(rng.choices(words, k=20)), source="s", licence="MIT") for n in range(300)]
build_index([rows], sys.argv[1], HashingEncoder(64), kind="hnsw")
service = SearchService(open_retriever(sys.argv[1], HashingEncoder(64)))
queries = [" ".join(rng.choices(words, k=4)) for _ in range(64)]
ids = [[hit.id for hit in hits] for hits in service.search_many(queries)]
child = os.fork()
if child == 0:
    signal.alarm(30)
    os._exit(0 if [[hit.id for hit in hits] for hits in service.search_many(queries)] == ids else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_searches_though_faiss_had_threads_in_the_parent(tmp_path):
    pytest.importorskip("faiss")
    pytest.importorskip("bm25s")
    threads = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", FORK, str(tmp_path / "index")], env=threads, timeout=120, check=False)
    assert done.returncode == 0
