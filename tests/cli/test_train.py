import json

import pytest

RECIPE = """
preset: grpo
model: {tiny: {layers: 1, hidden_size: 32, intermediate_size: 64, heads: 2, kv_heads: 1, vocab_size: 600}}
env: {domains: [DOMAIN], prompt_profile: bare, tasks: 8}
rollout: {max_tokens_per_turn: 64, max_completion_tokens: 700, in_flight: 8, trace_every: 1}
optim: {steps: 2, tasks_per_step: 2, num_generations: 2, learning_rate: 1e-4}
eval: {every: 2}
"""


@pytest.mark.slow
def test_train_ends_in_one_line_that_names_the_run(run, fever, tmp_path):
    recipe = tmp_path / "r.yaml"
    recipe.write_text(RECIPE.replace("DOMAIN", str(fever)))
    ran = run("train", recipe, "--run-dir", tmp_path / "run")
    assert ran.code == 0
    last = json.loads(ran.out.strip().splitlines()[-1])
    assert set(last) == {"run_dir", "steps", "metrics"} and last["steps"] == 2
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2] and rows[-1]["eval/n"] == 8  # the domain has 8 validation tasks
    assert list((tmp_path / "run" / "traces").glob("*.jsonl"))
    assert run("report", tmp_path / "run", "--json").code in (0, 3)


def test_a_grid_is_listed_as_json_without_training(run, tmp_path):
    recipe = tmp_path / "r.yaml"
    recipe.write_text("preset: tt_opd\nmodel: {tiny: {}}\n")
    ran = run("train", recipe, "--grid", "lambda", "--seeds", "0,1", "--list", "--run-dir", tmp_path / "grid")
    plan = json.loads(ran.out)
    assert ran.code == 0 and not (tmp_path / "grid").exists()
    assert {(line["arm"], line["seed"]) for line in plan} >= {("constant_1", 0), ("constant_1", 1), ("rl_sign", 0)}
    assert plan[0]["config"]["lambda"]["start"] == 0.3 and plan[0]["is_finished"] is False
    assert run("train", recipe, "--grid", "lamda", "--list").code == 2
    assert run("train", recipe, "--grid", "lambda", "--seeds", "a", "--list").code == 2
