"""Closed answers are read where the text commits to one, whatever stands around it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthgym.evaluation.closed_set import read_choice, read_yes_no

HEDGE = "It is difficult to be certain from a single view, and clinical correlation is advised. "


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Yes.", "yes"),
        ("no", "no"),
        ("**NO**", "no"),
        ("'Yes'", "yes"),
        ("Yes, there is no effusion.", "yes"),
        ("No there is not.", "no"),
        ("No (normal film)", "no"),
        ("Yes, there is consolidation. No pleural effusion.", "yes"),
        ("It is a no-brainer: yes", "yes"),
        ("No\nNo\nNo", "no"),
        ("There is no evidence of a fracture, so no.", "no"),
        ("I see no mass; the answer is yes.", "yes"),
        ("No acute findings; therefore, no.", "no"),
        ("Yes or no? Yes.", "yes"),
        ("yes/no: no", "no"),
        ("At first I thought no, but the final answer is: **Yes**.", "yes"),
        ("\\boxed{yes}", "yes"),
        ("<think>no, no, yes or no</think>Yes", "yes"),
    ],
)
def test_a_commitment_is_read(text, answer):
    assert read_yes_no(text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No evidence of a fracture.",  # a determiner: to "is the bone intact?" the same words would mean yes
        "Yesterday there was nothing in the north.",
        "The answer could be yes or no.",
        "The answer is not yes.",
        "Yes. No.",
        "Yes and no.",
        "I am not sure whether yes or no.",
        "Lead No. 3 is off.",
        "A no-contrast study.",
        "да",
        "<think>yes, yes",
    ],
)
def test_what_commits_to_nothing_is_no_answer(text):
    assert read_yes_no(text) is None


@given(
    before=st.lists(
        st.sampled_from([HEDGE, "The question asks for yes or no. ", "The image shows the chest. "]), max_size=6
    ),
    after=st.lists(
        st.sampled_from([" " + HEDGE, " No further views are needed.", " Yesterday's film was alike."]), max_size=6
    ),
    answer=st.sampled_from(["yes", "no"]),
)
def test_padding_does_not_change_a_yes_or_no(before, after, answer):
    assert read_yes_no("".join(before) + answer.capitalize() + "." + "".join(after)) == answer


def test_a_long_text_is_read_to_its_end():
    text = "word " * 20_000 + "The answer is no."
    assert read_yes_no(text) == "no"
    assert read_choice(text, ["ct", "no"]) == "no"


CHOICES = ["ct", "mri", "left", "left lung", "right lung"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("CT", "ct"),
        ("It is a CT scan, not MRI.", "ct"),
        ("It isn't a CT: MRI", "mri"),
        ("left lung", "left lung"),
        ("In the left lung, not the right lung.", "left lung"),
        ("The choices are CT and MRI. The answer is CT.", "ct"),
        ("Answer: MRI. (not CT)", "mri"),
    ],
)
def test_the_one_choice_named_is_the_answer(text, answer):
    assert read_choice(text, CHOICES) == answer


@pytest.mark.parametrize("text", ["", "CT or MRI", "direct section", "ct mri left", "an octet"])
def test_several_choices_or_none_are_no_answer(text):
    assert read_choice(text, CHOICES) is None


@given(
    before=st.lists(st.sampled_from([HEDGE, "The film was taken yesterday. ", "Octets are not units. "]), max_size=6),
    after=st.lists(st.sampled_from([" " + HEDGE, " Directed views would help."]), max_size=6),
    answer=st.sampled_from(["ct", "mri", "left lung"]),
)
def test_padding_does_not_change_a_choice(before, after, answer):
    assert read_choice("".join(before) + answer.upper() + "." + "".join(after), CHOICES) == answer


def test_chinese_choices_are_found_without_spaces():
    assert read_choice("这是胸部的图像", ["胸部", "腹部"]) == "胸部"
    assert read_choice("不是", ["是", "不是"]) == "不是"
