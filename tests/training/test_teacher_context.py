import pytest
import torch
from jinja2 import TemplateError

from healthgym.errors import ConfigError, HealthgymError
from healthgym.training.teacher_context import (
    HintRenderer,
    check_alignment,
    pad_rows,
    teacher_sequence,
    turn_id_row,
)

GEN = [8, 9]
PROMPT = [1, 2, *GEN]
# Turn 0 is 10, 11; then a tool result 3, 4 and the opening 8, 9; turn 1 is 12, 13.
COMPLETION = [10, 11, 3, 4, *GEN, 12, 13]
STARTS = [0, 6]


def build(**options):
    options.setdefault("generation_prompt", GEN)
    return teacher_sequence(PROMPT, COMPLETION, STARTS, options.pop("hint", [70, 71]), **options)


def test_a_hint_goes_before_the_first_turn_and_the_students_tokens_follow_verbatim():
    sequence = build()
    assert sequence.prompt_ids == [1, 2, 70, 71, 8, 9]
    assert sequence.completion_ids == COMPLETION
    assert sequence.positions == list(range(8))


def test_a_hint_before_every_turn_shifts_what_follows():
    sequence = build(where="every_turn")
    assert sequence.completion_ids == [10, 11, 3, 4, 70, 71, 8, 9, 12, 13]
    assert [sequence.completion_ids[i] for i in sequence.positions] == COMPLETION


def test_an_empty_hint_changes_nothing():
    for where in ("prompt", "every_turn"):
        sequence = build(hint=[], where=where)
        assert (sequence.prompt_ids, sequence.completion_ids) == (PROMPT, COMPLETION)


def test_tokens_past_the_context_are_dropped_and_marked():
    # 6 prompt tokens leave room for 7 of 8 completion tokens.
    sequence = build(max_context=13)
    assert sequence.completion_ids == COMPLETION[:7]
    assert sequence.positions == [0, 1, 2, 3, 4, 5, 6, -1]


def test_a_turn_that_does_not_begin_after_the_generation_prompt_is_refused():
    with pytest.raises(HealthgymError, match="No place for a hint"):
        build(generation_prompt=[5, 9])
    with pytest.raises(HealthgymError, match="No place for a hint"):
        teacher_sequence(PROMPT, COMPLETION, [0, 7], [70], generation_prompt=GEN, where="every_turn")


def test_turn_ids_number_policy_tokens_only():
    mask = [1, 1, 0, 0, 0, 0, 1, 1]
    assert turn_id_row([(0, 2), (6, 8)], mask) == [0, 0, -1, -1, -1, -1, 1, 1]
    assert turn_id_row([(0, 4)], [1, 0, 1, 1]) == [0, -1, 0, 0]


def test_misaligned_tokens_are_caught():
    ids = torch.tensor([[10, 11]])
    check_alignment(ids, torch.tensor([[70, 10, 11]]), torch.tensor([[1, 2]]))
    check_alignment(ids, torch.tensor([[70, 10, 99]]), torch.tensor([[1, -1]]))
    with pytest.raises(HealthgymError, match="student wrote id 11, the teacher would score id 99"):
        check_alignment(ids, torch.tensor([[70, 10, 99]]), torch.tensor([[1, 2]]))


def test_rows_are_padded_on_the_named_side():
    assert pad_rows([[1, 2], [3]], 0, side="left").tolist() == [[1, 2], [0, 3]]
    assert pad_rows([[1], []], -1, width=2).tolist() == [[1, -1], [-1, -1]]


class Template:
    """Writes <role> content <end>, one id each, and opens a turn with <assistant>."""

    def __init__(self, rewrites: bool = False) -> None:
        self.rewrites = rewrites

    def apply_chat_template(self, messages, *, add_generation_prompt, tokenize, return_dict):
        ids = [100 + len(messages)] if self.rewrites else []
        for message in messages:
            ids += [1, *map(ord, message["content"]), 2]
        return ids + ([3] if add_generation_prompt else [])


def test_hints_are_rendered_as_a_message_of_their_own():
    renderer = HintRenderer(Template(), {})
    assert renderer.generation_prompt == [3]
    assert renderer.message("ab") == [1, ord("a"), ord("b"), 2]


class Alternating(Template):
    def apply_chat_template(self, messages, **options):
        if [message["role"] for message in messages] == ["user", "user"]:
            raise TemplateError("Roles must alternate")
        return super().apply_chat_template(messages, **options)


def test_a_template_that_wants_roles_to_alternate_is_refused_with_a_remedy():
    with pytest.raises(ConfigError, match=r"Roles must alternate.*hint: null"):
        HintRenderer(Alternating(), {}).message("review")


def test_a_template_that_rewrites_history_is_refused():
    with pytest.raises(ConfigError, match="rewrites earlier messages"):
        HintRenderer(Template(rewrites=True), {}).message("ab")
