"""Every recipe can be planned, those for GPUs fit the devices they name, and their READMEs show the plan as it is."""

from pathlib import Path

import pytest
import yaml

from healthgym.training.loading import load_config
from healthgym.training.plan import make_plan

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes").glob("*/*recipe.yaml")) + sorted((ROOT / "recipes" / "quickstart").glob("*.yaml"))
LAUNCHES = {
    "qwen3_0.6b_lora_24gb": (1, 24), "qwen3_8b_lora_80gb": (1, 80), "qwen3_8b_full_8gpu": (8, 80),
    "qwen3_32b_multinode": (32, 141),
}  # fmt: skip
CONFIGS = sorted((ROOT / "recipes" / "accelerate").glob("*.yaml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_recipe_can_be_planned(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)  # recipes name their own folders from here
    plan = make_plan(load_config(path))
    assert plan.memory.peak > 0
    assert sum(plan.volume.tasks.values()) > 0


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_recipe_fits_the_devices_it_names_and_its_readme_says_how(name: str):
    processes, device = LAUNCHES[name]
    plan = make_plan(load_config(ROOT / "recipes" / name / "recipe.yaml"), processes=processes, device_gib=device)
    assert plan.fits
    readme = (ROOT / "recipes" / name / "README.md").read_text(encoding="utf-8")
    assert f"**{plan.memory.peak / 2**30:.1f} GiB**" in readme
    for item in plan.memory.items:
        assert f"| {item.name} | {item.bytes / 2**30:.2f} |" in readme, item.name


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_launch_config_is_one_that_accelerate_reads(path: Path):
    from accelerate.commands.config.config_args import load_config_from_file

    read = load_config_from_file(str(path))
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert read.num_processes == written["num_processes"]
    assert read.distributed_type.value == written["distributed_type"]


def test_launches_that_shard_take_version_two_of_fsdp_and_save_whole_states():
    for path in CONFIGS:
        if path.name.startswith("fsdp2"):
            settings = yaml.safe_load(path.read_text(encoding="utf-8"))["fsdp_config"]
            assert settings["fsdp_version"] == 2
            assert settings["fsdp_state_dict_type"] == "FULL_STATE_DICT"
