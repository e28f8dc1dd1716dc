"""The lexical index scores as BM25 says, whatever memory it was built in."""

import math
import random

import numpy as np
import pytest

from healthgym.retrieval import postings
from healthgym.retrieval.lexical import LexicalBuilder, LexicalIndex
from healthgym.retrieval.tokens import tokenize

bm25s = pytest.importorskip("bm25s")


@pytest.fixture(scope="module")
def texts():
    rng = random.Random(3)
    words = [f"word{number}" for number in range(300)]
    return [" ".join(rng.choices(words, weights=range(1, 301), k=rng.randrange(0, 60))) for _ in range(500)]


def built(texts):
    builder = LexicalBuilder()
    builder.add(texts)
    return builder.build()


def test_scores_follow_the_formula():
    # Three passages of 2, 1 and 3 words, mean 2. 'gout' is in two of them: rarity ln(1 + 1.5 / 2.5) = ln 1.6.
    # Passage 0 has it once in 2 words: 1 / (1 + 0.9); passage 2 twice in 3: 2 / (2 + 0.9 * (0.6 + 0.4 * 1.5)).
    positions, scores = built(["acute gout", "stroke", "gout, chronic gout"]).search("gout", 5)
    expected = {0: math.log(1.6) / 1.9, 2: math.log(1.6) * 2 / (2 + 0.9 * 1.2)}
    assert dict(zip(positions.tolist(), scores.tolist(), strict=True)) == pytest.approx(expected, rel=1e-6)
    assert positions.tolist() == [2, 0]


def test_scores_are_those_of_bm25s(texts):
    reference = bm25s.BM25(k1=postings.K1, b=postings.B, method="lucene")
    reference.index([tokenize(text) for text in texts], show_progress=False)
    index = built(texts)
    for query in ("word1 word299", "word250 word3 word3 word120", "unknown word7"):
        known = [word for word in tokenize(query) if word in reference.vocab_dict]
        expected = reference.get_scores(known)
        positions, scores = index.search(query, 500)
        assert len(positions) == np.count_nonzero(expected)
        np.testing.assert_allclose(scores, expected[positions], rtol=1e-5)


def test_files_and_blocks_give_the_index_that_memory_gives(monkeypatch, tmp_path, texts):
    built(texts).save(tmp_path / "memory")
    monkeypatch.setattr(postings, "IN_MEMORY", 1000)
    monkeypatch.setattr(postings, "BLOCK", 97)  # most words have fewer postings, the most frequent ones more
    (tmp_path / "work").mkdir()
    builder = LexicalBuilder(tmp_path / "work")
    for start in range(0, len(texts), 7):
        builder.add(texts[start : start + 7])
    builder.save(tmp_path / "files")
    names = sorted(path.name for path in (tmp_path / "memory").iterdir())
    assert sorted(path.name for path in (tmp_path / "files").iterdir()) == names
    for name in names:
        assert (tmp_path / "files" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes(), name
    assert list((tmp_path / "work").iterdir()) == []


def test_a_saved_index_is_mapped_and_finds_the_same(tmp_path, texts):
    index = built(texts)
    index.save(tmp_path / "index")
    opened = LexicalIndex.load(tmp_path / "index")
    assert isinstance(opened._bm25.scores["data"], np.memmap)
    allowed = np.arange(500) % 2 == 0
    for mask in (None, allowed):
        for mine, other in zip(
            index.search("word9 word200", 20, mask), opened.search("word9 word200", 20, mask), strict=True
        ):
            np.testing.assert_array_equal(mine, other)
    assert set(opened.search("word9 word200", 500, allowed)[0] % 2) == {0}


@pytest.mark.parametrize("passages", [["the of"], ["", "and"]])
def test_passages_without_a_word_are_found_by_nothing(tmp_path, passages):
    index = built(passages)
    index.save(tmp_path / "index")
    streamed = LexicalBuilder(tmp_path)
    streamed.add(passages)
    streamed.save(tmp_path / "streamed")
    for each in (index, LexicalIndex.load(tmp_path / "index"), LexicalIndex.load(tmp_path / "streamed")):
        assert len(each.search("health gout", 5)[0]) == 0
