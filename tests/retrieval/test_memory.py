"""What a build holds in memory does not grow with the texts, only by a few tables of numbers."""

import random
import tracemalloc

import numpy as np
import pytest

from healthgym.errors import ContentError
from healthgym.retrieval import Passage, build_index, chunking, corpora, dense, postings, read_corpus, text_lines
from healthgym.retrieval.dedupe import Signer, find_duplicates
from healthgym.retrieval.vector_file import VectorFile

MOST = 300
"""Bytes a passage: offsets, signatures, tables and their sorted copies take 150; a passage held as text takes 600."""


def passages(count):
    """Texts of 12 of 200 words under 40 titles: the vocabulary, which memory does hold, is the same for any number."""
    rng = random.Random(count)
    words = [f"word{number}" for number in range(200)]
    for number in range(count):
        text = " ".join(rng.choices(words, k=12))
        yield Passage(id=str(number), title=f"T{number % 40}", text=text, source="s", licence="CC0-1.0")


class Quick:
    """Gives every text the same vector."""

    name, fingerprint, dimension = "quick", "quick", 16

    def encode(self, texts, *, is_query=False):
        return np.full((len(texts), 16), 0.25, dtype=np.float32)


def peak_of(call):
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_a_build_of_more_passages_holds_a_few_numbers_more_of_each(monkeypatch, tmp_path):
    pytest.importorskip("faiss")
    pytest.importorskip("bm25s")
    monkeypatch.setattr(postings, "IN_MEMORY", 4096)  # what stays in memory up to a fixed size would count as growth
    monkeypatch.setattr(postings, "BLOCK", 512)

    def build(count, name):
        build_index([passages(count)], tmp_path / name, Quick(), duplicates="near", batch_size=64)

    build(100, "warm")  # imports and tables of numpy
    small, large = (peak_of(lambda count=count: build(count, str(count))) for count in (300, 1300))
    assert (large - small) / 1000 < MOST


def test_passages_that_repeat_each_other_take_little_memory_while_they_are_looked_for():
    # 500 texts, each 4 times: 3 repeats each, so 6 pairs of equal texts, found again by every one of the 12 bands.
    texts = [*passages(500)] * 4
    signatures = Signer().sign(texts)
    found = {}
    peak = peak_of(lambda: found.update(find_duplicates(signatures, texts.__getitem__, "near")))
    assert len(found) == 1500
    assert peak / len(texts) < 500


def test_an_index_takes_vectors_from_a_file_in_blocks(monkeypatch, tmp_path):
    pytest.importorskip("faiss")
    monkeypatch.setattr(dense, "ADDED_AT_A_TIME", 64)
    monkeypatch.setattr(dense, "TRAINING_ROWS", 50)
    vectors = np.random.default_rng(0).standard_normal((300, 16)).astype(np.float32)
    (tmp_path / "vectors").write_bytes(vectors.tobytes())
    taken = []
    read = VectorFile.__getitem__
    monkeypatch.setattr(VectorFile, "__getitem__", lambda self, rows: taken.append(rows) or read(self, rows))
    file = VectorFile(tmp_path / "vectors", 16)
    flat = dense.build_faiss([file, vectors[:10]], "exact")
    np.testing.assert_array_equal(flat.reconstruct_n(0, 310), np.concatenate([vectors, vectors[:10]]))
    assert dense.build_faiss([file], "hnsw").ntotal == 300
    assert max(len(range(*rows.indices(300))) for rows in taken) == 64


def test_a_vector_file_gives_the_rows_of_any_slice(tmp_path):
    vectors = np.arange(60, dtype=np.float32).reshape(20, 3)
    (tmp_path / "vectors").write_bytes(vectors.tobytes())
    file = VectorFile(tmp_path / "vectors", 3)
    for rows in (slice(0, 0), slice(None), slice(4, 9), slice(15, 99), slice(None, None, 6)):
        np.testing.assert_array_equal(file[rows], vectors[rows])
    assert (len(file), len(VectorFile(tmp_path / "none", 3))) == (20, 0)
    assert VectorFile(tmp_path / "none", 3)[:5].shape == (0, 3)


def test_a_large_text_is_never_in_memory_as_a_whole(monkeypatch, tmp_path):
    monkeypatch.setattr(text_lines, "AT_A_TIME", 4096)
    monkeypatch.setattr(chunking, "LONGEST_BLOCK", 4096)
    monkeypatch.setattr(corpora, "PIECE", 8)
    for name in ("a.md", "a.txt"):
        path, peaks = tmp_path / name, []
        for count in (1000, 4000):  # 42 and 175 kB
            lines = (f"Sentence {number} is of nine words and no more.\n" for number in range(count))
            path.write_text("# Fever\n" + "".join(lines))
            peaks.append(peak_of(lambda path=path: sum(1 for _ in read_corpus(path))))
        assert peaks[1] - peaks[0] < 20_000


@pytest.mark.parametrize(
    "text", ["", "\n", "one\r\ntwo\n\nthree", "a\u2028b\x0cc\n", "x" * 50 + "\n" + "é" * 40, "end\r"]
)
def test_lines_are_those_of_the_whole_text(monkeypatch, tmp_path, text):
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode("utf-8-sig"))
    whole = text.splitlines()
    for size in (3, 7, 1000):
        monkeypatch.setattr(text_lines, "AT_A_TIME", size)
        lines = list(text_lines.text_lines(path))
        assert lines == whole or (size < 50 and "".join(lines) == "".join(whole))


def test_a_line_that_does_not_fit_is_parted_between_words(monkeypatch, tmp_path):
    monkeypatch.setattr(text_lines, "AT_A_TIME", 10)
    path = tmp_path / "text.txt"
    path.write_text("alpha beta gamma delta")
    parts = list(text_lines.text_lines(path))
    assert len(parts) > 1 and [word for part in parts for word in part.split()] == ["alpha", "beta", "gamma", "delta"]


@pytest.mark.parametrize("end", [b"\xff tail", b"\xc3"])
def test_a_text_that_is_broken_at_its_end_is_refused_by_line_before_any_of_it_is_taken(monkeypatch, tmp_path, end):
    monkeypatch.setattr(text_lines, "AT_A_TIME", 16)
    path = tmp_path / "text.txt"
    path.write_bytes(b"One sentence of some words.\n" * 20 + end)
    seen = []
    with pytest.raises(ContentError, match=r"text\.txt:21: not UTF-8"):
        seen.extend(read_corpus(path))
    assert seen == []
