"""Passages keep their origin through files; broken files are named with the line."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthgym.errors import ContentError
from healthgym.retrieval import Passage, read_corpus, read_passages, write_passages
from healthgym.retrieval.chunking import chunk_text, split_sentences
from healthgym.retrieval.store import PassageStore
from healthgym.retrieval.tokens import singular, tokenize

ROW = {"id": "a", "title": "T", "text": "x", "source": "s", "licence": "CC0-1.0"}


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz"])
def test_passages_come_back_as_they_were_written(facts, tmp_path, name):
    odd = Passage(
        id="ö", title="β-Blocker", text="line\nbreak \u2028 kept", source="s", licence="CC0-1.0", ref="r", section="§"
    )
    assert write_passages([*facts, odd], tmp_path / name) == 11
    assert list(read_passages(tmp_path / name)) == [*facts, odd]


def test_a_year_under_published_becomes_the_date(tmp_path):
    (tmp_path / "p.jsonl").write_text(json.dumps({**ROW, "published": 1989}) + "\n")
    assert next(read_passages(tmp_path / "p.jsonl")).date == "1989"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"id": "a"', ("p.jsonl:2", "not JSON")),
        ("[1]", ("p.jsonl:2", "list")),
        (json.dumps({**ROW, "licence": None}), ("p.jsonl:2", "licence missing")),
        (json.dumps({**ROW, "text": "  "}), ("p.jsonl:2", "text")),
        (json.dumps({**ROW, "title": 3}), ("p.jsonl:2", "title must be text")),
    ],
)
def test_a_broken_row_is_named_by_file_and_line(tmp_path, line, words):
    (tmp_path / "p.jsonl").write_text(json.dumps(ROW) + "\n" + line + "\n")
    with pytest.raises(ContentError) as caught:
        list(read_passages(tmp_path / "p.jsonl"))
    assert all(word in str(caught.value) for word in words)


def test_a_compressed_file_cut_short_is_an_error_and_not_fewer_passages(tmp_path):
    rows = "".join(json.dumps({**ROW, "id": str(number)}) + "\n" for number in range(2000))
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress(rows.encode())[:-40])
    with pytest.raises(ContentError, match=r"p\.jsonl\.gz: unreadable after line"):
        list(read_passages(tmp_path / "p.jsonl.gz"))


def test_sentences_end_at_stops_but_not_at_abbreviations_or_decimals():
    text = 'Give 2.5 mg, e.g. Tablets. Dr. Who said "stop." Then wait!\n\n- First item\n- Second item'
    assert list(split_sentences(text)) == [
        "Give 2.5 mg, e.g. Tablets.",
        'Dr. Who said "stop."',
        "Then wait!",
        "- First item",
        "- Second item",
    ]


@given(st.lists(st.integers(1, 300), min_size=1, max_size=20))
def test_chunks_hold_every_word_once_and_at_most_120(lengths):
    text = " ".join(" ".join(["Word"] * length) + "." for length in lengths)
    chunks = list(chunk_text(text))
    assert max(len(chunk.split()) for chunk in chunks) <= 120
    assert " ".join(chunks) == text


def test_chunks_are_cut_between_sentences():
    # Sentences of 70, 40 and 30 words: 70 + 40 = 110 fit in 120, with 30 more they would be 140.
    sentences = [" ".join(["Word"] * length) + "." for length in (70, 40, 30)]
    assert list(chunk_text(" ".join(sentences))) == [" ".join(sentences[:2]), sentences[2]]


def test_markdown_headings_become_title_and_section(tmp_path):
    (tmp_path / "guide.md").write_text("# Sepsis\nStart early.\n## Fluids\nGive 30 mL/kg.\n```\n# not a heading\n```\n")
    (tmp_path / "notes.txt").write_text("# plain text.")
    passages = list(read_corpus(tmp_path, source="ward", licence="CC0-1.0"))
    assert [(each.id, each.title, each.section) for each in passages] == [
        ("ward:guide.md#0", "Sepsis", None),
        ("ward:guide.md#1", "Sepsis", "Fluids"),
        ("ward:notes.txt#0", "notes", None),
    ]
    assert "# not a heading" in passages[1].text
    assert {(each.source, each.licence) for each in passages} == {("ward", "CC0-1.0")}


def test_a_licence_that_nobody_stated_is_not_invented(tmp_path):
    (tmp_path / "notes.txt").write_text("Text.")
    assert next(read_corpus(tmp_path / "notes.txt")).licence == "NOASSERTION"


def test_corpora_that_cannot_be_read_say_what_can(tmp_path):
    (tmp_path / "scan.doc").write_bytes(b"text")
    (tmp_path / "latin.txt").write_bytes("é".encode("latin-1"))
    for path, word in (("scan.doc", ".jsonl.gz"), ("nothing.txt", "no corpus"), ("latin.txt", "UTF-8")):
        with pytest.raises(ContentError, match=word):
            list(read_corpus(tmp_path / path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ContentError, match="holds no file"):
        list(read_corpus(tmp_path / "empty"))


def test_words_are_lower_case_singular_and_keep_decimals():
    assert tokenize("The Beta-blockers of CYP3A4: 2.5 mg, therapies") == [
        "beta",
        "blocker",
        "cyp3a4",
        "2.5",
        "mg",
        "therapy",
    ]
    assert [singular(word) for word in ("viruses", "virus", "mass", "gas", "diseases")] == [
        "viruse",
        "virus",
        "mass",
        "gas",
        "disease",
    ]


def test_a_store_that_cannot_give_its_passages_cannot_be_made():
    with pytest.raises(TypeError, match="__getitem__"):
        PassageStore(np.empty((0, 2), np.uint64), np.empty((0, 2), np.uint16), np.empty((0, 2), np.int32), {}, {})
