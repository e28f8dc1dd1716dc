from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from healthgym.errors import ConfigError
from healthgym.rollout.template import ChatTemplate
from healthgym.training.config import Lora, Model, TinyModel
from healthgym.training.models import load_model, load_saved, save_model
from healthgym.training.teacher_context import HintRenderer, hinted_prompt
from healthgym.training.tiny_model import train_tokenizer

TEXTS = [
    "The patient has chest pain, heart rate 118.",
    '{"name": "get_vitals", "arguments": {"patient_id": "P1"}}',
] * 20
SPEC = TinyModel(layers=1, hidden_size=32, intermediate_size=64, heads=2, kv_heads=1, vocab_size=400)
CALL = {"type": "function", "function": {"name": "get_vitals", "arguments": {"patient_id": "P1"}}}
TALK = [
    {"role": "system", "content": "Use the tools."},
    {"role": "user", "content": "Patient P1."},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "name": "get_vitals", "content": "heart rate 118"},
]
TOOLS = [{"type": "function", "function": {"name": "get_vitals", "description": "Vitals.", "parameters": {}}}]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(TEXTS, 400)


@pytest.mark.parametrize("tools", [None, TOOLS])
def test_the_template_only_ever_appends(tokenizer, tools):
    render = [
        tokenizer.apply_chat_template(TALK[:count], tools=tools, add_generation_prompt=False, tokenize=False)
        for count in range(2, 5)
    ]
    assert all(longer.startswith(shorter) for shorter, longer in pairwise(render))
    assert '<tool_call>{"name": "get_vitals", "arguments": {"patient_id": "P1"}}</tool_call>' in render[-1]
    assert ("Vitals." in render[0]) == bool(tools)
    assert render[0].count("Use the tools.") == 1


def test_marks_are_single_tokens_digits_stand_alone_and_text_survives(tokenizer):
    text = "<|im_start|>user\nheart rate 118 Übung<|im_end|>\n<tool_call>"
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.decode(ids) == text
    assert ids[0] == tokenizer.convert_tokens_to_ids("<|im_start|>")
    assert ids[-1] == tokenizer.convert_tokens_to_ids("<tool_call>")
    assert tokenizer.decode(ids, skip_special_tokens=True).endswith("<tool_call>")
    assert [tokenizer.decode(i) for i in tokenizer("118")["input_ids"]] == ["1", "1", "8"]


@pytest.mark.parametrize("lora", [None, Lora(rank=2)])
def test_a_saved_model_comes_back_as_it_was(tmp_path: Path, lora: Lora | None):
    settings = Model(tiny=SPEC, lora=lora)
    model, tokenizer = load_model(settings, lambda: TEXTS, seed=5)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter += 0.01
    save_model(model, tokenizer, tmp_path, settings)
    again, same_tokenizer = load_saved(tmp_path, settings)
    ids = torch.tensor([same_tokenizer("chest pain")["input_ids"]])
    torch.testing.assert_close(again.eval()(ids).logits, model.eval()(ids).logits)
    trainable = [name for name, p in again.named_parameters() if p.requires_grad]
    assert trainable and all(("lora" in name) == (lora is not None) for name in trainable)


@pytest.mark.parametrize("lora", [None, Lora(rank=2)])
def test_whatever_renders_with_a_loaded_tokenizer_uses_the_repaired_template(tmp_path: Path, lora: Lora | None):
    # Qwen3's own template drops earlier reasoning, so rollouts use a form that keeps it; the base on disk keeps its own.
    file = files("trl") / "chat_templates" / "qwen3.jinja"
    if not file.is_file():
        pytest.skip("this TRL stores no qwen3 template")
    model, made = load_model(Model(tiny=SPEC), lambda: TEXTS, seed=5)
    made.chat_template = file.read_text()
    model.save_pretrained(str(tmp_path / "base"))
    made.save_pretrained(str(tmp_path / "base"))
    settings = Model(path=str(tmp_path / "base"), lora=lora)
    model, tokenizer = load_model(settings, list, seed=5)
    save_model(model, tokenizer, tmp_path / "saved", settings)
    _, again = load_saved(tmp_path / "saved", settings)
    for loaded in (tokenizer, again, load_saved(tmp_path / "base", Model(path=settings.path))[1]):
        assert loaded.chat_template == ChatTemplate(made).report.template != made.chat_template


def test_the_same_seed_builds_the_same_model():
    first, second = (load_model(Model(tiny=SPEC, lora=Lora(rank=2)), lambda: TEXTS, seed=5)[0] for _ in range(2))
    assert all(torch.equal(p, q) for p, q in zip(first.parameters(), second.parameters(), strict=True))


def test_a_path_without_a_model_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"holds no config\.json"):
        load_model(Model(path=str(tmp_path)), list, seed=0)


def test_hints_are_spliced_where_rollouts_render_them(tokenizer):
    template, renderer = ChatTemplate(tokenizer), HintRenderer(tokenizer, {})
    prompt = template.prompt_ids(TALK[:2], TOOLS)
    spliced = hinted_prompt(prompt, renderer.message("Look again."), renderer.generation_prompt)
    assert spliced == template.insert_hint(TALK[:2], "Look again.", TOOLS)
