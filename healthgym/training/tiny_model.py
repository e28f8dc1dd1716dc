"""A small chat model from scratch: a tokenizer trained on the run's own texts and a Qwen3-architecture network."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from healthgym.training.config import TinyModel

START, END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
CALL_MARKS = ("<tool_call>", "</tool_call>")
TEMPLATE_FILE = Path(__file__).parent / "chat_template.j2"


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> Any:
    """Return a byte-level BPE tokenizer trained on `texts`, with a prefix-preserving ChatML template.

    Digits are tokens of their own, so that values can be read and copied figure by figure. Merges may span words: phrases
    that recur become one token, which halves an episode.

    Args:
        texts: What the model will read and write.
        vocab_size: Largest vocabulary, marks and the 256 bytes included.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(CALL_MARKS),
        special_tokens=[PAD, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token=END, pad_token=PAD, padding_side="left", clean_up_tokenization_spaces=False
    )
    # Single tokens, but no special ones: decoding must keep them for the parser.
    tokenizer.add_tokens([AddedToken(mark, normalized=False) for mark in CALL_MARKS])
    tokenizer.chat_template = TEMPLATE_FILE.read_text(encoding="utf-8")
    return tokenizer


def build_tiny_model(spec: TinyModel, tokenizer: Any, *, seed: int) -> Any:
    """Return a randomly initialised model of `spec` for `tokenizer`, the same for the same seed."""
    from transformers import Qwen3Config, Qwen3ForCausalLM, set_seed

    set_seed(seed)
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=spec.hidden_size,
            intermediate_size=spec.intermediate_size,
            num_hidden_layers=spec.layers,
            num_attention_heads=spec.heads,
            num_key_value_heads=spec.kv_heads,
            head_dim=spec.hidden_size // spec.heads,
            max_position_embeddings=spec.max_positions,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
