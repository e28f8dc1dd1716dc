"""The quickstart as users run it: reinforcement learning on real episodes raises held-out success."""

import json
from pathlib import Path

import pytest

from healthgym.diagnostics import verdict
from healthgym.quickstart import quickstart


@pytest.fixture(scope="module")
def journey(tmp_path_factory):
    out = tmp_path_factory.mktemp("quickstart")
    return out, quickstart(out, seed=0)


@pytest.mark.slow
def test_reinforcement_learning_raises_held_out_success(journey):
    _, results = journey
    start = results["warm_start"]["success"]
    # n = 256, so one standard error of a rate is at most 0.031; the gains seen are above 0.3 (recipes/quickstart).
    arms = [results[name]["success"] for name in ("grpo_cosine", "tt_opd")]
    assert 0.05 < start < 0.4
    assert max(arms) > start + 0.2
    assert min(arms) > start + 0.1


@pytest.mark.slow
def test_the_mechanisms_of_tt_opd_were_alive(journey):
    out, results = journey
    assert 0 < results["tt_opd"]["hints_fired"] <= 80 * 64  # at most one an episode
    assert results["tt_opd"]["teacher_updates"] > 0
    assert results["grpo_cosine"]["hints_fired"] == 0
    rows = [json.loads(line) for line in (out / "tt_opd" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["step"] for row in rows] == list(range(1, 81))
    assert max(row["tt_opd/kl"] for row in rows) > 0
    lambdas = [row["tt_opd/lambda"] for row in rows]
    assert lambdas == sorted(lambdas, reverse=True)


@pytest.mark.slow
def test_both_arms_began_with_the_same_weights(journey):
    out, _ = journey
    starts = [(out / name / "start" / "model.safetensors").read_bytes() for name in ("grpo_cosine", "tt_opd")]
    assert starts[0] == starts[1]


@pytest.mark.slow
def test_the_runs_are_healthy_and_the_report_shows_them(journey):
    out, results = journey
    assert verdict(out / "tt_opd").exit_code == 0
    page = Path(results["report"]).read_text(encoding="utf-8")
    assert "warm start" in page
    assert "after tt_opd" in page
