"""Shared tools find facts, cite them, and say what to do when there is nothing."""

import pytest

from healthgym.errors import PassageIndexError
from healthgym.retrieval import MemoryRetriever, Passage, builtin
from healthgym.tools.evidence.toolkit import EvidenceToolkit
from healthgym.world import Chart, Services, World

CHART = Chart(patient_id="P1", age_years=40, sex="male", weight_kg=70)


def desk(retriever=None):
    return EvidenceToolkit(World({"P1": CHART}, services=Services(retriever=retriever)))


def call(tools, tool, /, **arguments):
    return tools.call(tool, arguments).content


def test_search_without_an_index_reads_the_built_in_facts_and_cites_them():
    tools = desk()
    first = call(tools, "search_evidence", query="warfarin and ibuprofen bleeding", k=3).splitlines()
    assert len(first) == 3 and all(line.startswith("[") and "(healthgym, " in line for line in first)
    assert any("warfarin" in line.lower() for line in first)
    found = first[0][1 : first[0].index("]")]
    text = call(tools, "read_passage", passage_id=found)
    assert text.startswith(f"[{found}]") and "Source:" in text
    assert tools.world.knows(f"kb.passage.{found}")


def test_a_configured_retriever_is_searched_instead():
    passage = Passage(id="a1", title="Zebra", text="Zebra fever is rare.", source="own", licence="CC0-1.0")
    tools = desk(MemoryRetriever([passage]))
    assert call(tools, "search_evidence", query="zebra", k=5).startswith("[a1] Zebra (own, ")
    assert call(tools, "read_passage", passage_id="[a1]") == "[a1] Zebra: Zebra fever is rare. Source: own."


def test_a_search_that_finds_nothing_is_an_error_and_never_an_empty_answer():
    class Nothing:
        def search(self, query, k):
            return []

    assert call(desk(Nothing()), "search_evidence", query="zebra").startswith("Error: Nothing in the evidence base")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"query": " "}, "empty"),
        ({"query": "x" * 3_000}, "at most 2000"),
        ({"query": "x" * 50_000}, "50,000 characters"),
        ({"query": "fever", "k": 0}, "k"),
        ({"query": "fever", "k": 10_000}, "k"),
    ],
)
def test_a_search_that_cannot_be_run_is_answered_with_what_to_change(arguments, word):
    answer = call(desk(), "search_evidence", **arguments)
    assert answer.startswith("Error") and word in answer and len(answer) < 400


def test_without_any_passage_the_error_names_the_build_command(monkeypatch):
    monkeypatch.setattr(builtin, "builtin_passages", lambda: iter(()))
    builtin.builtin_retriever.cache_clear()
    with pytest.raises(PassageIndexError, match="healthgym kb build --corpus"):
        call(desk(), "search_evidence", query="zebra")
    builtin.builtin_retriever.cache_clear()


def test_an_unknown_passage_is_refused():
    assert call(desk(), "read_passage", passage_id="no-such-passage").startswith("Error")


@pytest.mark.parametrize("name", ["acetaminophen", "Paracetamol"])
def test_a_drug_is_found_by_any_of_its_names(name):
    text = call(desk(), "lookup_drug", name=name)
    assert text.startswith("paracetamol:") and "at most 4000 mg/day" in text and "Source:" in text


def test_an_unknown_drug_offers_the_nearest():
    assert "'warfarin'" in call(desk(), "lookup_drug", name="warfarine")


def test_guideline_statements_come_with_id_and_source():
    lines = call(desk(), "search_guidelines", topic="sepsis").splitlines()
    assert 1 <= len(lines) <= 3 and all(line.startswith("[") and line.endswith(")") for line in lines)


def test_a_topic_without_statement_is_an_error():
    assert call(desk(), "search_guidelines", topic="zzzz").startswith("Error: No guideline statement")


def test_status_shows_use_and_limits():
    tools = desk()
    tools.world.limits = {"turns": 12, "minutes": 60.0, "tool_calls": None, "cost": None}
    tools.world.advance(7)
    assert call(tools, "episode_status") == "turns 0 of 12, tool calls 0, minutes 7 of 60, cost 0."


def test_looking_things_up_and_thinking_leave_the_chart_alone():
    tools = desk()
    before = tools.world.state.hash()
    call(tools, "lookup_drug", name="warfarin")
    call(tools, "think", thought="Bleeding?")
    assert tools.world.state.hash() == before
