"""Questions are played as episodes: with tools, one typed submission, and a knowledge base without the questions."""

import json
from dataclasses import replace

import pytest
from made_up_questions import COPIED, Kept, candidate, decided, knowledge, lettered, passage

from healthgym.errors import ConfigError, GraderError, NotRegistered
from healthgym.evaluation.benchmark import Settings, Source
from healthgym.evaluation.benchmarks import load_benchmark, question_episodes
from healthgym.evaluation.benchmarks.question_episodes import case_of, measure_as_episodes, prompt_of, rescore_episode
from healthgym.evaluation.comparison import compare_evaluations
from healthgym.evaluation.items import attempts_at
from healthgym.evaluation.question_domain import offered, question_domain
from healthgym.evaluation.rows import Row
from healthgym.evaluation.runner import evaluate
from healthgym.evaluation.stored import Stored
from healthgym.rollout.policy import TurnResult
from healthgym.rollout.scripted import ScriptedPolicy, turn_index
from healthgym.tasks import Call
from healthgym.world import Services

AGENTIC = Settings(mode="agentic")


def measured(items, script, *, settings=AGENTIC, services=None, attempts=None):
    kept = Kept()
    services = services or knowledge()
    measure_as_episodes(
        attempts or attempts_at(items, 1), candidate(script), settings, services, kept, read=lambda: items
    )
    return kept


def test_the_row_holds_the_submitted_key_and_what_was_looked_up():
    items = [lettered(0, gold="B"), lettered(1, gold="A")]
    turns = [[Call("search_evidence", query="carpal tunnel")], [Call("read_passage", passage_id="nerves")]]

    def script(request):
        place = turn_index(request)
        return turns[place] if place < 2 else [Call("submit_answer", answer="b")]

    rows = measured(items, script).by_id()
    right, wrong = rows["q0"], rows["q1"]
    assert (right.status, right.prediction, right.gold, right.score) == ("answered", "B", "B", 1.0)
    assert (wrong.status, wrong.prediction, wrong.gold, wrong.score) == ("answered", "B", "A", 0.0)
    assert (right.turns, right.tool_calls, right.strata) == (3, 3, {"subset": "made_up"})
    assert right.detail["queries"] == ["carpal tunnel"] and right.detail["read"] == ["nerves"]
    assert right.detail["stop_reason"] == "submitted"


def test_yes_no_and_maybe_are_the_keys_of_a_question_without_options():
    rows = measured([decided(0)], lambda request: [Call("submit_answer", answer="maybe")]).by_id()
    assert (rows["d0"].prediction, rows["d0"].score) == ("maybe", 1.0)
    assert prompt_of(decided(0)) == "METHODS: Twenty were asked.\n\nDoes it help?\nAnswer with one of: yes, no, maybe."


def test_a_key_that_is_no_option_is_not_an_answer():
    seen = []

    def script(request):
        seen.extend(message["content"] for message in request.messages if message["role"] == "tool")
        return [Call("submit_answer", answer="E" if turn_index(request) == 0 else "C")]

    row = measured([lettered(0)], script).by_id()["q0"]
    assert row.prediction == "C" and row.detail["tool_failures"] == 1
    assert "'A', 'B', 'C' or 'D'" in seen[0]


def test_each_way_an_episode_ends_has_its_status():
    said = {
        "q0": lambda turn: [Call("submit_answer", answer="A")],
        "q1": lambda turn: "The answer is B.",  # three turns without a call
        "q2": lambda turn: [Call("search_evidence", query=f"nerve {turn}")],  # until the turns are used up
        "q3": lambda turn: "I'm sorry, but I can't help with that.",
        "q4": lambda turn: "ha " * 200,
    }
    items = [lettered(number) for number in range(5)]
    kept = measured(items, lambda request: said[request.task_id](turn_index(request)))
    rows = kept.by_id()
    assert {row.id: row.status for row in rows.values()} == {
        "q0": "answered", "q1": "unparsed", "q2": "truncated", "q3": "refused", "q4": "degenerate",
    }  # fmt: skip
    assert rows["q1"].output == "The answer is B." and rows["q1"].score is None
    assert rows["q2"].turns == 10 and all(trajectory is not None for trajectory in kept.trajectories)


def test_a_limit_of_turns_lowers_the_tasks_own():
    script = lambda request: [Call("search_evidence", query=f"nerve {turn_index(request)}")]  # noqa: E731
    row = measured([lettered(0)], script, settings=Settings(mode="agentic", max_turns=2)).by_id()["q0"]
    assert (row.status, row.turns) == ("truncated", 2)


def test_the_oracle_of_every_question_is_right():
    items = [lettered(0, gold="D"), decided(1, "no")]
    solution = {item.id: case_of(item).task.solution for item in items}
    rows = measured(items, lambda request: solution[request.task_id]).rows
    assert [row.score for row in rows] == [1.0, 1.0]


def test_passages_that_repeat_a_question_are_neither_found_nor_read():
    copy = passage("copy", f"{COPIED}; it is the median nerve.")
    script_turns = [
        [Call("search_evidence", query="gardener tingling thumb nerve", k=10)],
        [Call("read_passage", passage_id="copy")],
        [Call("submit_answer", answer="B")],
    ]
    items = [lettered(0, question=f"{COPIED}. Which nerve?"), lettered(1)]
    told = []

    def script(request):
        told[:] = [str(message["content"]) for message in request.messages if message["role"] == "tool"]
        return script_turns[turn_index(request)]

    asked_of_another = attempts_at(items[1:], 1)  # what overlaps one question is hidden from all
    row = measured(items, script, services=knowledge(copy), attempts=asked_of_another).by_id()["q1"]
    assert row.detail["found"] == ["nerves"] and row.detail["read"] == []
    assert "No passage has the id 'copy'" in told[1]
    search = row.detail["search"]
    assert (search["audited"], search["overlapping"], search["excluded"], search["passages"]) == (True, 1, 1, 2)

    loose = Settings(mode="agentic", options={"audited": "no"})
    row = measured(items, script, settings=loose, services=knowledge(copy), attempts=asked_of_another).by_id()["q1"]
    assert row.detail["found"][0] == "copy" and row.detail["read"] == ["copy"]
    assert (row.detail["search"]["audited"], row.detail["search"]["excluded"]) == (False, 0)
    assert row.detail["search"]["index"] == search["index"] and row.detail["search"]["exclusion"] != search["exclusion"]


def test_passages_that_a_list_excludes_stay_excluded():
    services = knowledge(passage("kept_away", "The carpal tunnel again."))
    services.retriever.excluded = frozenset({"kept_away"})
    turns = [[Call("search_evidence", query="carpal tunnel")], [Call("submit_answer", answer="B")]]
    row = measured([lettered(0)], lambda request: turns[turn_index(request)], services=services).by_id()["q0"]
    assert row.detail["found"] == ["nerves"]
    assert (row.detail["search"]["overlapping"], row.detail["search"]["excluded"]) == (0, 1)


@pytest.mark.parametrize("services", [None, Services()])
def test_no_knowledge_base_is_an_error_that_says_how_to_give_one(services):
    never = candidate(lambda request: pytest.fail("asked"))
    with pytest.raises(ConfigError, match="--index DIR"):
        measure_as_episodes(attempts_at([lettered(0)], 1), never, AGENTIC, services, Kept())


def test_the_passages_that_come_along_are_searched_when_asked_for():
    kept = Kept()
    settings = Settings(mode="agentic", options={"kb": "builtin"})
    answer = candidate(lambda request: [Call("submit_answer", answer="B")])
    measure_as_episodes(attempts_at([lettered(0)], 1), answer, settings, None, kept)
    assert kept.rows[0].detail["search"]["passages"] > 500


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"audited": "perhaps"}, "audited must be yes or no"),
        ({"kb": "mine"}, "kb must be 'builtin'"),
        ({"kb": "builtin"}, "leave one out"),
        ({"tools": "search_evidance"}, "Did you mean 'search_evidence'"),
    ],
)
def test_a_setting_that_cannot_be_used_is_told(options, words):
    with pytest.raises(ConfigError, match=words):
        measured([lettered(0)], lambda request: "", settings=Settings(mode="agentic", options=options))


def test_a_retriever_that_hides_its_passages_is_refused_unless_told_otherwise():
    class Remote:
        def search(self, query, k=5, **options):
            return []

    with pytest.raises(ConfigError, match="audited=no"):
        measured([lettered(0)], lambda request: "", services=Services(retriever=Remote()))
    loose = Settings(mode="agentic", options={"audited": False})
    answer = lambda request: [Call("submit_answer", answer="B")]  # noqa: E731
    row = measured([lettered(0)], answer, settings=loose, services=Services(retriever=Remote())).by_id()["q0"]
    assert row.score == 1.0 and row.detail["search"]["audited"] is False


def test_what_is_lost_is_told_and_the_others_go_on(monkeypatch):
    class Broken(ScriptedPolicy):
        def poll(self):
            return [TurnResult(r.key, "", error="server gone") if r.key == 0 else r for r in super().poll()]

    answer = candidate(lambda request: [Call("submit_answer", answer="B")])
    kept = Kept()
    broken = Broken(answer.policy.script)
    true_grade = question_episodes.Episode.grade

    def grade(episode):
        if episode.task.id == "q1":
            raise GraderError("cannot judge")
        return true_grade(episode)

    monkeypatch.setattr(question_episodes.Episode, "grade", grade)
    items = [lettered(number) for number in range(3)]
    measure_as_episodes(attempts_at(items, 1), replace(answer, policy=broken), AGENTIC, knowledge(), kept)
    rows = kept.by_id()
    assert [(rows[f"q{n}"].status, rows[f"q{n}"].gold) for n in range(3)] == [
        ("infra_error", "B"), ("grader_error", "B"), ("answered", "B"),
    ]  # fmt: skip
    assert "server gone" in rows["q0"].error and "cannot judge" in rows["q1"].error


def test_a_row_is_judged_again_from_what_it_stores():
    item = lettered(0, gold="B")
    row = measured([item], lambda request: [Call("submit_answer", answer="A")]).by_id()["q0"]
    stored = Row.from_record(json.loads(json.dumps(row.to_record())))
    assert rescore_episode(stored, item) == row
    assert rescore_episode(stored, lettered(0, gold="A")).score == 1.0


def test_the_offered_tools_are_the_shared_ones_or_those_named():
    domain = question_domain(("A", "B"))
    names = offered(domain, "medical_qa")
    assert {"search_evidence", "read_passage", "cockcroft_gault"} <= set(names) and names[-1] == "submit_answer"
    assert "calculate" not in names
    assert offered(domain, "medical_qa", ["calculate"]) == ("calculate", "submit_answer")
    assert [spec.name for spec in domain.tools.values() if spec.effect == "submit"] == ["submit_answer"]
    assert domain.submit_tool.parameters["properties"]["answer"]["enum"] == ["A", "B"]


def test_only_offered_tools_can_be_called():
    settings = Settings(mode="agentic", options={"tools": "calculate"})
    turns = [
        [Call("calculate", expression="2 * 3"), Call("search_evidence", query="nerve")],
        [Call("submit_answer", answer="B")],
    ]
    row = measured([lettered(0)], lambda request: turns[turn_index(request)], settings=settings).by_id()["q0"]
    assert row.detail["queries"] == [] and row.detail["tool_failures"] == 1
    usual = measured([lettered(0)], lambda request: [Call("submit_answer", answer="B")]).by_id()["q0"]
    assert len(row.detail["tools"]) == 32 and row.detail["tools"] != usual.detail["tools"]


def test_another_domain_may_lend_its_tools():
    domain = question_domain(("A", "B"), "psychiatry")
    assert "search_evidence" in domain.tools and domain.submit_tool.name == "submit_answer"
    assert sum(spec.effect == "submit" for spec in domain.tools.values()) == 1
    with pytest.raises(NotRegistered, match="Did you mean 'psychiatry'"):
        question_domain(("A", "B"), "psychiatri")


@pytest.mark.parametrize("keys", [("A",), ("A", "A")])
def test_options_need_keys_of_their_own(keys):
    with pytest.raises(ConfigError, match="at least two options"):
        question_domain(keys)


def test_a_gold_outside_the_options_is_refused():
    with pytest.raises(ConfigError, match="'E' is none of its options A, B, C, D"):
        case_of(lettered(0, gold="E"))


def test_sampling_depends_on_the_attempt_and_not_on_its_neighbours():
    seeds = {}

    def script(request):
        seeds.setdefault(request.task_id, []).append(request.seed)
        return [Call("submit_answer", answer="B")]

    items = [lettered(number) for number in range(3)]
    measured(items, script)
    alone = dict(seeds)
    seeds.clear()
    measured(items, script, attempts=attempts_at(items[2:], 1))
    assert seeds["q2"] == alone["q2"] and alone["q1"] != alone["q2"]


def test_the_suites_have_an_agentic_mode_whose_rows_pair_with_those_of_text_mode(tmp_path):
    rows = [
        {"id": f"medqa-us-test-{n}", "benchmark": "medqa_us_test", **lettered(n).content, "subset": "step1"}
        for n in range(3)
    ]
    file = tmp_path / "medqa_us_test.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    benchmark = load_benchmark("medqa", Source(path=file, options={"audited": True}))
    assert benchmark.modes == ("text", "agentic")
    letters = iter("ABC")
    candidates = {
        "text": candidate(lambda request: "The answer is B."),
        "agentic": candidate(lambda request: [Call("submit_answer", answer=next(letters))]),
    }
    services = knowledge(
        passage("copy", "Which of these is fact number 1? The second is the right one, as all of us know.")
    )
    found = {
        mode: evaluate(
            benchmark, one, Settings(mode=mode, options={"reading": "generate"}), tmp_path / mode, services=services
        )
        for mode, one in candidates.items()
    }
    assert found["text"].record["score"] == 1.0 and found["agentic"].record["score"] == pytest.approx(1 / 3)
    assert [row.key for row in found["text"].rows] == [row.key for row in found["agentic"].rows]
    assert found["agentic"].record["details"]["search"]["audited"] is True
    again = [benchmark.rescore(row, item) for row, item in zip(found["agentic"].rows, benchmark.items(), strict=True)]
    assert again == list(found["agentic"].rows)
    (gap,) = compare_evaluations([Stored.load(tmp_path / "text")], [[Stored.load(tmp_path / "agentic")]])
    assert (gap.everything.n, gap.everything.first, gap.everything.difference) == (3, 1.0, pytest.approx(-2 / 3))
