"""The benchmarks: items that two ways agree on, played through the tools, graded by type."""

from collections import Counter
from dataclasses import replace

import pytest
from ehr_tables import eicu_rows, mimic3_rows, write_tables

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Settings, Source
from healthgym.evaluation.benchmarks import benchmarks, load_benchmark
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.ehr import build
from healthgym.evaluation.ehr.answers import grade_submission
from healthgym.evaluation.ehr.build import AnswersDisagree, build_items, is_same, spread
from healthgym.evaluation.ehr.policies import LookingPolicy
from healthgym.evaluation.ehr.template import Asked, load_templates
from healthgym.evaluation.items import Item, attempts_at, items_digest
from healthgym.evaluation.runner import evaluate
from healthgym.rollout.scripted import ScriptedPolicy
from healthgym.tasks import Call

AGENTIC = Settings(mode="agentic")


@pytest.fixture(scope="module", params=["mimic3", "eicu"])
def benchmark(request, tmp_path_factory):
    folder = write_tables(tmp_path_factory.mktemp(request.param), request.param)
    return load_benchmark(f"ehr_{request.param}", Source(path=folder))


def played(benchmark, policy, settings=AGENTIC):
    rows = []
    candidate = Candidate(name="scripted", engine="scripted", policy=policy)
    benchmark.measure(
        attempts_at(benchmark.items(), 1),
        candidate,
        settings,
        None,
        lambda row, trajectory: rows.append((row, trajectory)),
    )
    return rows


def test_both_benchmarks_are_found():
    assert {"ehr_mimic3", "ehr_eicu"} <= set(benchmarks())


def test_the_answers_can_be_reached_with_the_tools_and_earn_everything(benchmark):
    rows = played(benchmark, LookingPolicy(benchmark.items()))
    assert len(rows) == len(benchmark.items()) > 10
    assert {(row.status, row.score, trajectory.grade.success) for row, trajectory in rows} == {("answered", 1.0, True)}


@pytest.mark.parametrize("value", ["not measured", "yes", 0, 3.0, "2150-01-01 11:45"])
def test_score_and_grade_of_the_episode_agree_whatever_is_submitted(benchmark, value):
    rows = played(benchmark, ScriptedPolicy(lambda request: [Call("submit_answer", value=value, unit="h")]))
    assert all(row.score == float(trajectory.grade.success) for row, trajectory in rows)
    assert any(row.score == 0.0 for row, _ in rows)


def test_rows_carry_cluster_gold_submission_and_the_licences_line(benchmark):
    for row, _ in played(benchmark, LookingPolicy(benchmark.items())):
        item = next(item for item in benchmark.items() if item.id == row.id)
        assert row.cluster == item.content["patient"] and set(row.strata) == {"template", "kind", "measured"}
        assert row.detail["attribution"].startswith("Contains information from the")
        assert "Open Database License (ODbL) 1.0" in row.detail["attribution"]
        assert benchmark.rescore(row, item) == row
        worse = benchmark.rescore(replace(row, detail={"submission": {"value": "x", "unit": ""}}), item)
        assert worse.score == 0.0 and worse.prediction == "x"


def test_an_episode_without_a_submission_says_what_kept_it_from_one(benchmark):
    tables = ScriptedPolicy(lambda request: [Call("list_tables")])
    assert {row.status for row, _ in played(benchmark, tables, Settings(mode="agentic", max_turns=2))} == {"truncated"}
    mute = ScriptedPolicy(lambda request: "I would look at the laboratory values first.")
    rows = [row for row, _ in played(benchmark, mute)]
    assert {(row.status, row.score) for row in rows} == {("unparsed", None)}
    assert benchmark.rescore(rows[0], benchmark.items()[0]) == rows[0]
    declines = ScriptedPolicy(lambda request: "I'm sorry, but I can't help with patients' records.")
    assert {(row.status, row.score) for row, _ in played(benchmark, declines)} == {("refused", None)}


def test_the_prompt_holds_the_question_and_not_the_query(benchmark):
    _, trajectory = played(benchmark, LookingPolicy(benchmark.items()))[0]
    prompt = str(trajectory.messages[:2])
    assert "SELECT" not in prompt and trajectory.messages[1]["content"] == benchmark.items()[0].content["question"]
    assert "{" not in prompt.replace("{'role'", "")


def test_floors_are_those_of_never_looking(benchmark):
    floors = {floor.name: floor.score for floor in benchmark.floors(benchmark.items())}
    nothing = sum(item.content["gold"] is None for item in benchmark.items()) / len(benchmark.items())
    assert floors["not_measured"] == pytest.approx(nothing)
    assert nothing <= floors["majority"] < 1.0


def test_a_sample_has_the_floor_of_habits_learnt_on_all_items(benchmark):
    # Habits of single items would always be right.
    wrong = [item for item in benchmark.items() if benchmark.floors([item])[0].score == 0.0]
    assert wrong
    assert {floor.name: floor.score for floor in benchmark.floors(wrong)}["majority"] == 0.0


def test_items_and_digest_are_the_same_from_every_form_of_the_files(tmp_path):
    digests = set()
    for upper, zipped in ((False, True), (True, True), (True, False)):
        folder = write_tables(tmp_path / f"{upper}{zipped}", "mimic3", upper=upper, zipped=zipped)
        digests.add(items_digest(load_benchmark("ehr_mimic3", Source(path=folder)).items()))
    rows = mimic3_rows()
    rows["labevents"] = [{**row, "row_id": place} for place, row in enumerate(rows["labevents"], 1)][::-1]
    folder = write_tables(tmp_path / "reversed", "mimic3", rows=rows)
    digests.add(items_digest(load_benchmark("ehr_mimic3", Source(path=folder)).items()))
    assert len(digests) == 1


def test_an_evaluation_runs_to_its_result_and_makes_no_row_twice(benchmark, tmp_path):
    candidate = Candidate(
        name="oracle", engine="scripted", policy=LookingPolicy(benchmark.items()), hashes={"weights": "none"}
    )
    first = evaluate(benchmark, candidate, AGENTIC, tmp_path, limit=5)
    again = evaluate(benchmark, candidate, AGENTIC, tmp_path, limit=9)
    assert (len(first.rows), len(again.rows)) == (5, 9)
    assert again.record["score"] == 1.0 and not again.is_partial
    assert "Open Database License" in again.record["title"]


def test_a_query_and_a_check_that_differ_make_no_item_and_are_named(benchmark, monkeypatch):
    name = "icu_readmission"
    templates = dict(load_templates(benchmark.schema.name))
    templates[name] = replace(templates[name], sql="SELECT 'yes' AS answer")
    monkeypatch.setattr(build, "load_templates", lambda database: templates)
    with pytest.raises(AnswersDisagree, match=rf"2 answers differ(.|\n)*{name} of \d+: query 'yes', check 'no'"):
        build_items(benchmark.store)


@pytest.mark.parametrize(
    ("database", "name", "find", "put"),
    [
        ("mimic3", "last_lactate_before", "charttime < ", "charttime <= "),
        ("mimic3", "last_lactate_before", "row_id DESC", "row_id"),
        ("mimic3", "haemoglobin_change", "charttime <= '{outtime}'", "charttime <= '2151-01-01 00:00:00'"),
        ("mimic3", "urine_output", "COALESCE(iserror, 0) <> 1", "1"),
        ("mimic3", "vasopressor_hours", "IS NOT 'Rewritten'", "IS NOT 'x'"),
        ("mimic3", "vasopressor_hours", "MIN(endtime, '{outtime}')", "endtime"),
        ("mimic3", "sofa_cardiovascular", ">= 3600", ">= 60"),
        ("eicu", "fluid_balance", "GROUP BY intakeoutputoffset", "GROUP BY intakeoutputid"),
        ("eicu", "first_norepinephrine", "BETWEEN 0", "BETWEEN -100"),
        ("eicu", "cuff_pressure_nadir", "noninvasivemean > 0", "1"),
    ],
)
def test_a_slip_in_a_query_is_found_by_its_check(tmp_path, monkeypatch, database, name, find, put):
    templates = load_templates(database)
    assert find in templates[name].sql
    slipped = replace(templates[name], sql=templates[name].sql.replace(find, put))
    if slipped.hours:
        slipped = replace(slipped, hours=(24,))
    monkeypatch.setattr(build, "load_templates", lambda database: {name: slipped})
    benchmark = load_benchmark(f"ehr_{database}", Source(path=write_tables(tmp_path, database)))
    with pytest.raises(AnswersDisagree, match=name):
        benchmark.items()


def answered(values):
    template = load_templates("mimic3")["sofa_liver"]
    return [(Asked(template=template, unit=str(n), owner="1", fields={}), value) for n, value in enumerate(values)]


def test_answers_spread_and_few_have_nothing_to_find():
    counts = Counter(value for _, value in spread(answered([0] * 200 + [None] * 200 + [1] * 30 + [4] * 5), 30, 0))
    assert sum(counts.values()) == 30
    assert counts[0] <= 18 and counts[None] <= 6 and counts[1] >= 3


def test_a_rare_answer_keeps_the_common_one_down():
    # Two yes: at most three no beside them, three fifths of five.
    assert Counter(value for _, value in spread(answered(["no"] * 50 + ["yes"] * 2), 30, 0)) == {"no": 3, "yes": 2}


@pytest.mark.parametrize("values", [[1] * 9, [None] * 9, []])
def test_answers_that_are_all_alike_make_no_item(values):
    assert spread(answered(values), 30, 0) == []


def test_few_patients_are_told_apart_from_broken_tables(tmp_path):
    rows = {name: list(rows) for name, rows in eicu_rows().items()}
    rows = {name: [row for row in table if row["patientunitstayid"] == 21] for name, table in rows.items()}
    folder = write_tables(tmp_path, "eicu", rows=rows)
    with pytest.raises(ConfigError, match="gives no item: 1 patients are too few"):
        load_benchmark("ehr_eicu", Source(path=folder)).items()


def test_sums_in_another_order_are_the_same_and_other_numbers_are_not():
    assert is_same(0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1) and not is_same(1.0, 1.00001)
    assert not is_same(None, 0.0) and not is_same("no", None)


def test_the_gold_of_every_item_is_right_and_its_neighbour_wrong(benchmark):
    for item in benchmark.items():
        gold = item.content["gold"]
        shown = {"value": "not measured" if gold is None else gold, "unit": item.content["unit"]}
        assert grade_submission(item.content, shown) == 1.0
        if isinstance(gold, int | float):
            shifted = {**shown, "value": gold + 2 * item.content["tolerance"] + 1}
            assert grade_submission(item.content, shifted) == 0.0
        assert isinstance(item, Item) and item.cluster
