"""Mood Disorder Questionnaire (MDQ): screen for bipolar disorder."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

Problem = Literal["none", "minor", "moderate", "serious"]


def mdq_is_positive(symptoms: Sequence[bool], at_the_same_time: bool, problem: str) -> bool:
    """Say whether the screen is positive: 7 of 13 or more, at the same time, with a moderate or serious problem.

    Source: Hirschfeld et al., Am J Psychiatry 2000;157:1873-1875.
    """
    return sum(symptoms) >= 7 and at_the_same_time and problem in ("moderate", "serious")


@tool()
def mdq(
    symptoms: Annotated[list[bool], Field(min_length=13, max_length=13)], at_the_same_time: bool, problem: Problem
) -> str:
    """Score the Mood Disorder Questionnaire; positive needs 7 symptoms, at the same time, with a problem.

    Args:
        symptoms: Thirteen answers in the order of instrument_guide.
        at_the_same_time: Several happened during the same period.
        problem: How much of a problem they caused.
    """
    category = "positive" if mdq_is_positive(symptoms, at_the_same_time, problem) else "negative"
    return f"MDQ {sum(symptoms)}/13, category {category}"
