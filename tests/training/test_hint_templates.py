"""Hints are inserted into the token stream just where the model's own template would have put them."""

from importlib.resources import files

import pytest

from healthgym.training.teacher_context import HintRenderer, hinted_prompt
from healthgym.training.tiny_model import TEMPLATE_FILE, train_tokenizer

MARKS = ["<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|begin_of_text|>"]
STORED = files("trl") / "chat_templates"
TEMPLATES = {
    "healthgym": TEMPLATE_FILE,
    "qwen2.5": STORED / "qwen2_5.jinja",
    "qwen3": STORED / "qwen3.jinja",
    "llama3": STORED / "llama3_2.jinja",
}
TALK = [{"role": "system", "content": "Use the tools."}, {"role": "user", "content": "Patient P1 has fever."}]
HINT = "Review: wrong."
TOOLS = [
    {
        "type": "function",
        "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}},
    }
]


@pytest.fixture(scope="module", params=list(TEMPLATES))
def tokenizer(request):
    file = TEMPLATES[request.param]
    if not file.is_file():
        pytest.skip(f"this TRL stores no {request.param} template")
    made = train_tokenizer(["Patient P1 has fever. Use the tools. Review: wrong."] * 9, 500)
    made.add_special_tokens({"additional_special_tokens": MARKS})
    made.chat_template = file.read_text()
    return made


def render(tokenizer, messages):
    return tokenizer.apply_chat_template(messages, tools=TOOLS, add_generation_prompt=True, return_dict=False)


def test_inserting_a_hint_equals_rendering_it(tokenizer):
    renderer = HintRenderer(tokenizer, {})
    prompt = render(tokenizer, TALK)
    opening = renderer.generation_prompt
    assert prompt[-len(opening) :] == opening
    inserted = hinted_prompt(prompt, renderer.message(HINT), opening)
    assert inserted == render(tokenizer, [*TALK, {"role": "user", "content": HINT}])
