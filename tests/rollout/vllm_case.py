"""Tiny models for the vLLM tests, and turns asked of an engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM, set_seed

from healthgym.rollout import TurnRequest, TurnResult
from healthgym.rollout.vllm_engine import VLLMPolicy
from healthgym.rollout.vllm_server import must_read_prompts_whole

VOCABULARY, END, POSITIONS = 320, 1, 256
PROMPT = [7 + 3 * i % 300 for i in range(48)]


class Words:
    """A tokenizer that names tokens by their number."""

    eos_token_id = END

    def decode(self, ids: Sequence[int], **unused: Any) -> str:
        return " ".join(map(str, ids))


def tiny_model(*, tied: bool = True, seed: int = 0) -> Any:
    set_seed(seed)
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=VOCABULARY, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, head_dim=32, max_position_embeddings=POSITIONS, tie_word_embeddings=tied,
            bos_token_id=None, eos_token_id=END, pad_token_id=0, initializer_range=0.1,
        )
    )  # fmt: skip


def engine_arguments(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "model": str(folder), "load_format": "dummy", "skip_tokenizer_init": True, "dtype": "float32",
        "max_model_len": POSITIONS, "max_num_seqs": 16, "logprobs_mode": "processed_logprobs",
        "enable_prefix_caching": True, "enforce_eager": True, "disable_log_stats": True,
        "enable_chunked_prefill": not must_read_prompts_whole(), "kv_cache_memory_bytes": 1 << 25, "worker_extension_cls": "healthgym.rollout.vllm_worker.WeightsExtension",
        **changes,
    }  # fmt: skip


def request(key: int, prompt: Sequence[int] = PROMPT, *, max_tokens: int = 24, seed: int | None = None) -> TurnRequest:
    return TurnRequest(key, f"t{key}", [], [], list(prompt), max_tokens, key if seed is None else seed)


def write(policy: VLLMPolicy, requests: Sequence[TurnRequest]) -> dict[int, TurnResult]:
    """Write turns together and end their episodes."""
    for one in requests:
        policy.submit(one)
    made: dict[int, TurnResult] = {}
    while len(made) < len(requests):
        made |= {result.key: result for result in policy.poll()}
    for one in requests:
        policy.cancel(one.key)
    return made


@torch.no_grad()
def logps(model: Any, prompt: Sequence[int], ids: Sequence[int], temperature: float = 1.0) -> torch.Tensor:
    """Return the trainer's log-probabilities of a turn's tokens."""
    was_training = model.training
    model.eval()
    tokens = torch.tensor([[*prompt, *ids]])
    scores = (model(input_ids=tokens).logits[0].float() / temperature).log_softmax(-1)
    model.train(was_training)
    return scores[len(prompt) - 1 : -1].gather(1, tokens[0, len(prompt) :, None])[:, 0]


def optimiser_step(model: Any, *, learning_rate: float = 3e-2) -> None:
    """One real update towards other tokens."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=learning_rate)
    tokens = torch.randint(2, VOCABULARY, (4, 32), generator=torch.Generator().manual_seed(1))
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimiser.step()
    optimiser.zero_grad()
