"""The transformers engine: what it says it sampled is what the model would say, whoever sits in the batch."""

import copy

import pytest
import torch

from healthgym.errors import ConfigError
from healthgym.rollout import collect
from healthgym.rollout.policy import TurnRequest
from healthgym.rollout.transformers_engine import Sampling, TransformersPolicy


def play(model, tokenizer, make_episode, jobs, template, *, seed=0, in_flight=64, tokens=24, **options):
    policy = TransformersPolicy(model, tokenizer, **options)
    return collect(
        jobs, policy, make_episode, template=template, max_tokens_per_turn=tokens, max_completion_tokens=500,
        in_flight=in_flight, seed=seed,
    )  # fmt: skip


@torch.no_grad()
def teacher_forced(model, trajectory, temperature=1.0):
    """Log-probabilities of the policy's tokens from one full forward pass without a cache."""
    ids = torch.tensor([[*trajectory.prompt_ids, *trajectory.completion_ids]])
    was_training = model.training
    model.eval()
    logits = model(input_ids=ids).logits[0, :-1].float() / temperature
    model.train(was_training)
    logps = logits.log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0][len(trajectory.prompt_ids) - 1 :]
    return logps[torch.tensor(trajectory.completion_mask).bool()]


def own(trajectory):
    mask = torch.tensor(trajectory.completion_mask).bool()
    return torch.tensor(trajectory.completion_ids)[mask].tolist(), torch.tensor(trajectory.logprobs)[mask]


def requests(template, texts, max_tokens=12):
    return [
        TurnRequest(key, "t", (), (), template.prompt_ids([{"role": "user", "content": text}]), max_tokens, seed=key)
        for key, text in enumerate(texts)
    ]


def write(policy, asked):
    for request in asked:
        policy.submit(request)
    done = {}
    while len(done) < len(asked):
        done |= {result.key: result for result in policy.poll()}
    return done


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("rows", [3, 64])
def test_logprobs_are_those_of_a_full_forward_pass(model, tokenizer, make_episode, jobs, template, temperature, rows):
    # Attempts of a group share a prompt; with 3 slots for 16 episodes in flight, slots change hands mid-episode.
    made = play(
        model,
        tokenizer,
        make_episode,
        [*jobs, *jobs],
        template,
        max_rows=rows,
        sampling=Sampling(temperature=temperature),
    )
    assert sum(t.num_turns for t in made) >= 2.5 * len(made)
    for trajectory in made:
        torch.testing.assert_close(
            own(trajectory)[1], teacher_forced(model, trajectory, temperature), atol=1e-4, rtol=0
        )


def test_greedy_equals_transformers_generate(model, tokenizer, template):
    policy = TransformersPolicy(model, tokenizer, sampling=Sampling(temperature=0))
    asked = requests(template, ["P1 is hot.", "Work out one safe oral dose of paracetamol.", "x"])
    done = write(policy, asked)
    for request in asked:
        ids = torch.tensor([request.prompt_ids])
        expected = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False)
        assert list(done[request.key].token_ids) == expected[0, ids.shape[1] :].tolist()


def test_company_and_order_do_not_change_a_turn(model, tokenizer, template):
    asked = requests(template, [f"Patient {i} is hot. " + "Weigh. " * (i % 4) for i in range(12)])
    together = write(TransformersPolicy(model, tokenizer), asked)
    backwards = write(TransformersPolicy(model, tokenizer, max_rows=5), asked[::-1])
    alone = {request.key: write(TransformersPolicy(model, tokenizer), [request])[request.key] for request in asked}
    for key, result in together.items():
        assert list(result.token_ids) == list(backwards[key].token_ids) == list(alone[key].token_ids)
        torch.testing.assert_close(torch.tensor(result.logprobs), torch.tensor(alone[key].logprobs), atol=1e-4, rtol=0)


def test_a_seed_is_a_replay(model, tokenizer, make_episode, jobs, template):
    first, again, other = (play(model, tokenizer, make_episode, jobs, template, seed=seed) for seed in (1, 1, 2))
    assert [t.completion_ids for t in first] == [t.completion_ids for t in again]
    assert [t.completion_ids for t in first] != [t.completion_ids for t in other]


def test_new_weights_count_from_the_next_collect_on(model, tokenizer, make_episode, jobs, template):
    policy = TransformersPolicy(model, tokenizer)
    options = {"template": template, "max_tokens_per_turn": 16, "max_completion_tokens": 200}
    collect(jobs, policy, make_episode, **options)
    for parameter in model.parameters():
        parameter.data.mul_(1.5)  # past the version counter, as swapped teacher weights are
    for trajectory in collect(jobs, policy, make_episode, **options):
        torch.testing.assert_close(own(trajectory)[1], teacher_forced(model, trajectory), atol=1e-4, rtol=0)


def test_adapters_are_sampled_through(model, tokenizer, make_episode, jobs, template):
    from peft import LoraConfig, get_peft_model

    plain = play(copy.deepcopy(model), tokenizer, make_episode, jobs, template)
    adapted = get_peft_model(
        model, LoraConfig(r=4, target_modules="all-linear", lora_dropout=0.5, task_type="CAUSAL_LM")
    )
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.3)
    adapted.train()
    made = play(adapted, tokenizer, make_episode, jobs, template)
    assert [t.completion_ids for t in made] != [t.completion_ids for t in plain]
    for trajectory in made:  # dropout 0.5 would show
        torch.testing.assert_close(own(trajectory)[1], teacher_forced(adapted, trajectory), atol=1e-4, rtol=0)


def test_training_finds_the_model_as_it_left_it(model, tokenizer, template):
    model.train()
    model.model.layers[1].eval()
    model.gradient_checkpointing_enable()
    before = {name: module.training for name, module in model.named_modules()}
    attention = model.config._attn_implementation
    write(TransformersPolicy(model, tokenizer), requests(template, ["P1 is hot."]))
    assert {name: module.training for name, module in model.named_modules()} == before
    assert model.config._attn_implementation == attention and model.model.layers[0].gradient_checkpointing
    loss = model(input_ids=torch.tensor([[5, 6, 7]]), labels=torch.tensor([[5, 6, 7]])).loss
    loss.backward()  # nothing cached under inference stands in the way
    assert model.lm_head.weight.grad is not None


def test_a_trainers_patch_of_forward_is_passed_by(model, tokenizer, template):
    asked = requests(template, ["P1 is hot."])
    expected = write(TransformersPolicy(model, tokenizer), asked)[0].token_ids
    model.forward = None
    assert write(TransformersPolicy(model, tokenizer), asked)[0].token_ids == expected


def test_a_turn_stops_at_its_end_token_or_its_limit(model, tokenizer, template):
    asked = requests(template, [f"Patient {i}." for i in range(40)], max_tokens=60)
    done = write(TransformersPolicy(model, tokenizer, end_ids=range(0, 400, 40)), asked).values()
    for result in done:
        *body, last = result.token_ids
        assert all(token % 40 for token in body)
        assert result.clipped == (last % 40 != 0) and (not result.clipped or len(result.token_ids) == 60)
        assert len(result.logprobs) == len(result.token_ids)
        assert result.message == tokenizer.decode(body if last % 40 == 0 else result.token_ids)
    assert {result.clipped for result in done} == {False, True}


def test_a_shared_prompt_is_read_once(model, tokenizer, template):
    policy = TransformersPolicy(model, tokenizer)
    prompt = template.prompt_ids([{"role": "user", "content": "Weigh the child, then dose. " * 8}])
    asked = [TurnRequest(key, "t", (), (), prompt, 4, seed=key) for key in range(8)]
    done = write(policy, asked)
    assert policy.prefilled_tokens == len(prompt) + 7  # the other seven read its last token only
    longer = TurnRequest(8, "t", (), (), [*prompt, 7, 8, 9], 4, seed=8)
    done |= write(policy, [longer])
    assert policy.prefilled_tokens == len(prompt) + 7 + 3  # and a latecomer only where it differs
    for request in [*asked, longer]:
        alone = write(TransformersPolicy(model, tokenizer), [request])[request.key]
        assert done[request.key].token_ids == alone.token_ids
        torch.testing.assert_close(
            torch.tensor(done[request.key].logprobs), torch.tensor(alone.logprobs), atol=1e-4, rtol=0
        )


def test_a_later_turn_reads_only_what_is_new(model, tokenizer, template):
    policy = TransformersPolicy(model, tokenizer)
    prompt = template.prompt_ids([{"role": "user", "content": "Weigh the child."}])
    (first,) = write(policy, [TurnRequest(0, "t", (), (), prompt, 8, seed=1)]).values()
    assert policy.prefilled_tokens == len(prompt)
    longer = [*prompt, *first.token_ids, 7, 8, 9]
    write(policy, [TurnRequest(0, "t", (), (), longer, 8, seed=2)])
    assert policy.prefilled_tokens == len(prompt) + 1 + 3  # the last sampled token was never read
    policy.cancel(0)
    write(policy, [TurnRequest(0, "t", (), (), longer, 8, seed=2)])
    assert policy.prefilled_tokens == len(prompt) + 4 + len(longer)


@pytest.mark.parametrize("kind", ["mistral", "gemma3", "llama"])
def test_other_architectures_and_sliding_windows_agree_with_a_full_pass(kind, tokenizer, make_episode, jobs, template):
    import transformers

    common = {
        "vocab_size": len(tokenizer), "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 2048,
        "pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id, "bos_token_id": None,
    }  # fmt: skip
    torch.manual_seed(0)
    if kind == "mistral":
        model = transformers.MistralForCausalLM(transformers.MistralConfig(**common, sliding_window=9))
    elif kind == "gemma3":
        layers = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 9}
        model = transformers.Gemma3ForCausalLM(transformers.Gemma3TextConfig(**common, **layers))
    else:
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**common))
    for trajectory in play(model, tokenizer, make_episode, jobs, template):
        torch.testing.assert_close(own(trajectory)[1], teacher_forced(model, trajectory), atol=1e-4, rtol=0)


def test_models_and_requests_that_cannot_work_are_refused(model, tokenizer, template):
    policy = TransformersPolicy(model, tokenizer)
    with pytest.raises(ConfigError, match="works on tokens"):
        policy.submit(TurnRequest(0, "t", (), (), (), 5))
    with pytest.raises(ConfigError, match="leave no room"):
        policy.submit(TurnRequest(0, "t", (), (), [5] * 2048, 5))
    recurrent = copy.deepcopy(model)
    recurrent.config.layer_types = ["linear_attention", "full_attention"]
    with pytest.raises(ConfigError, match="linear_attention"):
        TransformersPolicy(recurrent, tokenizer)
    flash = copy.deepcopy(model)
    flash.config._attn_implementation_internal = "flash_attention_2"
    with pytest.raises(ConfigError, match="sdpa"):
        TransformersPolicy(flash, tokenizer)


def test_a_cancelled_turn_is_never_answered(model, tokenizer, template):
    policy = TransformersPolicy(model, tokenizer)
    for request in requests(template, ["a", "b", "c"]):
        policy.submit(request)
    policy.cancel(1)
    answered = [result.key for _ in range(20) for result in policy.poll()]
    assert sorted(answered) == [0, 2]
