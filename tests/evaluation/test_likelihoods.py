"""Log-probabilities of continuations against a naive computation, one continuation at a time."""

import random
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from healthgym.errors import ConfigError, HealthgymError  # noqa: E402
from healthgym.evaluation.candidate import Options, OptionScores  # noqa: E402
from healthgym.evaluation.likelihoods import TransformersLikelihoods, transformers_likelihoods  # noqa: E402

VOCABULARY = 50
SIZES = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 128, "bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0,
}  # fmt: skip


def llama(**changes: Any) -> Any:
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**{**SIZES, "initializer_range": 0.3, **changes})
    ).eval()


def requests(n: int = 12, seed: int = 0, longest: int = 5) -> list[Options]:
    draw = random.Random(seed)

    def tokens(length: int) -> list[int]:
        return [draw.randrange(VOCABULARY) for _ in range(length)]

    return [
        Options(key, tokens(draw.randint(1, 30)), [tokens(draw.randint(1, longest)) for _ in range(draw.randint(1, 5))])
        for key in range(n)
    ]


def naive(model: Any, request: Options) -> tuple[list[float], list[bool]]:
    """Run prompt and continuation alone, without batches, padding, masks or a cache."""
    sums, best = [], []
    for continuation in request.continuations:
        ids = torch.tensor([[*request.prompt_ids, *continuation]])
        with torch.no_grad():
            logps = model(ids).logits[0].float().log_softmax(-1)
        start = len(request.prompt_ids) - 1
        sums.append(sum(logps[start + step, token].item() for step, token in enumerate(continuation)))
        best.append(all(int(logps[start + step].argmax()) == token for step, token in enumerate(continuation)))
    return sums, best


def scored(likelihoods: TransformersLikelihoods, asked: list[Options]) -> dict[int, OptionScores]:
    found: dict[int, OptionScores] = {}
    likelihoods(asked, lambda scores: found.__setitem__(scores.key, scores))
    assert sorted(found) == sorted(request.key for request in asked)
    return found


def assert_exact(model: Any, asked: list[Options], likelihoods: TransformersLikelihoods) -> None:
    found = scored(likelihoods, asked)
    for request in asked:
        sums, best = naive(model, request)
        assert found[request.key].logprobs == pytest.approx(sums, abs=1e-4)
        assert list(found[request.key].is_greedy) == best


@pytest.mark.parametrize("batch_tokens", [1, 40, 100_000])
def test_scores_are_those_of_each_continuation_alone(batch_tokens: int):
    model = llama()
    likelihoods = transformers_likelihoods(model, batch_tokens=batch_tokens)
    assert_exact(model, requests(), likelihoods)
    assert likelihoods._shares  # the continuations did share their prompt


def test_letters_are_exact_and_need_no_trial():
    model = llama()
    likelihoods = transformers_likelihoods(model)
    assert_exact(model, requests(longest=1), likelihoods)
    assert likelihoods._shares is None


def test_neither_order_nor_company_changes_a_score():
    model, asked = llama(), requests(16)
    together = scored(transformers_likelihoods(model), asked)
    random.Random(1).shuffle(asked)
    shuffled = scored(transformers_likelihoods(model, batch_tokens=64), asked)
    alone = {request.key: scored(transformers_likelihoods(model), [request])[request.key] for request in asked}
    for key, scores in together.items():
        assert scores.logprobs == pytest.approx(shuffled[key].logprobs, abs=1e-4)
        assert scores.logprobs == pytest.approx(alone[key].logprobs, abs=1e-4)


def test_a_pass_that_runs_out_of_memory_is_taken_in_halves_and_later_ones_are_smaller(monkeypatch: pytest.MonkeyPatch):
    model, asked = llama(), requests(24, longest=1)
    likelihoods, rows = transformers_likelihoods(model, batch_tokens=24 * 31), []
    whole = TransformersLikelihoods._forward

    def crowded(self: TransformersLikelihoods, batch: list[Any], head: Any) -> Any:
        rows.append(len(batch))
        if len(batch) > 6:
            raise torch.OutOfMemoryError("out of memory. Tried to allocate")
        return whole(self, batch, head)

    monkeypatch.setattr(TransformersLikelihoods, "_forward", crowded)
    assert_exact(model, asked, likelihoods)
    assert rows == [24, 12, 6, 6, 12, 6, 6]  # one pass for all 24; its halves and quarters
    assert likelihoods.batch_tokens <= 6 * 30
    rows.clear()
    assert_exact(model, asked, likelihoods)
    assert max(rows[:2]) <= 6


def test_a_single_question_that_runs_out_of_memory_says_so(monkeypatch: pytest.MonkeyPatch):
    def crowded(self: TransformersLikelihoods, batch: list[Any], head: Any) -> Any:
        raise torch.OutOfMemoryError("out of memory. Tried to allocate")

    monkeypatch.setattr(TransformersLikelihoods, "_forward", crowded)
    with pytest.raises(HealthgymError, match=r"3 tokens of a single question .* Lower max_context"):
        scored(transformers_likelihoods(llama()), [Options(0, [5, 6, 7], [[8], [9]])])


def test_the_greedy_continuation_is_marked():
    model = llama()
    with torch.no_grad():
        best = int(model(torch.tensor([[5, 6, 7]])).logits[0, -1].argmax())
    scores = scored(transformers_likelihoods(model), [Options(0, [5, 6, 7], [[best], [(best + 1) % VOCABULARY]])])[0]
    assert scores.is_greedy == (True, False)


def test_a_model_whose_positions_cannot_be_given_runs_each_continuation_on_its_own():
    # Bloom adds a bias by the distance of keys in the sequence: side by side the second continuation would be too far.
    torch.manual_seed(0)
    model = transformers.BloomForCausalLM(
        transformers.BloomConfig(vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4, initializer_range=0.3)
    ).eval()
    likelihoods = transformers_likelihoods(model)
    assert_exact(model, requests(), likelihoods)
    assert likelihoods._shares is False


def test_sliding_windows_are_respected():
    torch.manual_seed(0)
    model = transformers.MistralForCausalLM(
        transformers.MistralConfig(**SIZES, initializer_range=0.3, sliding_window=8)
    ).eval()
    assert_exact(model, requests(), transformers_likelihoods(model))


def test_scaled_logits_are_read_after_their_scaling():
    torch.manual_seed(0)
    model = transformers.GraniteForCausalLM(
        transformers.GraniteConfig(**SIZES, initializer_range=0.3, logits_scaling=4.0)
    ).eval()
    assert_exact(model, requests(), transformers_likelihoods(model))


def test_half_precision_does_not_tie_options_that_differ():
    # In bfloat16 logits keep 8 bits: rounded, some of 50 tokens would share a value.
    model = llama(initializer_range=1.0).to(torch.bfloat16)
    letters = [[token] for token in range(VOCABULARY)]
    scores = scored(transformers_likelihoods(model), [Options(0, [3, 4, 5], letters)])[0]
    assert len(set(scores.logprobs)) == VOCABULARY


def test_the_model_is_left_as_it_was():
    model = llama().train()
    before = model.lm_head.forward
    scored(transformers_likelihoods(model), requests(3))
    assert model.training and model.model.layers[0].training
    assert model.lm_head.forward == before and "forward" not in vars(model.lm_head)
    assert model(torch.tensor([[1, 2, 3]])).logits.shape == (1, 3, VOCABULARY)


@pytest.mark.parametrize("broken", [Options(7, [], [[1]]), Options(7, [1], [[]]), Options(7, [1], [])])
def test_empty_prompts_and_continuations_are_refused(broken: Options):
    with pytest.raises(ConfigError, match="request 7"):
        scored(transformers_likelihoods(llama()), [broken])


def test_a_prompt_longer_than_the_context_is_refused():
    with pytest.raises(ConfigError, match="129 tokens do not fit the model's 128 positions"):
        scored(transformers_likelihoods(llama()), [Options(0, [1] * 129, [[1]])])


def test_a_full_context_is_accepted():
    # The last token of a continuation predicts nothing: 127 + 2 tokens need 128 positions.
    scored(transformers_likelihoods(llama()), [Options(0, [1] * 127, [[1, 2]])])
