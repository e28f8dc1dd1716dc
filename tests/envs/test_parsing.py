"""The parser of tool calls under attack: every format, every slip, and texts that are no calls at all."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healthgym.envs.parsing import MAX_CALLS, MAX_PROBLEMS, parse_action


def calls(message):
    return [(call.name, dict(call.arguments)) for call in parse_action(message).calls]


def block(body):
    return f"<tool_call>{body}</tool_call>"


def problem(message):
    action = parse_action(message)
    assert action.calls == () and len(action.problems) == 1
    return action.problems[0]


@pytest.mark.parametrize(
    "message",
    [
        block('{"name": "give", "arguments": {"dose_mg": 5, "drug": "aspirin"}}'),
        block('{"name": "give", "parameters": {"dose_mg": 5, "drug": "aspirin"}}'),
        block('{"name": "give", "arguments": "{\\"dose_mg\\": 5, \\"drug\\": \\"aspirin\\"}"}'),
        block('\n```json\n{"name": "give", "arguments": {"dose_mg": 5, "drug": "aspirin"}}\n```\n'),
        block('{"type": "function", "function": {"name": "give", "arguments": {"dose_mg": 5, "drug": "aspirin"}}}'),
        '<tool_call>{"name": "give", "arguments": {"dose_mg": 5, "drug": "aspirin"}}',
        block(
            "\n<function=give>\n<parameter=dose_mg>\n5\n</parameter>\n<parameter=drug>\naspirin\n</parameter>\n</function>\n"
        ),
        block("<function=give><parameter=dose_mg>5</parameter><parameter=drug>aspirin"),
        "<function=give><parameter=dose_mg>5</parameter><parameter=drug>aspirin</parameter></function>",
        '{"name": "give", "parameters": {"dose_mg": 5, "drug": "aspirin"}}',
        '<|python_tag|>{"name": "give", "parameters": {"dose_mg": 5, "drug": "aspirin"}}<|eom_id|>',
        'Right. <|python_tag|>{"name": "give", "parameters": {"dose_mg": 5, "drug": "aspirin"}}',
        '```json\n{"name": "give", "arguments": {"dose_mg": 5, "drug": "aspirin"}}\n```',
        {"tool_calls": [{"function": {"name": "give", "arguments": '{"dose_mg": 5, "drug": "aspirin"}'}}]},
        {"content": None, "tool_calls": [{"name": "give", "arguments": {"dose_mg": 5, "drug": "aspirin"}}]},
        {"content": [{"type": "text", "text": block('{"name":"give","arguments":{"dose_mg":5,"drug":"aspirin"}}')}]},
    ],
)
def test_every_native_format_is_read_alike(message):
    action = parse_action(message)
    assert [(call.name, dict(call.arguments)) for call in action.calls] == [("give", {"dose_mg": 5, "drug": "aspirin"})]
    assert action.problems == ()


@pytest.mark.parametrize(
    "message",
    [
        block('{"name": "a", "arguments": {}}') + "\n" + block('{"name": "b", "arguments": {"x": 1}}'),
        block('{"name": "a", "arguments": {}}\n{"name": "b", "arguments": {"x": 1}}'),
        block('[{"name": "a", "arguments": {}}, {"name": "b", "arguments": {"x": 1}}]'),
        '<tool_call>{"name": "a"}<tool_call>{"name": "b", "arguments": {"x": 1}}</tool_call>',
        block("<function=a></function><function=b><parameter=x>1</parameter></function>"),
        '{"name": "a", "parameters": {}}; {"name": "b", "parameters": {"x": 1}}',
        '[{"name": "a", "parameters": {}}, {"name": "b", "parameters": {"x": 1}}]',
    ],
)
def test_several_calls_keep_their_order(message):
    assert calls(message) == [("a", {}), ("b", {"x": 1})]


@pytest.mark.parametrize(
    "text",
    [
        "use </tool_call> to end",
        "<tool_call>",
        "<think>no</think>",
        "</think>",
        "a <think> b",
        "<function=x>",
        "}{",
        "é\n\t",
    ],
)
def test_marks_inside_a_calls_own_text_mean_nothing(text):
    message = "First. " + block(json.dumps({"name": "note", "arguments": {"text": text}})) + " Done."
    assert calls(message) == [("note", {"text": text})]
    assert parse_action(message).content == "First.  Done."


def test_a_raw_line_break_inside_a_string_is_allowed():
    assert calls(block('{"name": "note", "arguments": {"text": "one\ntwo"}}')) == [("note", {"text": "one\ntwo"})]


def test_reasoning_is_never_read_for_calls():
    call = block('{"name": "look", "arguments": {}}')
    assert calls(f"<think>perhaps {call}</think>{call}") == [("look", {})]
    assert calls(f"<think>perhaps {call}") == []
    assert calls(f"perhaps {call}</think>\n\n{call}") == [("look", {})]  # the prompt wrote the opening mark


def test_what_the_token_limit_cut_off_is_not_run():
    # Half a dose is a dose: 100 cut to 1 must not be given.
    for cut in (
        "<tool_call><function=give><parameter=dose_mg>1",
        "<function=give><parameter=dose_mg>1</parameter>",
        '<tool_call>{"name": "give", "arguments": {"dose_mg": 1',
    ):
        assert "cut off by the token limit" in problem(cut)
    assert "not valid JSON" in problem('{"name": "give", "parameters": {"dose_mg": 1')


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("", "it is empty"),
        ("look", "not valid JSON at character 0"),
        ("{'name': 'look'}", "not valid JSON at character 1"),
        ('{"name": "look", "arguments": {"x": 1,}}', "not valid JSON"),
        ('{"name": "look", "arguments": {}}}', "after its JSON comes '}"),
        ('{"arguments": {"x": 1}}', "the key \"name\" is missing; keys were ['arguments']"),
        ('{"name": "", "arguments": {}}', "not the name of a tool"),
        ('{"name": 7, "arguments": {}}', "not the name of a tool"),
        ('{"name": "' + "x" * 101 + '", "arguments": {}}', "not the name of a tool"),
        ('{"name": "look", "arguments": [1]}', '"arguments" is a list, expected an object'),
        ('{"name": "look", "arguments": "{bad"}', "not valid JSON"),
        ('{"name": "look", "patient_id": "P1"}', "its arguments ['patient_id'] are not under"),
        ('{"name": "look", "arguments": {"x": NaN}}', "NaN is no JSON number"),
        ('{"name": "look", "arguments": {"x": 1e999}}', "a number is too large"),
        ('{"name": "look", "arguments": {"x": ' + "9" * 5000 + "}}", "a number is too large"),
        ('{"name": "look", "arguments": {"x": ' + "[" * 30 + "]" * 30 + "}}", "nested too deeply"),
        ('{"name": "look", "arguments": {"x": ' + "[" * 99_999, "nested too deeply"),
        ('"look"', 'it is no object with "name"'),
    ],
)
def test_a_call_that_cannot_be_read_is_explained(body, says):
    text = problem(block(body))
    assert says in text and 'Write each call as <tool_call>{"name": "TOOL"' in text
    assert len(text) < 300


@pytest.mark.parametrize("arguments", [None, "", " "])
def test_no_arguments_are_an_empty_object(arguments):
    assert calls({"tool_calls": [{"function": {"name": "look", "arguments": arguments}}]}) == [("look", {})]
    assert calls(block(json.dumps({"name": "look", "arguments": arguments}))) == [("look", {})]


@pytest.mark.parametrize(
    "message",
    [
        "I think it is flu.",
        "",
        '{"diagnosis": "flu"}',
        "{hello} there",
        "dose [5, 10] mg",
        "name: look",
        "<toolcall>",
        '"name"',
        "[]",
    ],
)
def test_prose_is_no_call(message):
    action = parse_action(message)
    assert action.calls == () and action.problems == () and action.content == message.strip()


@pytest.mark.parametrize(
    "message",
    [
        {}, {"content": 5}, {"content": [{"type": "text", "text": None}, 3]}, {"tool_calls": {"a": 1}},
        {"tool_calls": ["a", None, 3]}, {"tool_calls": [{"function": None}]}, {"tool_calls": [{"id": None}]},
        {"tool_calls": [{"function": {"name": "a", "arguments": float("inf")}}]},
        {"tool_calls": [{"function": {"name": "a", "arguments": {"x": float("nan")}}}]},
        {"tool_calls": [{"function": {"name": "a", "arguments": {1: 2, "b": 3}}}]},
    ],
)  # fmt: skip
def test_a_malformed_api_message_is_answered_not_raised(message):
    assert parse_action(message).calls == ()


def test_an_api_call_keeps_its_id():
    (call,) = parse_action({"tool_calls": [{"id": "c1", "function": {"name": "a", "arguments": "{}"}}]}).calls
    assert call.id == "c1"


def test_half_a_surrogate_pair_never_gets_through():
    for message in (
        block('{"name": "a", "arguments": {"x": "\\ud800"}}'),
        block('{"name": "a", "arguments": {"x": "\ud800"}}'),
    ):
        (call,) = parse_action(message).calls
        assert call.arguments["x"].encode() == "\N{REPLACEMENT CHARACTER}".encode()


def test_calls_and_advice_of_one_message_are_limited():
    action = parse_action(block('{"name": "a"}') * 40)
    assert len(action.calls) == MAX_CALLS and f"only the first {MAX_CALLS}" in action.problems[0]
    action = parse_action(block("nonsense") * 40)
    assert len(action.problems) == MAX_PROBLEMS + 1 and action.problems[-1].endswith("more calls could not be read.")
    assert len(parse_action({"tool_calls": [{"name": "a"}] * 40}).calls) == MAX_CALLS
    assert len(parse_action('{"name": "a", "parameters": {}}' * 40).calls) == MAX_CALLS


@pytest.mark.parametrize(
    "piece",
    [
        "<tool_call>",
        "<function=a>",
        "<think>",
        "{",
        "[",
        '{"a":1}',
        "<tool_call><function=a><parameter=x>",
        "</think>",
        "```",
    ],
)
def test_time_grows_with_length_not_its_square(piece):
    text = piece * 20_000
    started = time.process_time()
    parse_action(text)
    parse_action(f"<tool_call><function=a>{text}</function></tool_call>")
    assert time.process_time() - started < 2  # a square would take minutes


NUMBERS = st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False, width=32)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def has_huge(value):
    if isinstance(value, dict | list):
        return any(map(has_huge, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float) and abs(value) > 1e18


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=10), VALUES, max_size=4), st.booleans()
)
@settings(max_examples=200, deadline=None)
def test_any_arguments_read_back_as_written(arguments, as_ascii):
    if has_huge(arguments) or "<|" in json.dumps(arguments):
        return
    body = json.dumps({"name": "note", "arguments": arguments}, ensure_ascii=as_ascii)
    assert calls(f"So. {block(body)}") == [("note", arguments)]
    assert calls({"tool_calls": [{"function": {"name": "note", "arguments": json.dumps(arguments)}}]}) == [
        ("note", arguments)
    ]


FRAGMENTS = ["<tool_call>", "</tool_call>", "<think>", "</think>", "<function=a>", "</function>", "<parameter=x>", "</parameter>",
             '{"name": "a", "arguments": {', '"x": 1', "}}", "}", "[", "]", "\\", '"', "```json", "<|python_tag|>", "<|im_end|>", "\ud83d"]  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=14).map("".join))
@settings(max_examples=400, deadline=None)
def test_no_text_makes_the_parser_raise(text):
    action = parse_action(text)
    for call in action.calls:
        assert call.name and json.dumps(dict(call.arguments), allow_nan=False)
    json.dumps([action.content, *action.problems]).encode()
