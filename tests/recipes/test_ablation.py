"""The ablation experiment: its design holds together, and a run of it leaves a result that can be analysed."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "recipes" / "ablation"


@pytest.fixture
def design(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("design").Design()


def test_every_run_of_the_design_has_a_valid_config_of_its_own(design):
    by_setting: dict[str, set[str]] = {}
    for run in design.runs():
        by_setting.setdefault(run.setting, set()).add(design.config(run).model_dump_json(exclude={"seed"}))
    for setting, described in design.content["settings"].items():
        assert len(by_setting[setting]) == len(described["arms"])


def test_arms_of_a_seed_share_budget_and_tasks(design):
    for setting in design.content["settings"]:
        runs = [design.config(run) for run in design.runs(setting, seed=0)]
        budgets = {
            (c.optim.steps, c.optim.tasks_per_step, c.optim.num_generations, c.optim.learning_rate) for c in runs
        }
        assert len(budgets) == 1
        assert len({c.env.model_dump_json() for c in runs}) == 1


def test_arms_of_a_seed_share_their_start(design):
    settings = ("four_domains", "one_change", "few_attempts")
    assert len({design.start_of(run) for name in settings for run in design.runs(name, seed=0)}) == 1


def test_seeds_share_a_start_where_the_setting_names_one_and_only_there(design):
    seeds = {
        name: {design.start_of(run) for run in design.runs(name, arm="tt_opd")} for name in ("smollm2", "collapse")
    }
    assert len(seeds["smollm2"]) == 1 and len(seeds["collapse"]) == 5
    assert {design.config(run).seed for run in design.runs("smollm2")} == {0, 1, 2, 3, 4}
    assert {design.start_config(run).seed for run in design.runs("smollm2")} == {0}


def test_hints_of_another_level_need_another_start_where_the_warm_start_takes_the_level_of_the_run(design):
    starts = {run.arm: design.start_of(run) for run in design.runs("collapse", seed=0)}
    assert len({start for arm, start in starts.items() if arm != "tt_opd_paper"}) == 1
    assert starts["tt_opd_paper"] != starts["tt_opd"]


def flat(values, above=""):
    for name, value in values.items():
        yield from flat(value, f"{above}{name}.") if isinstance(value, dict) else [(above + name, value)]


def test_a_contrast_compares_arms_that_differ_in_what_it_names_alone(design):
    may_differ = {
        "hints": ("hint.",),
        "right hints instead of another attempt's": ("hint.shuffle",),
        "early turns first": ("turns.",),
        "a KL to the start": ("optim.beta",),
        "length shaping": ("reward.length",),
    }
    runs = {run.arm: run for run in [*design.runs("four_domains", seed=0), *design.runs("collapse", seed=0)]}

    def settings(arm):
        config = design.config(runs[arm]).model_dump(mode="json", exclude={"preset", "teacher", "model", "env"})
        return {name: value for name, value in flat(config) if value is not None}

    contrasts = design.content["contrasts"]
    assert set(may_differ) < set(contrasts)
    for name, allowed in may_differ.items():
        for left, right in zip(contrasts[name]["with"], contrasts[name]["without"], strict=True):
            one, other = settings(left), settings(right)
            changed = {key for key in one | other if one.get(key) != other.get(key)}
            assert changed and all(key.startswith(allowed) for key in changed), (name, left, right, changed)


def test_a_contrast_is_the_mean_over_seeds_of_the_difference_within_a_seed(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    analyse = importlib.import_module("analyse")
    success = {"a": [0.5, 0.6, 0.9], "b": [0.3, 0.6, 0.3], "c": [0.1, 0.2, 0.3], "d": [0.1, 0.0, 0.3]}
    found = {arm: {seed: {"test": {"success": v}} for seed, v in enumerate(values)} for arm, values in success.items()}
    # by seed: ((0.5 + 0.3) - (0.1 + 0.1)) / 2 = 0.3, ((0.6 + 0.6) - 0.2) / 2 = 0.5, ((0.9 + 0.3) - 0.6) / 2 = 0.3
    contrasts = {"it": {"with": ["a", "b"], "without": ["c", "d"]}, "unknown": {"with": ["e"], "without": ["a"]}}
    rows = analyse.contrast_table(found, "test", contrasts)
    assert len(rows) == 3
    # mean 0.3667, sd 0.11547, standard error 0.06667, t(0.975, 2) 4.3027: half 0.2868; t = 5.5, two-sided p 0.0315
    assert rows[2] == "| it | `a`, `b` | `c`, `d` | 3 | +0.367 (+0.080 to +0.654) | 0.032 | +0.30 +0.50 +0.30 |"


def test_the_speed_of_an_arm_is_its_success_in_the_first_half_of_the_steps(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    curve = [{"success": value} for value in (0.1, 0.2, 0.6, 0.9, 0.9)]
    assert importlib.import_module("analyse").early(curve) == {"success": pytest.approx(0.3)}  # of the first three


def test_an_empty_result_is_named(design, tmp_path: Path):
    file = tmp_path / "collapse" / "grpo" / "seed0.json"
    file.parent.mkdir(parents=True)
    file.touch()
    with pytest.raises(SystemExit, match=r"seed0\.json is damaged"):
        importlib.import_module("analyse").load(tmp_path, design, "collapse")


@pytest.mark.slow
def test_a_run_leaves_a_result_and_the_analysis_reads_it(tmp_path: Path):
    content = yaml.safe_load((FOLDER / "experiment.yaml").read_text(encoding="utf-8"))
    setting = content["settings"]["collapse"]
    setting |= {"seeds": [0, 1], "arms": ["grpo", "anchor"], "measure": {"fresh": 8, "test": 8}}
    setting["values"]["optim"] |= {"steps": 2, "tasks_per_step": 2, "num_generations": 2, "micro_batch": 2}
    setting["values"]["warm_start"] |= {"steps": 5, "demonstrations": 20}
    content["settings"] = {"collapse": setting}
    file = tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    places = ["--design", str(file), "--results", str(tmp_path / "results")]
    command = [sys.executable, str(FOLDER / "run.py"), *places, "--runs", str(tmp_path / "runs"), "--jobs", "2"]
    subprocess.run(command, check=True, cwd=tmp_path, timeout=900)
    records = [json.loads(f.read_text()) for f in sorted((tmp_path / "results").rglob("seed*.json"))]
    assert [(r["arm"], r["seed"], len(r["curve"])) for r in records] == [
        ("anchor", 0, 2), ("anchor", 1, 2), ("grpo", 0, 2), ("grpo", 1, 2)
    ]  # fmt: skip
    assert all(len(r["fresh"]["wins"]) == r["fresh"]["n"] == 8 for r in records)
    assert records[0]["curve"][0]["kl"] >= 0 and "kl" not in records[2]["curve"][0]
    subprocess.run([sys.executable, str(FOLDER / "analyse.py"), *places], check=True, cwd=tmp_path)
    table = (tmp_path / "results" / "results.md").read_text(encoding="utf-8")
    assert "| `anchor` | 2 |" in table and "| before the runs | 2 |" in table
    assert (tmp_path / "results" / "collapse_success.svg").is_file()
    again = subprocess.run([*command, "--list"], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert again.stdout.strip() == ""
