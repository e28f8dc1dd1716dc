"""Audits find planted overlaps and nothing else, and their list keeps the passages out."""

import json
from dataclasses import replace

import pytest

from healthgym.errors import ConfigError, ContentError
from healthgym.retrieval import MemoryRetriever, Passage
from healthgym.retrieval.audit import audit
from healthgym.retrieval.audit_report import write_audit
from healthgym.retrieval.evaluation_texts import read_evaluation_texts
from healthgym.retrieval.exclusions import read_exclusions

STEM = "A 54-year-old woman with a long history of smoking comes to the clinic because of a cough that began two weeks ago."
# Words: a 54 year old woman with a long history of smoking comes to the clinic because of a cough that began two weeks ago
SHORT = "Which nerve supplies the skin over the lateral thigh?"  # 9 words


def passage(name, text, title="Note"):
    return Passage(id=name, title=title, text=text, source="own", licence="CC0-1.0")


@pytest.fixture
def questions(tmp_path):
    rows = [
        {"id": "q1", "question": STEM, "options": {"A": "Chest radiograph", "B": "Nothing"}},
        {"id": "q2", "question": SHORT, "options": ["femoral", "lateral femoral cutaneous"]},
        {
            "id": "q3",
            "question": "Too short?",
            "context": f"BACKGROUND: {STEM.upper()} It was not treated.",
            "options": None,
        },
    ]
    path = tmp_path / "eval.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def audited(questions, *passages, **options):
    return audit(MemoryRetriever(passages), [questions], **{"similarity": None, **options})


def found(result):
    return {(each.passage, each.item, each.words) for each in result.word_overlaps}


def test_a_run_of_13_words_is_found_and_one_of_12_is_not(questions):
    words = STEM.split()  # "54-year-old" counts as three words
    thirteen = passage("thirteen", "Before " + " ".join(words[1:12]) + " after.")  # 54 year old + 10 = 13
    twelve = passage("twelve", "Before " + " ".join(words[1:11]) + " after.")
    result = audited(questions, thirteen, twelve)
    assert found(result) == {("thirteen", "q1", 13), ("thirteen", "q3", 13)}
    assert result.excluded == ["thirteen"]
    assert result.word_overlaps[0].text == "54 year old woman with a long history of smoking comes to the"


def test_case_punctuation_and_line_breaks_hide_nothing(questions):
    hidden = passage("hidden", "Said: " + STEM.upper().replace(" ", "\n").replace("-", " - ") + " End.")
    result = audited(questions, hidden)
    assert found(result) == {("hidden", "q1", 24), ("hidden", "q3", 24)}
    assert {each.item: each.share for each in result.word_overlaps}["q1"] == 1.0


def test_a_short_question_is_looked_for_whole(questions):
    result = audited(questions, passage("whole", f"Quiz. {SHORT}"), passage("part", SHORT.replace("skin", "muscle")))
    assert found(result) == {("whole", "q2", 9)}


def test_a_run_does_not_go_on_in_the_next_passage(questions):
    words = STEM.split()
    assert found(audited(questions, passage("a", " ".join(words[:8])), passage("b", " ".join(words[8:20])))) == set()


def test_the_title_counts_as_text(questions):
    words = STEM.split()
    assert len(found(audited(questions, passage("a", " ".join(words[5:20]), " ".join(words[:5]))))) == 2


def test_a_section_counts_as_text(questions):
    result = audited(questions, replace(passage("faq", "Have it looked at soon."), section=STEM))
    assert result.excluded == ["faq"] and {each.words for each in result.word_overlaps} == {24}  # as counted above


def test_every_planted_overlap_among_many_passages_is_found(questions):
    """5,000 passages of other words; one in 500 holds the stem at a random place."""
    passages = [passage(str(n), " ".join(f"w{(n * 31 + k * 7) % 977}" for k in range(100))) for n in range(5000)]
    planted = {str(n) for n in range(0, 5000, 500)}
    passages = [replace(each, text=f"{each.text} {STEM} end") if each.id in planted else each for each in passages]
    assert set(audited(questions, *passages).excluded) == planted


def test_close_vectors_are_found_without_shared_runs(questions):
    swapped = " ".join(reversed(STEM.split()))
    result = audited(
        questions, passage("swapped", swapped), passage("other", "Gout is treated with colchicine."), similarity=0.6
    )
    assert {(each.passage, each.item) for each in result.vector_overlaps} == {("swapped", "q1"), ("swapped", "q3")}
    assert result.word_overlaps == [] and result.excluded == ["swapped"]
    assert 0.6 < result.nearest["p100"] < 1
    assert audited(questions, passage("swapped", swapped), similarity=0.999).excluded == []


def test_all_passages_that_are_close_are_found_however_many(questions):
    swapped = " ".join(reversed(STEM.split()))
    close = [passage(f"copy{number}", swapped) for number in range(7)]
    result = audited(questions, *close, passage("other", "Gout is treated with colchicine."), similarity=0.6)
    assert result.excluded == [each.id for each in close]


def test_a_report_names_overlaps_and_its_list_excludes_them(questions, tmp_path):
    retriever = MemoryRetriever(
        [passage("bad|one", STEM), passage("good", "Cough in a smoker needs a chest radiograph.")]
    )
    result = audit(retriever, [questions], similarity=None)
    written = write_audit(result, tmp_path / "audit")
    assert json.loads(written["audit.json"].read_text())["excluded"] == ["bad|one"]
    text = written["audit.md"].read_text()
    assert (
        "2 passages against 3 items (8 texts) of eval.jsonl" in text
        and "| bad\\|one | q1 | question | 24 | 1.00 |" in text
    )
    excluded = read_exclusions(written["exclude.txt"])
    assert [hit.id for hit in retriever.search("smoker with a cough", exclude=excluded)] == ["good"]


def test_a_clean_audit_writes_an_empty_list_that_can_be_used(questions, tmp_path):
    result = audited(questions, passage("good", "Gout is treated with colchicine."))
    assert read_exclusions(write_audit(result, tmp_path)["exclude.txt"]) == frozenset()


def test_evaluation_files_that_are_none_are_named(tmp_path, questions):
    for content, word in (
        ('{"answer": "A"}', r"e\.jsonl:1: expected"),
        ('{"question": "x", "options": [1]}', "options must be text"),
    ):
        (tmp_path / "e.jsonl").write_text(content + "\n")
        with pytest.raises(ContentError, match=word):
            list(read_evaluation_texts([tmp_path / "e.jsonl"]))
    (tmp_path / "e.jsonl").write_text("")
    with pytest.raises(ContentError, match="no item"):
        audit(MemoryRetriever([passage("a", "b")]), [tmp_path / "e.jsonl"])
    with pytest.raises(ConfigError, match="at least 8"):
        audited(questions, passage("a", "b"), words=5)
    with pytest.raises(ConfigError, match="similarity"):
        audited(questions, passage("a", "b"), similarity=2.0)
