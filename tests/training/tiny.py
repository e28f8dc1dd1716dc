"""A tiny chat model, and an environment of two turns whose reward is how often the agent says yes."""

from collections.abc import Sequence
from typing import Any

import torch

from healthgym.rewards import Grade
from healthgym.rewards.grade import SCORES
from healthgym.rollout import Trajectory, TurnSpan
from healthgym.training.rows import EpisodeRow

TEXT = (
    "yes no maybe pain fever user assistant system tool result next task review of an attempt at this the decision was "
    "right wrong not checked before deciding vital signs : ."
)
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }} {{ m['content'] }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant{% endif %}"
)


def make_tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {
        word: i for i, word in enumerate(["<pad>", "<unk>", "<|im_start|>", "<|im_end|>", *dict.fromkeys(TEXT.split())])
    }
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", unk_token="<unk>", eos_token="<|im_end|>",
        additional_special_tokens=["<|im_start|>"], chat_template=TEMPLATE, padding_side="left",
    )  # fmt: skip


def make_model(tokenizer: Any, *, lora: bool = False, seed: int = 0) -> Any:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(seed)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, head_dim=8, max_position_embeddings=256, tie_word_embeddings=True,
            bos_token_id=None, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        )
    )  # fmt: skip
    if lora:
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules="all-linear"))
    return model


class YesEnvironment:
    """Two turns of a few sampled tokens with a tool result between them; ragged by design."""

    def __init__(self, tokenizer: Any, model: Any, *, max_tokens: int = 5, fail_every: int = 0) -> None:
        self.tokenizer, self.model, self.max_tokens, self.fail_every = tokenizer, model, max_tokens, fail_every
        self.calls = 0

    def __call__(self, rows: Sequence[EpisodeRow], step: int) -> list[Trajectory | None]:
        self.calls += 1
        generator = torch.Generator().manual_seed(step)
        made: list[Trajectory | None] = [self.play(row, generator) for row in rows]
        if self.fail_every:
            made[:: self.fail_every] = [None] * len(made[:: self.fail_every])
        return made

    def play(self, row: EpisodeRow, generator: torch.Generator) -> Trajectory:
        message = {"role": "user", "content": " ".join(["pain"] * (1 + row.seed % 3))}
        prompt = self.tokenizer.apply_chat_template([message], add_generation_prompt=True, return_dict=False)
        answer = self.tokenizer("<|im_start|>tool result next<|im_end|><|im_start|>assistant")["input_ids"]
        ids, mask, logps, spans = [], [], [], []
        for turn in range(2):
            if turn:
                ids, mask, logps = ids + answer, mask + [0] * len(answer), logps + [0.0] * len(answer)
            start = len(ids)
            for _ in range(self.max_tokens):
                token, logp = self.sample(prompt + ids, generator)
                ids, mask, logps = ids + [token], mask + [1], logps + [logp]
                if token == self.tokenizer.eos_token_id:
                    break
            spans.append(TurnSpan(start, len(ids)))
        yes = self.tokenizer.convert_tokens_to_ids("yes")
        own = [token for token, m in zip(ids, mask, strict=True) if m]
        share = sum(token == yes for token in own) / len(own)
        text = self.tokenizer.decode(own)
        return make_trajectory(
            row, prompt, ids, mask, logps, spans, share, [message, {"role": "assistant", "content": text}]
        )

    @torch.no_grad()
    def sample(self, ids: list[int], generator: torch.Generator) -> tuple[int, float]:
        was_training = self.model.training
        self.model.eval()
        logps = self.model(input_ids=torch.tensor([ids])).logits[0, -1].float().log_softmax(-1)
        self.model.train(was_training)
        token = int(torch.multinomial(logps.exp(), 1, generator=generator))
        return token, float(logps[token])


def make_trajectory(
    row: EpisodeRow, prompt: list[int], ids: list[int], mask: list[int], logps: list[float], spans: list[TurnSpan],
    reward: float, messages: list[dict[str, str]],
) -> Trajectory:  # fmt: skip
    grade = Grade(
        success=reward > 0.5,
        outcome="correct" if reward > 0.5 else "wrong",
        scores={**dict.fromkeys(SCORES, 1.0), "accuracy": reward},
        evidence_share=1.0,
        missing_evidence=("vital signs",),
        hazards=(),
        parts={},
    )
    return Trajectory(
        task_id=row.task_id, domain="yes", family="yes", split="train", difficulty="easy", group=row.group,
        seed=row.seed, prompt_ids=prompt, completion_ids=ids, completion_mask=mask, logprobs=logps, turns=tuple(spans),
        messages=messages, grade=grade, reward=reward, stop_reason="submitted", assistant_tokens=sum(mask),
        num_turns=len(spans), tool_calls=("look",),
    )  # fmt: skip


def make_rows(count: int) -> list[EpisodeRow]:
    return [EpisodeRow(f"yes/{i}", i, i) for i in range(count)]
