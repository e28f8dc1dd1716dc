"""Evaluations are compared on the rows they share, and refused where questions or marks may differ."""

import json

import pytest
from stored_evaluations import row, rows_of, write_evaluation
from typer.testing import CliRunner

from healthgym.cli.main import app
from healthgym.errors import ConfigError
from healthgym.evaluation.comparison import compare_evaluations
from healthgym.evaluation.statistics import holm
from healthgym.evaluation.stored import Stored


def compare(*folders, **options):
    runs = [[Stored.load(folder)] for folder in folders]
    return compare_evaluations(runs[0], runs[1:], **options)


def pair(tmp_path, first, second, **of_second):
    """Write two evaluations and return their folders."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    return write_evaluation(tmp_path / "a", first), write_evaluation(tmp_path / "b", second, **of_second)


def test_rows_that_changed_are_named_each_way(tmp_path):
    found = compare(*pair(tmp_path, rows_of([1.0, 0.0, 0.0, 1.0]), rows_of([0.0, 1.0, 0.0, 1.0])))[0]
    assert (list(found.gained), list(found.lost)) == ([("q1", 0)], [("q0", 0)])
    assert (found.first, found.second, found.suite) == ("a", "b", "quiz")
    assert json.loads(json.dumps(found.to_dict()))["gained"] == [{"id": "q1", "attempt": 0}]


def test_different_answered_sets_are_compared_both_ways(tmp_path):
    # Answered by both: q0, q1, equal. Over all rows b gains q2 (unparsed before) and loses q3 (unparsed now).
    found = compare(*pair(tmp_path, rows_of([1.0, 0.0, None, 1.0]), rows_of([1.0, 0.0, 1.0, None])))[0]
    assert (found.both.n, found.both.difference) == (2, 0.0)
    assert (found.everything.n, found.everything.gained, found.everything.lost) == (4, 1, 1)
    assert (found.answering.first, found.answering.second) == (0.75, 0.75)
    assert (found.answering.gained, found.answering.lost) == (1, 1)


def test_rows_of_one_run_alone_and_lost_rows_are_left_out_and_told_of(tmp_path):
    second = [row(0), row(1, status="infra_error"), row(9)]
    found = compare(*pair(tmp_path, rows_of([1.0, 1.0, 1.0]), second))[0]
    assert (found.everything.n, found.only_first, found.only_second) == (1, 2, 1)
    assert any("2 rows are only in a and 1 only in b" in told for told in found.warnings)


@pytest.mark.parametrize(
    ("other", "told"), [({"scorer": "quiz-2"}, "scorer: quiz-1 in a, quiz-2 in b"), ({"items": "j" * 64}, "items: ")]
)
def test_another_scorer_or_other_items_are_refused_unless_asked_for(tmp_path, other, told):
    folders = pair(tmp_path, rows_of([1.0]), rows_of([1.0]), **other)
    with pytest.raises(ConfigError, match=told):
        compare(*folders)
    assert any(told in warning for warning in compare(*folders, anyway=True)[0].warnings)


def test_other_settings_and_templates_are_warned_of_and_other_weights_are_not(tmp_path):
    folders = pair(
        tmp_path, rows_of([1.0]), rows_of([1.0]), max_tokens=99, template="u" * 64, weights="v" * 64, mode="agentic"
    )
    warnings = compare(*folders)[0].warnings
    assert "They differ in settings.max_tokens: 32 in a, 99 in b." in warnings
    assert "They differ in settings.mode: text in a, agentic in b." in warnings
    assert any("chat_template" in told for told in warnings) and not any("weights" in told for told in warnings)


def test_another_gold_or_seed_is_noticed(tmp_path):
    folders = pair(tmp_path, [row(0, gold="A"), row(1, seed=1)], [row(0, gold="B"), row(1, seed=2)])
    with pytest.raises(ConfigError, match="1 rows have another gold answer, 'q0'"):
        compare(*folders)
    assert any("1 of 2 rows were made with other seeds" in told for told in compare(*folders, anyway=True)[0].warnings)


def test_runs_without_a_common_row_or_benchmark_are_refused(tmp_path):
    folders = pair(tmp_path, [row(0)], [row(1)])
    with pytest.raises(ConfigError, match="no row in common"):
        compare(*folders)
    (tmp_path / "c").mkdir()
    other = write_evaluation(tmp_path / "c", [row(0)], suite="exam")
    with pytest.raises(ConfigError, match=r"no benchmark in common: quiz \(text\); exam \(text\)"):
        compare(folders[0], other)


def test_p_values_are_adjusted_within_each_kind_of_line(tmp_path):
    strata = [{"step": "one"}, {"step": "two"}]
    first = [row(n, float(n % 3 == 0), strata=strata[n % 2]) for n in range(60)]
    second = [row(n, float(n % 3 == 0 or n % 4 == 0), strata=strata[n % 2]) for n in range(60)]
    found = compare(*pair(tmp_path, first, second))[0]
    parts = [found.strata["step"][name] for name in ("one", "two")]
    assert [part.p_adjusted for part in parts] == holm([part.p_value for part in parts])
    assert found.both.p_adjusted == found.both.p_value  # alone in its family


def test_three_runs_are_compared_with_the_first_and_adjusted_together(tmp_path):
    for name, right in (("a", 5), ("b", 12), ("c", 18)):
        (tmp_path / name).mkdir()
        write_evaluation(tmp_path / name, rows_of([1.0] * right + [0.0] * (20 - right)))
    found = compare(*(tmp_path / name for name in "abc"))
    assert [(one.first, one.second) for one in found] == [("a", "b"), ("a", "c")]
    assert [one.both.p_adjusted for one in found] == holm([one.both.p_value for one in found])


def test_parts_of_few_rows_are_not_compared(tmp_path):
    first = [row(n, 0.0, strata={"step": "one" if n < 9 else "two"}) for n in range(30)]
    found = compare(*pair(tmp_path, first, first))[0]
    assert list(found.strata["step"]) == ["two"]


def test_rescored_rows_are_compared_when_asked_for(tmp_path):
    a, b = pair(tmp_path, rows_of([1.0, 0.0]), rows_of([1.0, 1.0]), scorer="quiz-2")
    for name, scores in (("", [0.0, 0.0]), ("-2", [1.0, 1.0])):
        (a / f"result_rescored{name}.json").write_text(json.dumps({"scorer": "quiz-2"}))
        lines = [json.dumps(each.to_record()) for each in rows_of(scores)]
        (a / f"rows_rescored{name}.jsonl").write_text("\n".join(lines) + "\n")
    first = Stored.load(a, rescored=True)
    assert [each.score for each in first.rows] == [1.0, 1.0]  # the last time counts
    assert compare_evaluations([first], [[Stored.load(b, rescored=True)]])[0].both.difference == 0.0


def test_folders_that_hold_no_evaluation_say_what_to_do(tmp_path):
    with pytest.raises(ConfigError, match="does not exist"):
        Stored.load(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"rows\.jsonl is missing"):
        Stored.load(tmp_path)
    (tmp_path / "metrics.jsonl").touch()
    with pytest.raises(ConfigError, match=r"is a training run.*healthgym report --compare"):
        Stored.load(tmp_path)
    (tmp_path / "e").mkdir()
    folder = write_evaluation(tmp_path / "e", [row(0)])
    (folder / "run.json").write_text("{")
    with pytest.raises(ConfigError, match=r"run\.json cannot be read"):
        Stored.load(folder)


def test_the_command_prints_a_table_json_and_a_page(tmp_path):
    a, b = pair(tmp_path, rows_of([1.0, 0.0, 0.0] * 8), rows_of([1.0, 1.0, 0.0] * 8))
    shown = CliRunner().invoke(app, ["compare", str(a), str(b), "--html", str(tmp_path / "page.html")])
    assert shown.exit_code == 0 and "quiz: b less a" in shown.output and "8 rows better in b: q1, q4" in shown.output
    assert max(map(len, shown.output.splitlines())) <= 80
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "b is better by 33.3 points." in page and "Worse in b" not in page
    told = CliRunner().invoke(app, ["compare", str(a), str(b), "--json"])
    assert json.loads(told.output)["comparisons"][0]["all_rows"]["gained"] == 8


def test_a_folder_of_several_benchmarks_is_compared_benchmark_by_benchmark(tmp_path):
    for run in ("x", "y"):
        for suite in ("quiz", "exam"):
            (tmp_path / run / suite).mkdir(parents=True)
            write_evaluation(tmp_path / run / suite, rows_of([1.0, 0.0]), suite=suite)
    told = CliRunner().invoke(app, ["compare", str(tmp_path / "x"), str(tmp_path / "y"), "--json"])
    assert [one["suite"] for one in json.loads(told.output)["comparisons"]] == ["exam", "quiz"]


def test_one_folder_is_not_enough(tmp_path):
    found = CliRunner().invoke(app, ["compare", str(tmp_path)])
    assert isinstance(found.exception, ConfigError) and "two evaluations or more" in str(found.exception)


def test_lengths_and_counts_stand_in_their_own_unit_and_not_as_percent(tmp_path):
    for name, words in (("a", (100.0, 140.0)), ("b", (150.0, 170.0))):
        scores = [{"answer_words": each, "right": 1.0} for each in words]
        write_evaluation(tmp_path / name, [row(place, 0.5, scores=one) for place, one in enumerate(scores)])
    page = tmp_path / "page.html"
    shown = CliRunner().invoke(app, ["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--html", str(page)])
    (line,) = [line for line in shown.output.splitlines() if "answer_words" in line]
    # 120 and 160 words: 40 more, not 12000.0 %, 16000.0 % and +4000.0 points.
    assert line.split()[1:5] == ["2", "120", "160", "+40"], line
    html = page.read_text(encoding="utf-8")
    assert "<td>120</td><td>160</td><td>+40</td>" in html and "000.0" not in html
    drawing = html[html.index('<svg class="axis"') : html.index("</svg>")]
    assert "right" in drawing and "answer words" not in drawing
