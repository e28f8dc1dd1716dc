"""Conversations on the wire: every call has its answer, images go where the protocol has room, markup stays as written."""

import json

import pytest

from healthgym.errors import ConfigError
from healthgym.rollout.openai_messages import wire_messages

IMAGE = {"type": "image", "url": "data:image/png;base64,AAAA"}
SENT_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def call(name, **arguments):
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


EPISODE = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": "U"},
    {"role": "assistant", "content": "look", "raw": "look<tool_call>...", "tool_calls": [call("see", a=1), call("hear"), call("see", a=2)]},
    {"role": "tool", "name": "see", "content": [{"type": "text", "text": "one"}, IMAGE]},
    {"role": "tool", "name": "error", "content": "Error: unreadable"},
    {"role": "tool", "name": "hear", "content": "two"},
    {"role": "tool", "name": "see", "content": "three"},
    {"role": "user", "content": "on"},
]  # fmt: skip


def test_native_calls_get_ids_and_their_answers_follow_at_once():
    sent = wire_messages(EPISODE, (), "native")
    assert [message["role"] for message in sent] == [
        "system", "user", "assistant", "tool", "tool", "tool", "user", "user", "user",
    ]  # fmt: skip
    calls = sent[2]["tool_calls"]
    assert [one["id"] for one in calls] == ["call_1", "call_2", "call_3"]
    assert json.loads(calls[0]["function"]["arguments"]) == {"a": 1} and "raw" not in sent[2]
    assert [(m["tool_call_id"], m["content"]) for m in sent[3:6]] == [
        ("call_1", "one"), ("call_2", "two"), ("call_3", "three"),
    ]  # fmt: skip
    # What has no place between a call and its answer comes after the last of them.
    assert [m["content"] for m in sent[6:]] == [[SENT_IMAGE], "Error: unreadable", "on"]


def test_markup_goes_back_as_it_was_written():
    sent = wire_messages(EPISODE, (), "markup")
    assert sent[2] == {"role": "assistant", "content": "look<tool_call>..."}
    assert [m.get("name") for m in sent[3:7]] == ["see", "error", "hear", "see"]
    assert sent[3]["content"] == [{"type": "text", "text": "one"}, SENT_IMAGE]


def test_structured_calls_become_markup_for_a_server_without_them():
    turn = {"role": "assistant", "content": "so", "tool_calls": [call("see", a=1)]}
    (sent,) = wire_messages([turn], (), "told")
    assert sent["content"] == 'so\n<tool_call>\n{"name": "see", "arguments": {"a": 1}}\n</tool_call>'


def test_a_server_without_the_role_of_tools_gets_results_from_the_user():
    sent = wire_messages(EPISODE, [{"type": "function", "function": {"name": "see"}}], "plain")
    assert {message["role"] for message in sent} == {"system", "user", "assistant"}
    assert sent[5]["content"] == "Result of hear:\ntwo"
    assert sent[0]["content"].startswith("S\n\nTools") and '"name": "see"' in sent[0]["content"]


def test_tools_are_told_in_a_system_message_of_their_own_where_there_is_none():
    sent = wire_messages(
        [{"role": "user", "content": "U"}], [{"type": "function", "function": {"name": "see"}}], "told"
    )
    assert [message["role"] for message in sent] == ["system", "user"]


def test_images_pass_as_data_urls_and_other_blocks_are_refused():
    (sent,) = wire_messages(
        [{"role": "user", "content": [{"type": "text", "text": "?"}, IMAGE, SENT_IMAGE]}], (), "native"
    )
    assert sent["content"] == [{"type": "text", "text": "?"}, SENT_IMAGE, SENT_IMAGE]
    with pytest.raises(ConfigError, match="type 'audio'"):
        wire_messages([{"role": "user", "content": [{"type": "audio", "data": "x"}]}], (), "native")
