"""Mini-mental state by domain totals: the test itself is not reproduced."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

MAXIMA = {"orientation": 10, "registration": 3, "attention": 5, "recall": 3, "language": 8, "construction": 1}


def mini_mental_band(total: int) -> str:
    """Return normal (24-30), mild (18-23) or severe (0-17) impairment.

    Source: Folstein et al., J Psychiatr Res 1975;12:189-198 (domains); Tombaugh and McIntyre, J Am Geriatr Soc
    1992;40:922-935 (bands).
    """
    return "normal" if total >= 24 else "mild" if total >= 18 else "severe"


@tool()
def mini_mental(
    orientation: Annotated[int, Field(ge=0, le=10)],
    registration: Annotated[int, Field(ge=0, le=3)],
    attention: Annotated[int, Field(ge=0, le=5)],
    recall: Annotated[int, Field(ge=0, le=3)],
    language: Annotated[int, Field(ge=0, le=8)],
    construction: Annotated[int, Field(ge=0, le=1)],
) -> str:
    """Add the domains of a mini-mental state, 0 to 30.

    Args:
        orientation: Time and place, 0 to 10.
        registration: Words repeated, 0 to 3.
        attention: Serial steps, 0 to 5.
        recall: Words recalled, 0 to 3.
        language: Naming, repeating, following, reading, writing, 0 to 8.
        construction: Figure copied, 0 or 1.
    """
    total = orientation + registration + attention + recall + language + construction
    return f"Mini-mental {total}/30, category {mini_mental_band(total)}"
