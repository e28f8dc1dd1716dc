"""Passages rendered from the facts: short, unique, sourced, complete and findable."""

from dataclasses import replace

import pytest

from healthgym.knowledge_base import load
from healthgym.knowledge_base.render import MAX_WORDS, passages
from healthgym.retrieval import MemoryRetriever


@pytest.fixture(scope="module")
def retriever():
    return MemoryRetriever(passages())


def test_passages_are_short_unique_and_sourced():
    rendered = passages()
    assert len({passage.id for passage in rendered}) == len(rendered)
    for passage in rendered:
        assert len(passage.text.split()) <= MAX_WORDS == 120
        assert passage.ref and passage.section
        assert passage.licence == "Apache-2.0"


def test_every_fact_has_a_passage():
    kb, ids = load(), {passage.id for passage in passages()}
    for kind, names in (
        ("condition", kb.conditions),
        ("guideline", kb.guidelines),
        ("drug", kb.drugs),
        ("analyte", kb.analytes),
        ("study", kb.studies),
        ("illness", kb.comorbidities),
    ):
        assert {f"{kind}:{name}" for name in names} <= ids, kind
    assert {f"interaction:{item.a}:{item.b}" for item in kb.interactions} <= ids


def test_numbers_of_the_facts_stand_in_the_text():
    kb = load()
    text = {}
    for passage in passages():
        text.setdefault(":".join(passage.id.split(":")[:2]), []).append(passage.text)
    warfarin = " ".join(text["drug:warfarin"])
    for pathway in kb.drugs["warfarin"].cyp:
        assert pathway in warfarin
    potassium = " ".join(text["analyte:potassium"])
    assert "3.5 to 5 mmol/L" in potassium and "2.5" in potassium and "6.5" in potassium
    stemi = " ".join(text["condition:stemi"])
    assert "I21.3" in stemi and "Aspirin".lower() in stemi.lower() and "ST elevation" in stemi


def test_facts_of_more_than_120_words_are_spread_over_numbered_passages():
    kb = load()
    # 30 times 7 words are 210: the first passage takes 120, the next 90 and the population
    long = kb.guidelines["ecg_within_10_minutes"].model_copy(
        update={"statement": "One two three four five six seven. " * 30}
    )
    rendered = {p.id: p for p in passages(replace(kb, guidelines={long.id: long}))}
    sizes = [len(rendered[f"guideline:{long.id}{suffix}"].text.split()) for suffix in ("", ":2")]
    assert sizes[0] == MAX_WORDS
    assert 90 < sizes[1] <= MAX_WORDS


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("warfarin ibuprofen interaction", "interaction:"),
        ("potassium reference range critical", "analyte:potassium"),
        ("adrenaline dose anaphylaxis thigh", "guideline:anaphylaxis_adrenaline_first"),
        ("thrombolysis window stroke 4.5 hours", "guideline:stroke_thrombolysis_window"),
        ("testicular torsion surgery", "guideline:torsion_explore_now"),
        ("appendicitis presentation key findings", "condition:appendicitis:presentation"),
    ],
)
def test_what_a_task_needs_is_among_the_first_five(retriever, query, wanted):
    assert any(hit.id.startswith(wanted) for hit in retriever.search(query, 5))
