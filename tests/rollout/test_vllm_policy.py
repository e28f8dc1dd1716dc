"""What the policy and its weight sync do around an engine, with the engine scripted."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from vllm_case import END, PROMPT, Words, logps, optimiser_step, request, tiny_model, write

from healthgym.errors import ConfigError, HealthgymError
from healthgym.rollout.sampling import Sampling
from healthgym.rollout.vllm_engine import VLLMPolicy
from healthgym.rollout.vllm_messages import Adapter, EngineDied, Failed, Generate, Served, Written
from healthgym.rollout.vllm_sync import WeightSync
from healthgym.rollout.weight_folder import read_weights
from healthgym.rollout.weights import ModelWeights, fingerprint


class ScriptedEngine:
    """Answers with the request's seed, from weights it really loads into a twin of the model."""

    name, context_limit = "scripted", 64

    def __init__(self) -> None:
        self.model, self.served = tiny_model(seed=5), Served()
        self.asked: list[Generate] = []
        self.waiting: list[Generate] = []
        self.calls: list[str] = []
        self.deaths = 0
        self.refuses = self.damages = self.is_stale = False

    def start(self) -> None:
        self.calls.append("start")
        self.waiting, self.served = [], Served()

    def generate(self, request: Generate) -> None:
        self.asked.append(request)
        self.waiting.append(request)

    def finished(self) -> list[Written | Failed]:
        if self.deaths:
            self.deaths -= 1
            raise EngineDied("out of memory")
        done, self.waiting = self.waiting, []
        if self.refuses:
            return [Failed(one.key, "aborted") for one in done]
        return [Written(one.key, [one.seed % 300 + 2, END], [-1.0, -2.0], cached=3) for one in done]

    def abort(self, key: str) -> None:
        self.calls.append("abort")
        self.waiting = [one for one in self.waiting if one.key != key]

    def load(self, folder: Path, version: str) -> Served:
        self.calls.append("load")
        named = dict(read_weights(folder))
        if not self.is_stale:
            self.model.load_state_dict(named, strict=False)
            self.model.tie_weights()
        self.served = Served(version, "damaged" if self.damages else fingerprint(named.items()))
        return self.served

    def serving(self) -> Served:
        return self.served

    def use_adapter(self, adapter: Adapter) -> None:
        raise AssertionError("no adapters here")

    def score(self, ids: Sequence[int], adapter: Adapter | None) -> list[float]:
        return logps(self.model, ids[:1], ids[1:]).tolist()

    def sleep(self) -> None:
        self.calls.append("sleep")

    def wake(self) -> None:
        self.calls.append("wake")

    def close(self) -> None:
        self.calls.append("close")


def scripted(tmp_path: Path, **options: Any) -> tuple[VLLMPolicy, ScriptedEngine, Any]:
    engine, model = ScriptedEngine(), tiny_model()
    sync = WeightSync(engine, ModelWeights(model, torch.float32), tmp_path / "weights")
    policy = VLLMPolicy(engine, sync, Words(), end_ids=[END], sampling=Sampling(temperature=0.7), **options)
    return policy, engine, model


def test_a_turn_carries_its_own_seed_and_comes_back_whole(tmp_path: Path):
    policy, engine, _ = scripted(tmp_path)
    made = write(policy, [request(4, seed=40), request(5, seed=50)])
    assert (made[4].token_ids, made[4].logprobs, made[4].message, made[4].clipped) == (
        [42, END],
        [-1.0, -2.0],
        "42",
        False,
    )
    assert [(one.seed, one.max_tokens, one.sampling["temperature"]) for one in engine.asked] == [
        (40, 16, 0.7),
        (50, 16, 0.7),
    ]
    assert policy.counters() | {"engine/sync_seconds": 0} == {
        "engine/sampled_tokens": 4, "engine/prompt_tokens": 96, "engine/cached_tokens": 6, "engine/restarts": 0,
        "engine/weight_loads": 1, "engine/sync_seconds": 0,
    }  # fmt: skip


def test_weights_are_pushed_when_they_have_changed_and_only_then(tmp_path: Path):
    policy, engine, model = scripted(tmp_path)
    for _ in range(2):
        write(policy, [request(0)])
    assert engine.calls == ["start", "load"]
    optimiser_step(model)
    write(policy, [request(0)])
    assert engine.calls == ["start", "load", "load"]
    torch.testing.assert_close(logps(engine.model, PROMPT, [3]), logps(model, PROMPT, [3]))


def test_a_dead_engine_is_revived_given_the_weights_and_asked_again(tmp_path: Path):
    policy, engine, _ = scripted(tmp_path, restarts=2)
    engine.deaths = 2
    made = write(policy, [request(1), request(2)])
    assert [made[key].token_ids[0] for key in (1, 2)] == [3, 4]
    assert engine.calls == ["start", "load", "start", "load", "start", "load"]
    assert [one.key for one in engine.asked] == ["1.1", "2.2"] * 3
    assert policy.restarted == 2


def test_an_engine_that_keeps_dying_ends_the_run_with_its_last_words(tmp_path: Path):
    policy, engine, _ = scripted(tmp_path, restarts=1)
    engine.deaths = 2
    policy.submit(request(1))
    with pytest.raises(EngineDied, match=r"out of memory\n.*died again after 1 restarts"):
        policy.poll()


def test_an_engine_that_refuses_a_turn_fails_that_episode_alone(tmp_path: Path):
    policy, engine, _ = scripted(tmp_path)
    engine.refuses = True
    assert write(policy, [request(1)])[1].error == "aborted"


def test_cancelling_aborts_and_late_answers_are_dropped(tmp_path: Path):
    policy, engine, _ = scripted(tmp_path, sleeps=True)
    policy.submit(request(1))
    policy.submit(request(2))
    late = engine.waiting[0]
    policy.cancel(1)
    engine.waiting.append(late)
    assert [result.key for result in policy.poll()] == [2]
    policy.cancel(2)
    assert engine.calls == ["start", "load", "abort", "sleep"] and policy.poll() == []
    policy.prepare()
    assert engine.calls[-1] == "wake"


def test_weights_damaged_on_the_way_are_named(tmp_path: Path):
    policy, engine, _ = scripted(tmp_path)
    engine.damages = True
    with pytest.raises(HealthgymError, match=r"received weights with digest damaged, but [0-9a-f]{16} were sent"):
        policy.prepare()


def test_an_engine_that_computes_with_other_weights_than_it_received_is_found_out(tmp_path: Path):
    policy, engine, _ = scripted(tmp_path)
    engine.is_stale = True
    with pytest.raises(HealthgymError, match=r"differ from the trainer's by \d+\.\d+ nats a token"):
        policy.prepare()


def test_weights_of_another_run_are_named_beside_ours(tmp_path: Path):
    policy, engine, _ = scripted(tmp_path)
    write(policy, [request(0)])
    ours = engine.served.version
    engine.served = Served("abc", "abc")
    with pytest.raises(HealthgymError, match=f"serves weights abc, but this run last gave it {ours}"):
        write(policy, [request(0)])


def test_a_process_that_does_not_push_waits_and_checks(tmp_path: Path):
    waited: list[int] = []
    engine, weights = ScriptedEngine(), ModelWeights(tiny_model(), torch.float32)
    sync = WeightSync(engine, weights, tmp_path, pushes=False)
    policy = VLLMPolicy(engine, sync, Words(), end_ids=[END], wait_for_everyone=lambda: waited.append(1))
    with pytest.raises(HealthgymError, match="serves weights of its own, but the trainer's are"):
        policy.prepare()
    assert len(waited) == 2 and engine.calls == ["start"]
    engine.served = Served(weights.fingerprint(), "")
    policy.prepare()


def test_whoever_notices_a_death_gives_the_weights_again(tmp_path: Path):
    engine, weights = ScriptedEngine(), ModelWeights(tiny_model(), torch.float32)
    policy = VLLMPolicy(engine, WeightSync(engine, weights, tmp_path, pushes=False), Words(), end_ids=[END])
    engine.start()
    engine.served = Served(weights.fingerprint(), "")
    policy._is_started, engine.deaths = True, 1
    assert write(policy, [request(1)])[1].token_ids == [3, END]
    assert engine.calls == ["start", "start", "load"]


def test_an_engine_started_again_between_batches_gets_the_weights_again(tmp_path: Path):
    policy, engine, _ = scripted(tmp_path)
    write(policy, [request(0)])
    engine.served = Served()
    write(policy, [request(0)])
    assert engine.calls == ["start", "load", "load"]


def test_a_prompt_that_fills_the_engine_is_refused(tmp_path: Path):
    policy, _, _ = scripted(tmp_path)
    with pytest.raises(ConfigError, match=r"64 tokens leave no room .* 64 positions"):
        policy.submit(request(0, [5] * 64))
    with pytest.raises(ConfigError, match="ChatTemplate"):
        policy.submit(request(0, []))
