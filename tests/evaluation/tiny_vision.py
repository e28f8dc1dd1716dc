"""A tiny vision-language model with random weights."""

from pathlib import Path

WORDS = "yes no pneumonia is there in the image answer with or user assistant ? . Is Answer".split()  # noqa: SIM905
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} {% for c in m['content'] %}{% if c['type'] == 'image' %}<image> {% else %}"
    "{{ c['text'] }} {% endif %}{% endfor %}</s>{% endfor %}{% if add_generation_prompt %}assistant{% endif %}"
)


def save_tiny_vision(folder: Path, *, seed: int = 0) -> Path:
    """Save a LLaVA of two small layers that reads 28 x 28 images as four tokens, with its processor."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
        PreTrainedTokenizerFast,
    )

    vocabulary = {word: i for i, word in enumerate(["<pad>", "<unk>", "<s>", "</s>", "<image>", *WORDS])}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", unk_token="<unk>", eos_token="</s>",
        additional_special_tokens=["<image>"],
    )  # fmt: skip
    size = {"height": 28, "width": 28}
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessorPil(size=size, do_center_crop=False), tokenizer=tokenizer, patch_size=14,
        vision_feature_select_strategy="default", num_additional_image_tokens=1, chat_template=TEMPLATE,
    )  # fmt: skip
    small = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    torch.manual_seed(seed)
    model = LlavaForConditionalGeneration(
        LlavaConfig(
            vision_config=CLIPVisionConfig(**small, num_hidden_layers=2, image_size=28, patch_size=14),
            text_config=LlamaConfig(
                **small, num_hidden_layers=1, num_key_value_heads=2, vocab_size=len(vocabulary), max_position_embeddings=48,
                bos_token_id=2, eos_token_id=3, pad_token_id=0, initializer_range=1.0,
            ),
            image_token_id=4, image_seq_length=4,
        )
    )  # fmt: skip
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
