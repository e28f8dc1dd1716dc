"""Runs beside each other: settings, ends, curves and paired held-out success."""

import json

import pytest
from synthetic_runs import ramp, rows
from test_report import read

from healthgym.diagnostics import append_evaluation, compare, write_comparison
from healthgym.diagnostics.comparison import differing_settings, distinct_names, ending
from healthgym.diagnostics.comparison_page import overlays
from healthgym.diagnostics.run import Run, RunFolderError
from healthgym.evaluation import compare_paired


def paired(first, second, tasks):
    return compare_paired(first, second, tasks).to_dict()


@pytest.fixture
def two_runs(write_run):
    first, second = write_run(rows(0), "grpo"), write_run(rows(1, **{"episode/success": ramp(0.3, 0.6)}), "tt_opd")
    (second / "config.yaml").write_text("preset: grpo\nteacher: null\nhint:\n  level: process\noptim: {steps: 60}\n")
    for folder, wins in ((first, 6), (second, 4)):
        outcomes = [[f"t{at}", 0, at < wins] for at in range(10)]
        append_evaluation(
            folder, "after step 60", {"success": wins / 10, "ci": [0.2, 0.9], "n": 10, "outcomes": outcomes}
        )
    return first, second


def test_settings_that_differ_are_listed_by_dotted_key(two_runs):
    found = compare(two_runs, paired).settings
    assert found["preset"] == ("tt_opd", "grpo")
    assert found["teacher.ema_decay"] == (0.995, None) and found["optim.steps"] == (None, 60)
    assert "hint.level" not in found


def test_equal_configs_differ_in_nothing():
    assert differing_settings([{"a": {"b": [1, 2]}}, {"a": {"b": [1, 2]}}]) == {}


def test_the_paired_difference_is_that_of_the_shared_episodes(two_runs):
    # The second run wins t0 to t3, the first t0 to t5: of ten shared tasks, two are lost and none gained.
    [pair] = compare(two_runs, paired).pairs
    assert (pair["n"], pair["gained"], pair["lost"], pair["difference"]) == (10, 0, 2, -0.2)
    assert pair["p_value"] == 0.5  # two discordant rows, both one way: 2 * 0.5 ** 2


def test_runs_that_share_no_held_out_episode_get_no_paired_difference(two_runs):
    append_evaluation(two_runs[1], "later", {"success": 1.0, "ci": [0, 1], "n": 1, "outcomes": [["other", 0, True]]})
    assert compare(two_runs, paired).pairs == ()


def test_an_ending_is_the_mean_of_the_last_steps_with_the_scatter_of_neighbours(write_run):
    # 24 steps of alternating 0 and 1: the window is the last four, mean 0.5. Neighbours differ by 1, so the deviation
    # is 1 / 0.9539 and the half-width 1.96 / 0.9539 / sqrt(4) = 1.0274.
    folder = write_run([{"step": at, "reward": float(at % 2)} for at in range(1, 25)])
    found = ending(Run.load(folder), "reward")
    assert (found.mean, found.steps) == (0.5, 4)
    assert found.high - found.mean == pytest.approx(1.0274, abs=1e-4)
    assert ending(Run.load(folder), "kl") is None


def test_the_page_overlays_each_curve_in_its_runs_colour(two_runs, tmp_path):
    comparison = compare(two_runs, paired)
    charts = {chart.title: chart for chart in overlays(comparison)}
    assert [(curve.label, curve.colour) for curve in charts["Success"].curves] == [("grpo", "c1"), ("tt_opd", "c2")]
    assert {"Reward", "Length", "Turns", "Tool calls", "Clipped", "Hazards", "Divergence", "Lambda"} <= set(charts)
    page, text = read(write_comparison(comparison, tmp_path / "new" / "page.html"))
    for words in ("2 runs compared", "grpo is the reference", "Settings that differ", "teacher.ema_decay", "tt_opd less grpo", "-20.0", "60.0 %"):  # fmt: skip
        assert words in text, words
    assert "<script" not in page and "http" not in page


def test_a_run_without_a_quantity_leaves_a_gap(write_run, tmp_path):
    plain = write_run([{key: value for key, value in row.items() if "tt_opd" not in key} for row in rows(2)], "plain")
    comparison = compare([write_run(rows(0), "full"), plain], paired)
    assert comparison.endings["kl"][1] is None
    json.dumps(comparison.to_dict())
    assert "–" in read(write_comparison(comparison, tmp_path / "page.html"))[1]


def test_one_run_or_the_same_run_twice_is_refused(two_runs):
    for folders in ([two_runs[0]], [two_runs[0], two_runs[0]]):
        with pytest.raises(RunFolderError, match="two or more different runs"):
            compare(folders, paired)


def test_names_are_as_long_as_it_takes_to_tell_them_apart(tmp_path):
    assert distinct_names([tmp_path / "a", tmp_path / "b"]) == ("a", "b")
    assert distinct_names([tmp_path / "x" / "run", tmp_path / "y" / "run"]) == ("x/run", "y/run")
