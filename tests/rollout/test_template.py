"""Chat templates: token in and token out for several families, and refusals that name a remedy."""

import pytest

from healthgym.envs import parse_action
from healthgym.errors import ConfigError
from healthgym.rollout import ChatTemplate, probe_template
from healthgym.training.teacher_context import HintRenderer, teacher_sequence

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}"
    "{% for c in m['tool_calls'] or [] %}<tool_call>{{ c['function'] | tojson }}</tool_call>{% endfor %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
FORGETS = CHATML.replace(
    "{{ m['content'] }}", "{{ m['content'] if loop.last else m['content'].split('</think>')[-1] }}"
)
LLAMA = ("<|start_header_id|>", "<|end_header_id|>", "<|python_tag|>", "<|eom_id|>")
FAMILIES = {
    "qwen2_5": ("<|im_end|>",),
    "qwen3": ("<|im_end|>",),
    "qwen3_instruct_2507": ("<|im_end|>",),
    "llama3_1": ("<|eot_id|>", *LLAMA),
    "llama3_2": ("<|eot_id|>", *LLAMA),
    CHATML: ("<|im_end|>",),
}
LOOK, GIVE = ("look", {"patient_id": "P1"}), ("give", {"dose_mg": 2.5, "why": 'says "hot"'})
TOOL = {
    "type": "function",
    "function": {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}}},
}


def structured(content, *calls):
    entries = [{"type": "function", "function": {"name": name, "arguments": a}} for name, a in calls]
    return {"role": "assistant", "content": content, "tool_calls": entries}


@pytest.mark.parametrize("family", FAMILIES)
def test_pieces_add_up_to_what_the_template_writes(dressed, family):
    template = ChatTemplate(dressed(family, *FAMILIES[family]))
    opening = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "P1 is hot."}]
    seen, nothing = (
        {"role": "tool", "name": "look", "content": "52 kg"},
        {"role": "user", "content": "No tool was called."},
    )
    pieces = [
        *template.prompt_ids(opening, [TOOL]),
        *template.turn_ids("", [LOOK]),
        *template.environment_ids([seen]),
        *template.turn_ids("I wonder."),
        *template.environment_ids([nothing]),
    ]
    said = {"role": "assistant", "content": "I wonder."}
    whole = template.prompt_ids([*opening, structured("", LOOK), seen, said, nothing], [TOOL])
    assert template.tokenizer.decode(pieces) == template.tokenizer.decode(whole)


@pytest.mark.parametrize("family", FAMILIES)
def test_scripted_turns_read_back_as_the_same_calls(dressed, family):
    template = ChatTemplate(dressed(family, *FAMILIES[family]))
    for calls in ([LOOK], [LOOK, GIVE]):
        action = parse_action(template.tokenizer.decode(template.turn_ids("", calls)))
        assert [(call.name, dict(call.arguments)) for call in action.calls] == calls
        assert not action.problems


def test_results_of_several_calls_follow_one_turn(dressed):
    template = ChatTemplate(dressed("qwen2_5", "<|im_end|>"))
    answers = [{"role": "tool", "name": "a", "content": "one"}, {"role": "tool", "name": "b", "content": "two"}]
    assert template.tokenizer.decode(template.environment_ids(answers)) == (
        "\n<|im_start|>user\n<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_a_clipped_turn_is_closed_and_a_finished_one_left_alone(template):
    assert template.closing_ids([7, 8]) == [template.turn_end_id]
    assert template.closing_ids([7, template.turn_end_id]) == []


def test_qwen3_rewrites_history_and_gets_the_preserving_form(dressed):
    tokenizer = dressed("qwen3", "<|im_end|>")
    report = probe_template(tokenizer)
    assert report.is_replaced and report.template != tokenizer.chat_template
    assert not probe_template(dressed("qwen2_5", "<|im_end|>")).is_replaced


def test_a_template_that_forgets_reasoning_and_has_no_other_form_is_refused(dressed):
    with pytest.raises(ConfigError, match="rewrites earlier assistant turns"):
        probe_template(dressed(FORGETS, "<|im_end|>"))


def test_a_tokenizer_without_template_is_refused(dressed):
    tokenizer = dressed(CHATML, "<|im_end|>")
    tokenizer.chat_template = None
    with pytest.raises(ConfigError, match="no chat template"):
        probe_template(tokenizer)


@pytest.mark.parametrize("family", ["gemma", "phi3"])
def test_a_template_without_tool_results_is_refused(dressed, family):
    with pytest.raises(ConfigError, match="cannot render tool results"):
        probe_template(dressed(family, "<end_of_turn>"))


def test_turns_that_do_not_end_with_eos_are_refused(dressed):
    with pytest.raises(ConfigError, match=r"ends an assistant turn with '<\|im_end\|>'.*'<\|endoftext\|>'"):
        probe_template(dressed(CHATML, "<|endoftext|>"))


def test_a_template_that_runs_call_and_result_together_is_refused(dressed):
    with pytest.raises(ConfigError, match="turns cannot be told"):
        probe_template(dressed("gemma4", "<turn|>"))


def test_tools_are_told_where_the_template_shows_none(dressed):
    template = ChatTemplate(dressed(CHATML, "<|im_end|>"))
    assert not template.report.shows_tools and template.report.notes
    text = template.tokenizer.decode(template.prompt_ids([{"role": "user", "content": "Hi."}], [TOOL]))
    assert text.startswith("<|im_start|>system\n") and '"name": "look"' in text and "<tool_call>" in text


@pytest.mark.parametrize("family", ["qwen3", "llama3_1", CHATML])
def test_a_hint_lies_where_the_teacher_reads_it(dressed, family):
    template = ChatTemplate(dressed(family, *FAMILIES[family]))
    messages = [{"role": "user", "content": "P1 is hot."}]
    renderer = HintRenderer(template.tokenizer, {})
    inserted = teacher_sequence(
        template.prompt_ids(messages), [5], [0], renderer.message("Weigh first."),
        generation_prompt=renderer.generation_prompt,
    )  # fmt: skip
    later = [*messages, {"role": "assistant", "content": "Dose is 3."}]
    assert template.insert_hint(later, "Weigh first.") == inserted.prompt_ids


def test_options_reach_the_template(dressed):
    tokenizer = dressed("qwen3", "<|im_end|>")
    closed = ChatTemplate(tokenizer, options={"enable_thinking": False})
    assert closed.report.generation_prompt.endswith("<think>\n\n</think>\n\n")
    assert any("reasoning" in note for note in closed.report.notes)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_kept_first_turn_changes_no_prompt(dressed, family):
    template = ChatTemplate(dressed(family, *FAMILIES[family]))
    for case in ("P1 is hot.", "\n P2 too ", "<tool_call>"):
        messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": case}]
        text = template.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, chat_template=template.report.template
        )
        assert template.prompt_ids(messages) == template.tokenizer.encode(text, add_special_tokens=False)


def test_a_first_turn_is_not_kept_where_pieces_encode_otherwise(dressed, monkeypatch):
    template = ChatTemplate(dressed(CHATML, "<|im_end|>"))
    renderer, encode = type(template._renderer), type(template._renderer).encode
    monkeypatch.setattr(renderer, "encode", lambda self, text: [-1, *encode(self, text)])
    prompt = template.prompt_ids([{"role": "user", "content": "P1 is hot."}])
    assert prompt.count(-1) == 1  # this encoder puts a mark before each text it is given


def test_images_are_refused_where_only_text_is_tokenized(template):
    seen = {"role": "user", "content": [{"type": "image", "url": "data:image/png;base64,AA"}]}
    with pytest.raises(ConfigError, match="images=False"):
        template.prompt_ids([seen])
    with pytest.raises(ConfigError, match="template=None"):
        template.environment_ids([{**seen, "role": "tool", "name": "look"}])
