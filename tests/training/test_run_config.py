import subprocess
import sys
from pathlib import Path

import pytest

from healthgym.errors import ConfigError
from healthgym.training.loading import dump_config, load_config, make_config
from healthgym.training.presets import PRESETS

TINY = {"model": {"tiny": {}}}


def test_a_preset_lies_under_the_users_values():
    config = make_config({**TINY, "preset": "tt_opd_paper", "teacher": {"update_every": 2}})
    assert config.lambda_.start == 4.0 and config.lambda_.shape == "constant"
    assert config.teacher.update_every == 2 and config.teacher.copy_every == 30


def test_the_ladder_adds_one_mechanism_a_rung():
    rungs = [make_config({**TINY, "preset": name}) for name in list(PRESETS)[:6]]
    seen = [
        (
            c.reward.length is not None,
            c.teacher is not None,
            bool(c.teacher and c.teacher.update_every),
            c.hint is not None,
        )
        for c in rungs
    ]
    assert seen == [
        (False, False, False, False),
        (True, False, False, False),
        (True, True, False, False),
        (True, True, True, False),
        (True, True, True, True),
        (True, True, True, True),
    ]
    assert rungs[4].turns.start == 64 and rungs[5].turns.start < rungs[5].turns.max


def test_an_exclusion_list_needs_its_index():
    assert make_config({**TINY, "env": {"index": "kb", "exclude": "x.txt"}}).env.exclude == "x.txt"
    with pytest.raises(ConfigError, match=r"env\.index"):
        make_config({**TINY, "env": {"exclude": "x.txt"}})
    with pytest.raises(ConfigError, match=r"env.encoder is that of the index"):
        make_config({**TINY, "env": {"encoder": "minilm"}})


def test_null_switches_a_presets_section_off():
    assert make_config({**TINY, "preset": "tt_opd", "hint": None}).hint is None


def test_an_unknown_key_names_the_nearest_and_the_file(tmp_path: Path):
    recipe = tmp_path / "run.yaml"
    recipe.write_text("model: {tiny: {}}\noptim: {learning_rat: 1e-4}\n")
    with pytest.raises(ConfigError, match=r"run\.yaml[\s\S]*optim\.learning_rat[\s\S]*'learning_rate'"):
        load_config(recipe)
    with pytest.raises(ConfigError, match="Did you mean 'lambda'"):
        make_config({**TINY, "lamda": {}})
    with pytest.raises(ConfigError, match="ema_decay"):
        make_config({**TINY, "teacher": {"ema_decai": 0.9}})


def test_a_wrong_type_says_what_arrived_and_what_was_expected():
    with pytest.raises(ConfigError, match=r"optim\.steps: got 'many' \(str\).*integer"):
        make_config({**TINY, "optim": {"steps": "many"}})
    with pytest.raises(ConfigError, match=r"optim: got 3 \(int\)"):
        make_config({**TINY, "optim": 3})


def test_overrides_win_and_are_parsed_as_yaml(tmp_path: Path):
    recipe = tmp_path / "run.yaml"
    recipe.write_text("model: {tiny: {layers: 3}}\noptim: {steps: 7}\n")
    config = load_config(recipe, ["optim.steps=9", "env.domains=[a, b]", "lambda.start=1e-1", "reward.length=null"])
    assert config.optim.steps == 9
    assert config.env.domains == ("a", "b")
    assert config.lambda_.start == 0.1
    assert config.reward.length is None
    assert config.model.tiny.layers == 3
    with pytest.raises(ConfigError, match=r"expected a\.b=value"):
        load_config(recipe, ["optim.steps"])
    with pytest.raises(ConfigError, match="stepz"):
        load_config(recipe, ["optim.stepz=3"])


@pytest.mark.parametrize("preset", list(PRESETS))
def test_the_resolved_dump_loads_to_the_same_config(preset: str, tmp_path: Path):
    config = make_config({**TINY, "preset": preset})
    (tmp_path / "config.yaml").write_text(dump_config(config))
    assert load_config(tmp_path / "config.yaml") == config


def test_sections_that_contradict_each_other_are_refused():
    with pytest.raises(ConfigError, match="nobody would read"):
        make_config({**TINY, "preset": "grpo", "hint": {}})
    with pytest.raises(ConfigError, match="exactly one of"):
        make_config({"model": {}})
    with pytest.raises(ConfigError, match=r"model\.lora is null"):
        make_config({**TINY, "teacher": {"space": "delta"}})
    with pytest.raises(ConfigError, match="micro_batch 5"):
        make_config({**TINY, "optim": {"micro_batch": 5}})
    with pytest.raises(ConfigError, match="needs kind topk"):
        make_config({**TINY, "divergence": {"kind": "k3", "direction": "jsd"}})


def test_a_teacher_of_wider_adapters_must_average_products():
    lora = {"model": {"tiny": {}, "lora": {}}}
    assert make_config({**lora, "teacher": {"rank_factor": 2, "space": "delta"}}).teacher.rank_factor == 2
    with pytest.raises(ConfigError, match=r"rank_factor 2 needs teacher\.space delta"):
        make_config({**lora, "teacher": {"rank_factor": 2}})


def test_a_required_probe_that_is_never_made_is_refused():
    assert make_config({**TINY, "hint": {"require_probe": True, "probe_tasks": 1}}).hint.require_probe
    with pytest.raises(ConfigError, match=r"hint\.probe_tasks 0 makes none"):
        make_config({**TINY, "hint": {"require_probe": True, "probe_tasks": 0}})


def test_files_that_are_no_recipe_are_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="No recipe"):
        load_config(tmp_path / "nowhere.yaml")
    (tmp_path / "list.yaml").write_text("- 1\n")
    with pytest.raises(ConfigError, match="expected a mapping of sections, got list"):
        load_config(tmp_path / "list.yaml")
    (tmp_path / "torn.yaml").write_text("a: [1\n")
    with pytest.raises(ConfigError, match="not valid YAML"):
        load_config(tmp_path / "torn.yaml")
    with pytest.raises(ConfigError, match="Did you mean 'tt_opd'"):
        make_config({**TINY, "preset": "ttopd"})


def test_configs_load_without_torch():
    code = "import sys, healthgym.training.loading, healthgym.training.hints; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
