"""vLLM itself, beside the trainer: after an update it says what the trainer says, and it comes back when it is killed."""

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from vllm_case import END, PROMPT, Words, engine_arguments, logps, optimiser_step, request, tiny_model, write

from healthgym.errors import HealthgymError
from healthgym.rollout.sampling import Sampling
from healthgym.rollout.vllm_colocated import ColocatedEngine, scratch_folder
from healthgym.rollout.vllm_engine import VLLMPolicy
from healthgym.rollout.vllm_sync import WeightSync
from healthgym.rollout.weights import ModelWeights

pytestmark = [
    pytest.mark.slow,
    pytest.mark.vllm,
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed: make vllm"),
]
TEMPERATURE = 0.7
PolicyFor = Callable[..., VLLMPolicy]


def start(model: Any, **arguments: Any) -> ColocatedEngine:
    scratch = scratch_folder()
    ModelWeights(model, torch.float32).save_config(scratch / "model")
    return ColocatedEngine(engine_arguments(scratch / "model", **arguments), scratch)


@pytest.fixture(scope="module")
def engine() -> Iterator[ColocatedEngine]:
    """One engine with the tied model's architecture, for every test that needs no other."""
    started = start(tiny_model())
    started.start()
    yield started
    started.close()


def on(engine: ColocatedEngine, model: Any, temperature: float = TEMPERATURE, **options: Any) -> VLLMPolicy:
    """Return a policy that samples a model from a running engine."""
    sync = WeightSync(engine, ModelWeights(model, torch.float32), engine.scratch / "weights", **options)
    policy = VLLMPolicy(engine, sync, Words(), end_ids=[END], sampling=Sampling(temperature=temperature))
    policy._is_started = engine.process is not None
    return policy


def assert_agrees(policy: VLLMPolicy, model: Any, temperature: float = TEMPERATURE) -> dict[int, list[int]]:
    """Write turns, hold each token's log-probability against the trainer's, and return the tokens."""
    made = write(policy, [request(key, [*PROMPT, 5 + key]) for key in range(6)])
    for key, turn in made.items():
        expected = logps(model, [*PROMPT, 5 + key], turn.token_ids, temperature or 1.0)
        torch.testing.assert_close(torch.tensor(turn.logprobs), expected, rtol=0, atol=1e-4)
    return {key: list(turn.token_ids) for key, turn in made.items()}


@pytest.mark.parametrize("temperature", [TEMPERATURE, 0.0])
def test_after_an_update_the_engine_says_what_the_trainer_says(engine: ColocatedEngine, temperature: float):
    # The head shares the embedding's weight: without packing it anew the engine would go on with the old one.
    model = tiny_model(seed=3)
    policy = on(engine, model, temperature)
    before = assert_agrees(policy, model, temperature)
    assert assert_agrees(policy, model, temperature) == before  # a turn's own seed, and no push
    assert policy.sync.loads == 1
    optimiser_step(model)
    after = assert_agrees(policy, model, temperature)
    assert after != before and policy.sync.loads == 2


def test_merged_adapters_follow_as_whole_weights(engine: ColocatedEngine):
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(tiny_model(), LoraConfig(r=4, lora_alpha=8, target_modules="all-linear"))
    policy = on(engine, model)
    before = assert_agrees(policy, model)
    optimiser_step(model)
    assert assert_agrees(policy, model) != before


def test_attempts_at_one_task_share_the_cache_of_their_prompt_until_the_weights_change(engine: ColocatedEngine):
    model, prompt = tiny_model(seed=4), [7 + 5 * i % 300 for i in range(150)]
    policy = on(engine, model)
    write(policy, [request(0, prompt)])
    assert policy.cached_tokens == 0
    write(policy, [request(key, prompt, seed=key) for key in range(1, 5)])
    assert policy.cached_tokens == 4 * 128  # of 150 prompt tokens, in whole blocks of 128
    optimiser_step(model)
    write(policy, [request(0, prompt)])
    assert policy.cached_tokens == 4 * 128


def test_requests_leave_as_they_finish_and_cancelled_ones_never_come_back(engine: ColocatedEngine):
    policy = on(engine, tiny_model(seed=5))
    long, short = request(1, max_tokens=150), request(2, max_tokens=1)
    policy.submit(long)
    policy.submit(request(3, max_tokens=150))
    policy.submit(short)
    assert [result.key for result in policy.poll()] == [2]
    policy.cancel(1)
    policy.cancel(2)
    policy.submit(request(4, max_tokens=2))
    first = [result.key for result in policy.poll()]
    assert first == [4]
    policy.cancel(4)
    assert [result.key for result in policy.poll()] == [3]
    policy.cancel(3)


def test_more_prompt_tokens_than_a_batch_holds_are_read_in_turn_and_sampled_with_their_seeds():
    # Twelve prompts of 49 tokens, 588 in all, against the 256 of a batch: read in parts, the sixth would be cut.
    engine = start(tiny_model(), max_num_batched_tokens=256)
    policy = on(engine, tiny_model(seed=9))
    asked = [request(key, [*PROMPT, 5 + key], max_tokens=8) for key in range(12)]
    together = write(policy, asked)
    assert policy.restarted == 0
    for one in asked[::4]:  # alone, each turn is the same
        assert write(policy, [one])[one.key].token_ids == together[one.key].token_ids
    policy.close()


def test_an_engine_killed_in_the_middle_of_a_turn_writes_the_same_turn_again():
    model = tiny_model(seed=6)
    engine = start(model)
    policy = on(engine, model)
    optimiser_step(model)
    asked = [request(key, max_tokens=40) for key in range(3)]
    before = write(policy, asked)
    for one in asked:
        policy.submit(one)
    assert engine.process is not None
    os.kill(engine.process.pid, 9)
    made: dict[int, Any] = {}
    while len(made) < 3:
        made |= {result.key: result for result in policy.poll()}
    assert policy.restarted == 1
    assert {key: turn.token_ids for key, turn in made.items()} == {key: turn.token_ids for key, turn in before.items()}
    policy.close()
    assert not engine.scratch.exists()


def test_an_untied_head_follows_too():
    model = tiny_model(tied=False)
    engine = start(model)
    policy = on(engine, model)
    before = assert_agrees(policy, model)
    optimiser_step(model)
    assert assert_agrees(policy, model) != before
    policy.close()


def test_a_tied_head_that_is_not_packed_anew_is_found_out():
    # Only CPU kernels keep a packed copy; elsewhere the head follows by itself.
    if torch.cuda.is_available():
        pytest.skip("no packed weights on a GPU")
    model = tiny_model()
    policy = on(start(model, worker_extension_cls="vllm_stale.WeightsExtension"), model)
    with pytest.raises(HealthgymError, match="differ from the trainer's by"):
        policy.prepare()
    policy.close()


def test_adapters_alone_follow_on_a_base_that_is_sent_once():
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(tiny_model(), LoraConfig(r=4, lora_alpha=8, target_modules="all-linear"))
    engine = start(model, enable_lora=True, max_loras=2, max_lora_rank=8)
    policy = on(engine, model, adapters_only=True)
    before = assert_agrees(policy, model)
    assert policy.sync.loads == 2  # the base and the first adapter
    optimiser_step(model)
    assert assert_agrees(policy, model) != before
    assert policy.sync.loads == 3
    policy.close()


def test_weights_pushed_by_another_are_found_out(engine: ColocatedEngine):
    ours, theirs = on(engine, tiny_model(seed=7)), on(engine, tiny_model(seed=8))
    write(ours, [request(0)])
    write(theirs, [request(0)])
    with pytest.raises(HealthgymError, match="another run pushes to the same engine"):
        write(ours, [request(0)])


def test_an_engine_that_cannot_start_says_why():
    engine = start(tiny_model(), max_model_len=100_000)
    policy = on(engine, tiny_model())
    policy.restarts = 0
    with pytest.raises(HealthgymError, match="max_model_len"):
        policy.prepare()
    policy.close()
