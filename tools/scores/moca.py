"""Montreal-type cognitive screen by domain totals: the test itself is not reproduced."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

MAXIMA = {
    "visuospatial_executive": 5, "naming": 3, "attention": 6, "language": 3, "abstraction": 2, "delayed_recall": 5,
    "orientation": 6,
}  # fmt: skip


def moca_total(domain_points: int, education_years: float) -> int:
    """Return the total: one point is added for 12 years of education or fewer, up to 30.

    Source: Nasreddine et al., J Am Geriatr Soc 2005;53:695-699.
    """
    return min(30, domain_points + (education_years <= 12))


def moca_band(total: int) -> str:
    """Return normal (26-30), mild (18-25), moderate (10-17) or severe (0-9).

    Source: Nasreddine et al., 2005 (26 or more normal); bands below as given by the test's publisher, MoCA Cognition, 2019.
    """
    return "normal" if total >= 26 else "mild" if total >= 18 else "moderate" if total >= 10 else "severe"


@tool()
def moca(
    visuospatial_executive: Annotated[int, Field(ge=0, le=5)],
    naming: Annotated[int, Field(ge=0, le=3)],
    attention: Annotated[int, Field(ge=0, le=6)],
    language: Annotated[int, Field(ge=0, le=3)],
    abstraction: Annotated[int, Field(ge=0, le=2)],
    delayed_recall: Annotated[int, Field(ge=0, le=5)],
    orientation: Annotated[int, Field(ge=0, le=6)],
    education_years: Annotated[float, Field(ge=0, le=40)],
) -> str:
    """Add the domains of a Montreal-type screen, 0 to 30; 12 years of education or fewer earn one point.

    Args:
        visuospatial_executive: Trail, copy, clock, 0 to 5.
        naming: 0 to 3.
        attention: Digits, vigilance, subtraction, 0 to 6.
        language: Repetition, fluency, 0 to 3.
        abstraction: 0 to 2.
        delayed_recall: Words without a cue, 0 to 5.
        orientation: 0 to 6.
        education_years: Years of schooling.
    """
    points = visuospatial_executive + naming + attention + language + abstraction + delayed_recall + orientation
    total = moca_total(points, education_years)
    return f"Montreal screen {total}/30, category {moca_band(total)}"
