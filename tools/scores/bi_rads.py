"""BI-RADS assessment of a mammogram, 5th edition, by simplified rules."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

Lesion = Literal["none", "mass", "calcifications"]
Margin = Literal["circumscribed", "indistinct", "spiculated"]
Morphology = Literal["coarse", "round", "amorphous", "fine_pleomorphic", "fine_linear_branching"]
Course = Literal["first_seen", "stable", "enlarged"]
STABLE_MONTHS = 24
MANAGEMENT = {1: "routine screening", 2: "routine screening", 3: "mammogram in 6 months", 4: "biopsy", 5: "biopsy"}


def bi_rads_category(
    lesion: Lesion,
    margin: Margin = "circumscribed",
    morphology: Morphology = "coarse",
    course: Course = "first_seen",
    stable_months: float = 0.0,
) -> int:
    """Return the assessment category 1 to 5 after a complete work-up, for one lesion.

    Rules: nothing, 1. Mass: spiculated, 5; indistinct, 4; circumscribed, 3 when first seen or stable for under 24 months, 2
    when stable for 24 months or more, 4 when enlarged. Calcifications: coarse, 2; a group of round ones, 3, or 2 after
    24 stable months; amorphous, fine pleomorphic and fine linear branching, 4, which the atlas splits further.

    Source: ACR BI-RADS Atlas, 5th edition, 2013, mammography, simplified: probably benign findings of the atlas are 3,
    and the classic spiculated mass is 5. Categories 0 and 6, subcategories of 4, associated features and ultrasound are
    left out.
    """
    if lesion == "none":
        return 1
    if lesion == "mass":
        if margin == "spiculated":
            return 5
        if margin == "indistinct" or course == "enlarged":
            return 4
        return 2 if course == "stable" and stable_months >= STABLE_MONTHS else 3
    if morphology == "coarse":
        return 2
    if morphology == "round":
        if course == "enlarged":
            return 4
        return 2 if course == "stable" and stable_months >= STABLE_MONTHS else 3
    return 4


@tool()
def bi_rads(
    lesion: Lesion,
    margin: Margin = "circumscribed",
    morphology: Morphology = "coarse",
    course: Course = "first_seen",
    stable_months: Annotated[float, Field(ge=0, le=240)] = 0.0,
) -> str:
    """Give the BI-RADS category (1 to 5, simplified) and management of the most suspicious mammographic lesion.

    Args:
        lesion: What is seen.
        margin: Of a mass.
        morphology: Of calcifications.
        course: Against the prior mammogram.
        stable_months: How long it has been unchanged.
    """
    if course == "stable" and stable_months == 0:
        raise ToolError("A stable lesion needs stable_months: months between the prior and this mammogram.")
    category = bi_rads_category(lesion, margin, morphology, course, stable_months)
    return f"BI-RADS {category}: {MANAGEMENT[category]}"
