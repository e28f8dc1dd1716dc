"""Passages are added without encoding the old ones again."""

import shutil

import numpy as np
import pytest

from healthgym.errors import ContentError, PassageIndexError
from healthgym.retrieval import HashingEncoder, Passage, add_passages, build_index, open_retriever, write_passages

pytest.importorskip("faiss")
pytest.importorskip("bm25s")


class CountingEncoder(HashingEncoder):
    def __init__(self, dimension=512):
        super().__init__(dimension)
        self.seen = []

    def encode(self, texts, *, is_query=False):
        self.seen += texts
        return super().encode(texts, is_query=is_query)


def test_an_added_index_answers_as_one_built_of_all(facts, built, tmp_path):
    out, encoder = tmp_path / "index", CountingEncoder()
    build_index([facts[:6]], out, HashingEncoder())
    add_passages([facts[6:]], out, encoder)
    assert encoder.seen == [passage.full_text for passage in facts[6:]]
    grown, whole = open_retriever(out), open_retriever(built)
    for mode in ("dense", "lexical", "fused"):
        for query in ("acute gout", "insulin and diabetes", "heart attack"):
            assert grown.search(query, 10, mode=mode) == whole.search(query, 10, mode=mode)
    assert grown.info["sources"] == whole.info["sources"]


def test_what_is_there_already_is_not_added_again(facts, damaged, tmp_path):
    new = Passage(id="zebra", title="Zebra", text="Zebra fever is rare.", source="own", licence="CC-BY-4.0")
    write_passages([*facts, new], tmp_path / "more.jsonl")
    manifest = add_passages([tmp_path / "more.jsonl"], damaged)
    assert (manifest.passages, manifest.parameters["duplicates"]["exact"]) == (11, 10)
    notes = []
    assert add_passages([tmp_path / "more.jsonl"], damaged, notice=notes.append) == manifest
    assert any("in the index already" in note for note in notes)
    assert open_retriever(damaged).search("zebra", 1, sources=["own"])[0].id == "zebra"


def test_an_id_of_another_passage_is_refused_and_the_index_stays(facts, damaged):
    other = Passage(id="gout", title="Gout", text="Another text.", source="own", licence="CC0-1.0")
    before = sorted(damaged.rglob("*"))
    with pytest.raises(ContentError, match="two passages have the id 'gout'"):
        add_passages([[other]], damaged)
    assert sorted(damaged.rglob("*")) == before
    assert len(open_retriever(damaged).store) == 10


def test_another_encoder_a_damaged_and_a_missing_index_are_refused(facts, damaged, tmp_path):
    with pytest.raises(PassageIndexError, match=r"'hashing' .*'hashing-64'"):
        add_passages([facts], damaged, HashingEncoder(64))
    with pytest.raises(PassageIndexError, match="healthgym kb build"):
        add_passages([facts], tmp_path / "none")
    file = next(damaged.rglob("passages.jsonl"))
    file.write_bytes(b"x" + file.read_bytes()[1:])
    with pytest.raises(PassageIndexError, match="checksum"):
        add_passages([facts], damaged)


def test_an_open_retriever_outlives_the_addition(facts, damaged):
    retriever = open_retriever(damaged)
    add_passages([[Passage(id="z", title="Z", text="Zebra.", source="own", licence="CC0-1.0")]], damaged)
    assert retriever.search("acute gout", 1)[0].id == "gout"
    assert len(list(damaged.glob("data-*"))) == 1


def rows(first, last, dimension_words=900):
    rng = np.random.default_rng(first)
    return [
        Passage(
            id=str(n), title=f"T{n}", text=" ".join(f"w{w}" for w in rng.integers(0, dimension_words, 25)), source="s",
            licence="CC0-1.0",
        )
        for n in range(first, last)
    ]  # fmt: skip


@pytest.mark.parametrize("first", [200, 600])
def test_a_growing_index_becomes_a_graph_without_encoding_again(monkeypatch, tmp_path, first):
    monkeypatch.setattr("healthgym.retrieval.stages.EXACT_BELOW", 500)
    out, encoder = tmp_path / "index", CountingEncoder(64)
    passages = rows(0, first + 100) if first == 600 else rows(0, 600)
    kind = "hnsw" if first == 600 else "exact"
    assert build_index([passages[:first]], out, HashingEncoder(64)).index == kind
    assert add_passages([passages[first:]], out, encoder).index == "hnsw"
    assert len(encoder.seen) == len(passages) - first
    retriever = open_retriever(out)
    wanted = [passages[n] for n in (0, first - 1, first, len(passages) - 1)]
    found = [retriever.search(passage.text, 1, mode="dense")[0].id for passage in wanted]
    assert found == [passage.id for passage in wanted]


def test_a_killed_addition_leaves_the_index_and_goes_on(facts, damaged, tmp_path):
    write_passages(rows(0, 30), tmp_path / "more.jsonl")

    def progress(stage, done, total):
        if stage == "encode" and done >= 16:
            raise KeyboardInterrupt

    whole = shutil.copytree(damaged, tmp_path / "whole")
    expected = add_passages([tmp_path / "more.jsonl"], whole, batch_size=8)
    with pytest.raises(KeyboardInterrupt):
        add_passages([tmp_path / "more.jsonl"], damaged, batch_size=8, progress=progress)
    assert len(open_retriever(damaged).store) == 10
    encoder = CountingEncoder()
    assert add_passages([tmp_path / "more.jsonl"], damaged, encoder, batch_size=8).files == expected.files
    assert len(encoder.seen) == 14
