"""The vLLM section of a run's settings, and what is made of it without starting anything."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tiny import make_model, make_tokenizer

from healthgym.errors import ConfigError, MissingDependency
from healthgym.rollout.vllm_client import ServerEngine
from healthgym.rollout.vllm_server import ServerSettings, server_command
from healthgym.training.loading import make_config
from healthgym.training.policy_source import engine_policy
from healthgym.training.vllm_policy import colocated_arguments


def config(lora: bool = False, **vllm: Any):
    model: dict[str, Any] = {"tiny": {}, **({"lora": {"rank": 4}} if lora else {})}
    rollout = {"engine": "vllm", "vllm": vllm, "in_flight": 7}
    return make_config({"preset": "grpo", "model": model, "rollout": rollout, "seed": 3})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "server"}, "mode server needs urls"),
        ({"urls": ["http://127.0.0.1:8000"]}, "urls are for mode server"),
        ({"gpu_memory_utilisation": 0.5}, "gpu_memory_utilization"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        config(**settings)


def test_adapters_need_adapters():
    tokenizer = make_tokenizer()
    with pytest.raises(ConfigError, match=r"needs model\.lora"):
        engine_policy(config(sync="adapter"), make_model(tokenizer), tokenizer)


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_a_missing_vllm_is_named_with_the_ways_to_get_it():
    tokenizer = make_tokenizer()
    with pytest.raises(MissingDependency, match=r"'vllm' extra.*make vllm.*rollout\.engine: transformers"):
        engine_policy(config(), make_model(tokenizer), tokenizer)


def test_a_server_needs_no_vllm_here_and_gets_the_weights_from_the_main_process():
    tokenizer = make_tokenizer()
    settings = {"mode": "server", "urls": ["http://127.0.0.1:8000"]}
    policy: Any = engine_policy(config(**settings, restarts=5), make_model(tokenizer), tokenizer)
    assert isinstance(policy.engine, ServerEngine) and policy.sync.pushes and policy.restarts == 5
    assert policy.end_ids == (tokenizer.eos_token_id,) and not policy.sync.adapters_only
    adapted: Any = engine_policy(config(lora=True, **settings), make_model(tokenizer, lora=True), tokenizer)
    assert adapted.sync.adapters_only
    merged: Any = engine_policy(
        config(lora=True, sync="weights", **settings), make_model(tokenizer, lora=True), tokenizer
    )
    assert not merged.sync.adapters_only
    for one in (policy, adapted, merged):
        one.close()


def test_the_engine_computes_what_the_trainer_computes():
    arguments = colocated_arguments(config(kv_cache_gb=0.5, sleep=True), Path("/m"), 256)
    expected = {
        "dtype": "float32", "max_model_len": 256, "max_num_seqs": 7, "logprobs_mode": "processed_logprobs",
        "enable_prefix_caching": True, "kv_cache_memory_bytes": 2**29, "enable_sleep_mode": True, "load_format": "dummy",
    }  # fmt: skip
    assert {name: arguments[name] for name in expected} == expected


@pytest.mark.parametrize("has_accelerator", [False, True])
def test_prompts_are_read_whole_where_seeded_draws_cannot_be_taken_back(
    monkeypatch: pytest.MonkeyPatch, has_accelerator: bool
):
    monkeypatch.setattr("torch.accelerator.is_available", lambda: has_accelerator)
    # A GPU may read them in parts, which is vLLM's default and left to it.
    assert colocated_arguments(config(), Path("/m"), 256).get("enable_chunked_prefill") is (
        None if has_accelerator else False
    )
    assert ("--no-enable-chunked-prefill" in server_command(ServerSettings(model="m"))) is not has_accelerator
