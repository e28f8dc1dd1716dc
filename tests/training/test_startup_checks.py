import logging
from typing import Any

import pytest

from healthgym.errors import ConfigError
from healthgym.training.loading import make_config
from healthgym.training.presets import PRESETS
from healthgym.training.startup import OracleLength, check_distribution, check_lengths, check_settings


def config(**sections: Any):
    return make_config({"model": {"tiny": {}}, **sections})


@pytest.mark.parametrize("preset", list(PRESETS))
def test_every_preset_starts(preset: str):
    check_settings(config(preset=preset))


def test_a_teacher_that_never_moves_is_refused():
    with pytest.raises(ConfigError, match="never moves"):
        check_settings(config(teacher={"ema_decay": 1.0}))
    with pytest.raises(ConfigError, match="never moves"):
        check_settings(config(teacher={"update_every": 0}))
    check_settings(config(teacher={"ema_decay": 1.0, "copy_every": 10}))


def test_a_teacher_whose_turn_never_comes_is_refused():
    with pytest.raises(ConfigError, match="update_every 50 never comes in a run of 20"):
        check_settings(config(teacher={"update_every": 50}, optim={"steps": 20}))


def test_a_teacher_without_a_say_is_refused():
    with pytest.raises(ConfigError, match=r"lambda\.start 0"):
        check_settings(config(**{"lambda": {"start": 0}}))
    check_settings(config(preset="grpo", **{"lambda": {"start": 0}}))


def test_limits_that_not_even_the_oracle_meets_are_refused():
    lengths = [OracleLength("a", 100, 50, 20), OracleLength("b", 100, 80, 30)]
    check_lengths(config(rollout={"max_completion_tokens": 80, "max_tokens_per_turn": 30}), lengths)
    with pytest.raises(ConfigError, match="max_completion_tokens 40 is too short: the oracle needs 50 to 80"):
        check_lengths(config(rollout={"max_completion_tokens": 40}), lengths)
    with pytest.raises(ConfigError, match="max_tokens_per_turn 10"):
        check_lengths(config(rollout={"max_tokens_per_turn": 10}), lengths)
    with pytest.raises(ConfigError, match="max_context"):
        check_lengths(config(), lengths, model_limit=120)


def test_limits_that_some_oracles_miss_are_warned_of(caplog: pytest.LogCaptureFixture):
    lengths = [OracleLength("a", 100, 50, 20), OracleLength("b", 100, 80, 30)]
    with caplog.at_level(logging.WARNING):
        check_lengths(config(rollout={"max_completion_tokens": 60}), lengths)
    assert "1 of 2 sampled tasks" in caplog.text


def test_shards_that_no_teacher_can_follow_are_refused():
    check_distribution(config(), "none")
    check_distribution(config(**{"lambda": {"balance": "grad_norm"}}), "fsdp")
    with pytest.raises(ConfigError, match="version 1 of FSDP"):
        check_distribution(config(), "fsdp", fsdp_version=1)
    check_distribution(config(preset="grpo"), "deepspeed")
    wide = config(
        model={"tiny": {}, "lora": {"rank": 4}}, teacher={"space": "delta", "rank_factor": 2, "update_every": 1}
    )
    for sharding in ("fsdp", "deepspeed"):
        with pytest.raises(ConfigError, match="rank_factor 2"):
            check_distribution(wide, sharding)


def test_what_deepspeed_keeps_from_a_teacher_is_refused(caplog: pytest.LogCaptureFixture):
    with pytest.raises(ConfigError, match=r"divergence\.kind topk applies"):
        check_distribution(config(), "deepspeed")
    k3 = {"divergence": {"kind": "k3"}}
    with pytest.raises(ConfigError, match=r"Set lambda\.balance: none"):
        check_distribution(config(**k3, **{"lambda": {"balance": "grad_norm"}}), "deepspeed")
    with caplog.at_level(logging.WARNING):
        check_distribution(config(**k3, guard={"grad_norm_every": 0}), "deepspeed")
        assert not caplog.text
        check_distribution(config(**k3), "deepspeed")
    assert "grad_norm_every" in caplog.text
