from pathlib import Path

import pytest

from healthgym.cli.launch import evaluator
from healthgym.errors import ConfigError
from healthgym.training.loading import load_config

RECIPE = Path(__file__).parents[2] / "recipes" / "quickstart" / "tt_opd.yaml"


def test_no_run_is_measured_on_the_tasks_it_practises():
    with pytest.raises(ConfigError, match="measured on the tasks it practises"):
        evaluator(load_config(RECIPE, ["env.split=val", "eval.every=1"]), None)
