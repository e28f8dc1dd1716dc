"""Recipes parse, agree with what they say they are, and the README's python blocks run."""

import re
from pathlib import Path

import pytest

from healthgym.quickstart.journey import ARMS, arm_config
from healthgym.training.loading import load_config

ROOT = Path(__file__).parents[2]
RECIPES = [path for path in sorted((ROOT / "recipes").glob("*/*.yaml")) if path.parent.name != "accelerate"]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_recipe_is_a_valid_config(path):
    assert load_config(path).optim.steps > 0


@pytest.mark.parametrize("name", ARMS)
def test_the_quickstart_recipes_are_the_arms_of_the_quickstart(name):
    assert load_config(ROOT / "recipes" / "quickstart" / f"{name}.yaml") == arm_config(name, 0)


def test_both_arms_of_the_quickstart_begin_alike():
    grpo, tt_opd = (arm_config(name, 3) for name in ("grpo_cosine", "tt_opd"))
    for part in ("model", "env", "rollout", "optim", "warm_start", "seed"):
        assert getattr(grpo, part) == getattr(tt_opd, part)
    assert grpo.teacher is None
    assert tt_opd.teacher is not None
    assert tt_opd.hint is not None


def test_the_python_blocks_of_the_readme_run():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})


def test_the_tool_of_the_readme_takes_under_25_lines():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    tool = blocks[1].split("    @tool")[1]
    assert len(tool.splitlines()) < 25
