import json
from pathlib import Path

import pytest
import torch
import yaml
from fever import fever_folder, plain_source
from safetensors.torch import load_file
from test_run import config as tiny_run

from healthgym.errors import ConfigError, HealthgymError, RunStopped
from healthgym.training.config import PresetName
from healthgym.training.grid import grids, plan_grid, run_grid
from healthgym.training.loading import dump_config
from healthgym.training.run import prepare, train

RECIPE = {"preset": "tt_opd", "model": {"tiny": {}}, "optim": {"steps": 40}, "hint": {"level": "process"}}


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    file = tmp_path / "recipe.yaml"
    file.write_text(yaml.safe_dump(RECIPE))
    return file


def test_the_ablation_grid_holds_every_preset(recipe: Path, tmp_path: Path):
    runs = plan_grid(recipe, "ablation", tmp_path)
    assert {run.config.preset for run in runs} == set(PresetName.__args__)
    assert all(run.arm == run.config.preset for run in runs)
    by_arm = {run.arm: run.config for run in runs}
    assert by_arm["grpo"].teacher is None and by_arm["grpo"].reward.length is None
    assert by_arm["opd_ema"].hint is None and by_arm["tt_opd_shuffled"].hint.shuffle
    assert by_arm["sft_hinted"].supervised is not None
    # The controls differ from tt_opd in the hint alone.
    for arm in ("tt_opd_no_hints", "tt_opd_shuffled"):
        changed = {n for n in type(by_arm[arm]).model_fields if getattr(by_arm[arm], n) != getattr(by_arm["tt_opd"], n)}
        assert changed == {"preset", "hint"}


@pytest.mark.parametrize("name", list(grids()))
def test_every_arm_of_every_grid_is_another_run(recipe: Path, tmp_path: Path, name: str):
    runs = plan_grid(recipe, name, tmp_path, seeds=[0, 1])
    assert len(runs) == 2 * len(grids()[name]["arms"]) and grids()[name]["about"]
    assert len({run.folder for run in runs}) == len(runs)
    dumps = {run.config.model_copy(update={"preset": "tt_opd"}).model_dump_json() for run in runs}
    # The recipe itself is an arm of a grid; two arms alike would be a mistake.
    assert len(dumps) == len(runs)


def test_arms_of_a_seed_begin_alike_but_for_hints_of_another_level(recipe: Path, tmp_path: Path):
    assert len({run.start for run in plan_grid(recipe, "ablation", tmp_path, seeds=[0, 1])}) == 2
    hints = {run.arm: run.start for run in plan_grid(recipe, "hints", tmp_path)}
    assert hints["none"] == hints["process"] == hints["shuffled"] != hints["answer"]


def test_overrides_win_over_arms(recipe: Path, tmp_path: Path):
    runs = plan_grid(recipe, "lambda", tmp_path, overrides=["lambda.start=0.7"])
    assert {run.config.lambda_.start for run in runs} == {0.7}


def test_mistakes_are_named(recipe: Path, tmp_path: Path):
    with pytest.raises(ConfigError, match="'ablation'"):
        plan_grid(recipe, "ablatoin", tmp_path)
    recipe.write_text(yaml.safe_dump({"preset": "grpo", "model": {"tiny": {}}}))
    with pytest.raises(ConfigError, match="needs a teacher"):
        plan_grid(recipe, "truncation", tmp_path)
    recipe.write_text(yaml.safe_dump({**RECIPE, "optim": {"steps": 5}}))
    with pytest.raises(ConfigError, match="arm copy_10"):
        plan_grid(recipe, "teacher", tmp_path)
    assert [run.arm for run in plan_grid(recipe, "teacher", tmp_path, arms=["decay_0.9"])] == ["decay_0.9"]
    with pytest.raises(ConfigError, match="no arm 'decay_9'"):
        plan_grid(recipe, "teacher", tmp_path, arms=["decay_9"])


def test_a_grid_runs_each_once_shares_starts_and_goes_on_after_a_failure(recipe: Path, tmp_path: Path):
    runs = plan_grid(recipe, "ablation", tmp_path, seeds=[0])[:3]
    launched, prepared, broken = [], [], {"grpo_cosine"}

    def prepare(config, folder: Path) -> Path:
        (folder / "start").mkdir(parents=True, exist_ok=True)
        (folder / "start" / "weights").write_text("w")
        prepared.append(folder.name)
        return folder / "start"

    def launch(config, folder: Path):
        launched.append(config.preset)
        assert (folder / "start" / "weights").read_text() == "w"
        if config.preset in broken:
            raise HealthgymError("engine died")
        (folder / "config.yaml").write_text(dump_config(config))
        (folder / "metrics.jsonl").write_text(json.dumps({"step": 40, "episode/success": 0.5}) + "\n")
        (folder / "model").mkdir()
        return {"step": 40, "episode/success": 0.5}

    report = run_grid(runs, tmp_path, launch=launch, prepare=prepare)
    assert [line["status"] for line in report] == ["finished", "failed", "finished"]
    assert "engine died" in report[1]["error"] and set(prepared) == {runs[0].start}
    assert json.loads((tmp_path / "grid.json").read_text())["runs"] == report
    broken.clear()
    launched.clear()
    again = run_grid(runs, tmp_path, launch=launch, prepare=prepare)
    assert launched == ["grpo_cosine"]  # the finished ones are skipped
    assert [line["metrics"]["episode/success"] for line in again] == [0.5] * 3


def test_ctrl_c_in_a_run_ends_the_grid(recipe: Path, tmp_path: Path):
    runs, launched = plan_grid(recipe, "ablation", tmp_path)[:3], []

    def stopped(config, folder: Path):
        launched.append(config.preset)
        if len(launched) == 2:
            raise RunStopped("stopped by SIGTERM.", exit_code=143)
        return {"step": 40}

    with pytest.raises(RunStopped, match=r"\[2/3\] .* SIGTERM\. .* 1 of 3 runs are finished") as told:
        run_grid(runs, tmp_path, launch=stopped, prepare=lambda config, folder: folder / "start")
    assert launched == [run.config.preset for run in runs[:2]] and told.value.exit_code == 143
    assert [line["arm"] for line in json.loads((tmp_path / "grid.json").read_text())["runs"]] == [runs[0].arm]


def test_a_finished_run_of_another_config_is_not_taken_for_this_one(recipe: Path, tmp_path: Path):
    run = plan_grid(recipe, "ablation", tmp_path)[0]
    (run.folder / "model").mkdir(parents=True)
    other = plan_grid(recipe, "ablation", tmp_path, overrides=["optim.steps=41"])[0]
    (run.folder / "config.yaml").write_text(dump_config(other.config))
    report = run_grid([run], tmp_path, launch=lambda *_: {}, prepare=lambda config, folder: folder)
    assert report[0]["status"] == "failed" and "optim.steps" in report[0]["error"]


@pytest.mark.slow
def test_two_arms_train_from_one_start_and_a_second_call_trains_nothing(tmp_path: Path):
    recipe = tmp_path / "fever.yaml"
    recipe.write_text(dump_config(tiny_run(fever_folder(tmp_path / "domain"), reward={"length": None})))
    chosen = ("tt_opd_shuffled", "sft_hinted")
    runs = plan_grid(recipe, "ablation", tmp_path / "grid", arms=chosen)

    def launch(config, folder: Path):
        return train(config, run_dir=folder, make_source=plain_source).metrics

    def make(config, folder: Path) -> Path:
        return prepare(config, folder, plain_source)

    report = run_grid(runs, tmp_path / "grid", launch=launch, prepare=make)
    assert [(line["arm"], line["status"], line["steps"]) for line in report] == [(arm, "finished", 4) for arm in chosen]
    starts = [load_file(run.folder / "start" / "model.safetensors") for run in runs]
    assert all(torch.equal(tensor, starts[1][name]) for name, tensor in starts[0].items())
    assert report[0]["metrics"]["tt_opd/hints_fired"] > 0 and "supervised/corrected" in report[1]["metrics"]
    again = run_grid(runs, tmp_path / "grid", launch=lambda *_: pytest.fail("trained again"), prepare=make)
    assert again == report
