"""An evaluation makes each row once, goes on where it stopped, and mixes nothing that was made otherwise."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from asked import Sums, adder

from healthgym.errors import ConfigError, HealthgymError
from healthgym.evaluation.benchmark import Settings
from healthgym.evaluation.rows import Row, RowFile, read_rows
from healthgym.evaluation.runner import evaluate, stored_rows
from healthgym.evaluation.statistics import wilson_interval

TEXT = Settings(mode="text", in_flight=2)


def test_an_evaluation_leaves_rows_and_a_result_with_n_interval_counts_and_floors(tmp_path):
    found = evaluate(Sums(), adder(3, 4), TEXT, tmp_path / "out")
    rows = read_rows(tmp_path / "out" / "rows.jsonl")
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert len(rows) == len(found.rows) == 10
    assert (result["suite"], result["n"], result["score"]) == ("sums", 10, 0.8)
    assert result["ci"] == pytest.approx(wilson_interval(8, 10))
    assert result["counts"]["answered"] == 10 and result["partial"] is False
    assert result["floors"][0]["name"] == "random"
    assert {"weights", "chat_template", "items"} <= result["hashes"].keys()


def test_a_finished_evaluation_asks_nothing_again(tmp_path):
    evaluate(Sums(), adder(), TEXT, tmp_path / "out")
    again = Sums()
    evaluate(again, adder(), TEXT, tmp_path / "out")
    assert again.asked == []


def test_only_missing_and_lost_rows_are_made_on_resume(tmp_path):
    evaluate(Sums(lose=["s002"]), adder(), TEXT, tmp_path / "out")
    lines = (tmp_path / "out" / "rows.jsonl").read_text().splitlines()
    kept = [line for line in lines if '"s007"' not in line]
    (tmp_path / "out" / "rows.jsonl").write_text("\n".join(kept) + "\n")
    again = Sums()
    found = evaluate(again, adder(), TEXT, tmp_path / "out")
    assert sorted(again.asked) == [("s002", 0), ("s007", 0)]
    assert found.record["n"] == 10 and not found.is_partial


def test_lost_rows_make_a_result_partial(tmp_path):
    found = evaluate(Sums(lose=["s002", "s005"]), adder(), TEXT, tmp_path / "out")
    assert found.is_partial and found.record["counts"]["infra_error"] == 2 and found.record["n"] == 8


def test_more_items_and_more_attempts_extend_an_evaluation(tmp_path):
    evaluate(Sums(), adder(), TEXT, tmp_path / "out", limit=4)
    further = Sums()
    found = evaluate(further, adder(), TEXT, tmp_path / "out", limit=6, attempts=2)
    assert len(further.asked) == 6 * 2 - 4
    assert found.record["n"] == 12


def test_fewer_items_sum_up_the_rows_asked_for_and_keep_the_others(tmp_path):
    evaluate(Sums(), adder(0, 1, 2), TEXT, tmp_path / "out")
    found = evaluate(Sums(), adder(), TEXT, tmp_path / "out", limit=4)
    assert found.record["n"] == 4
    assert len(read_rows(tmp_path / "out" / "rows.jsonl")) == 10


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda kit: kit.update(benchmark=Sums(11)), "items was"),
        (lambda kit: setattr(kit["benchmark"], "scorer", "sums-2"), "scorer was 'sums-1', now 'sums-2'"),
        (lambda kit: kit.update(candidate=adder(weights="w2")), "candidate.hashes.weights was 'w1', now 'w2'"),
        (
            lambda kit: kit.update(candidate=replace(kit["candidate"], sampling={"temperature": 1.0})),
            "candidate.sampling.temperature was 0.0, now 1.0",
        ),
        (
            lambda kit: kit.update(candidate=replace(kit["candidate"], engine="scripted 2")),
            "candidate.engine was 'scripted 1', now 'scripted 2'",
        ),
        (
            lambda kit: kit.update(settings=replace(TEXT, max_tokens=7)),
            "settings.max_tokens was 512, now 7",
        ),
        (
            lambda kit: kit.update(settings=replace(TEXT, options={"shots": 2})),
            "settings.options.shots was None, now 2",
        ),
        (lambda kit: kit.update(seed=3), "seed was 0, now 3"),
    ],
)  # fmt: skip
def test_rows_made_otherwise_are_never_mixed_and_the_difference_is_named(tmp_path, change, named):
    evaluate(Sums(), adder(), TEXT, tmp_path / "out", limit=2)
    kit = {"benchmark": Sums(), "candidate": adder(), "settings": TEXT, "seed": 0}
    change(kit)
    with pytest.raises(ConfigError, match="--restart") as refused:
        evaluate(kit["benchmark"], kit["candidate"], kit["settings"], tmp_path / "out", seed=kit["seed"])
    assert named in str(refused.value)
    assert len(read_rows(tmp_path / "out" / "rows.jsonl")) == 2


def test_how_many_advance_together_is_no_part_of_what_rows_depend_on(tmp_path):
    evaluate(Sums(), adder(), TEXT, tmp_path / "out", limit=2)
    assert evaluate(Sums(), adder(), replace(TEXT, in_flight=9), tmp_path / "out").record["n"] == 10


def test_restart_sets_the_old_folder_aside_whole(tmp_path):
    evaluate(Sums(), adder(), TEXT, tmp_path / "out")
    evaluate(Sums(), adder(weights="w2"), TEXT, tmp_path / "out", limit=3, restart=True)
    evaluate(Sums(), adder(weights="w3"), TEXT, tmp_path / "out", limit=1, restart=True)
    counts = {path.name: len(read_rows(path / "rows.jsonl")) for path in tmp_path.iterdir()}
    assert counts == {"out": 1, "out.old-1": 10, "out.old-2": 3}


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"holds no evaluation .* notes\.txt"):
        evaluate(Sums(), adder(), TEXT, tmp_path)


def test_a_benchmark_that_keeps_a_row_twice_or_none_is_an_error(tmp_path):
    class Twice(Sums):
        def measure(self, attempts, candidate, settings, services, keep):
            keep(Row(id="s000", status="unparsed"))
            keep(Row(id="s000", status="unparsed"))

    class Silent(Sums):
        def measure(self, attempts, candidate, settings, services, keep):
            pass

    with pytest.raises(HealthgymError, match="not asked for or is there already"):
        evaluate(Twice(), adder(), TEXT, tmp_path / "twice")
    with pytest.raises(HealthgymError, match="gave no row for 10 attempts"):
        evaluate(Silent(), adder(), TEXT, tmp_path / "silent")


def test_a_line_that_a_kill_cut_short_costs_that_row_alone(tmp_path):
    evaluate(Sums(), adder(), TEXT, tmp_path / "out")
    file = tmp_path / "out" / "rows.jsonl"
    file.write_bytes(file.read_bytes()[:-30])
    again = Sums()
    found = evaluate(again, adder(), TEXT, tmp_path / "out")
    assert len(again.asked) == 1 and found.record["n"] == 10
    RowFile(file).close()


def test_a_mode_the_benchmark_has_not_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="sums has no mode 'agentic'"):
        evaluate(Sums(), adder(), Settings(mode="agentic"), tmp_path / "out")


def test_what_an_endpoint_says_at_the_end_is_recorded_and_a_changed_model_spoils_the_rows(tmp_path):
    same = replace(adder(), verify=lambda: {"version": "7"})
    assert evaluate(Sums(), same, TEXT, tmp_path / "same").record["served"] == {"version": "7"}

    def changed():
        raise HealthgymError("It serves other weights than when this run began.")

    with pytest.raises(HealthgymError, match="other weights"):
        evaluate(Sums(), replace(adder(), verify=changed), TEXT, tmp_path / "out")
    with pytest.raises(ConfigError, match=r"not to be trusted: It serves other weights .* --restart"):
        evaluate(Sums(), adder(), TEXT, tmp_path / "out")
    assert evaluate(Sums(), adder(), TEXT, tmp_path / "out", restart=True).record["n"] == 10


def test_stored_rows_are_given_only_when_all_are_there_and_made_as_now(tmp_path):
    out = tmp_path / "out"
    assert stored_rows(Sums(), TEXT, out) is None
    found = evaluate(Sums(), adder(), TEXT, out, limit=4)
    assert stored_rows(Sums(), TEXT, out, limit=4, sampling={"temperature": 0.0}) == list(found.rows)
    assert stored_rows(Sums(), TEXT, out, limit=5) is None
    assert stored_rows(Sums(), TEXT, out, limit=4, attempts=2) is None
    assert stored_rows(Sums(), replace(TEXT, max_tokens=7), out, limit=4) is None
    assert stored_rows(Sums(), TEXT, out, limit=4, sampling={"temperature": 1.0}) is None
    assert stored_rows(Sums(), TEXT, out, limit=4, engine="some other engine") is None


def test_rows_stored_with_more_positions_than_asked_for_now_do_not_count(tmp_path):
    out = tmp_path / "out"
    found = evaluate(Sums(), replace(adder(), max_context=4096), TEXT, out, limit=4)
    assert stored_rows(Sums(), TEXT, out, limit=4, max_context=1024) is None
    # 8,192 were allowed and the model has 4,096.
    assert stored_rows(Sums(), TEXT, out, limit=4, max_context=8192) == list(found.rows)


def test_lost_rows_are_not_stored_ones(tmp_path):
    evaluate(Sums(lose=["s001"]), adder(), TEXT, tmp_path / "out")
    assert stored_rows(Sums(), TEXT, tmp_path / "out") is None


def test_every_key_of_a_result_is_in_the_docs(tmp_path):
    record = evaluate(Sums(), adder(), TEXT, tmp_path / "out").record
    page = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    told = set(re.findall(r'[`"](\w+)[`"]', page))
    assert not set(record) - told and not set(record["counts"]) - told
