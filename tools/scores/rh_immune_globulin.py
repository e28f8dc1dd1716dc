"""Anti-D immune globulin: who needs it and how much."""

from math import floor
from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

STANDARD_UG = 300
MATERNAL_VOLUME_ML = 5000
COVERED_ML = 30
RhEvent = Literal["routine_28_weeks", "bleeding_or_procedure", "pregnancy_loss", "birth"]


def fetomaternal_bleed_ml(fetal_cells_percent: float) -> float:
    """Return fetal whole blood in the mother's circulation, in mL, from an acid-elution (Kleihauer-Betke) test.

    Source: ACOG practice bulletin 181, 2017; a maternal blood volume of 5,000 mL is assumed.
    """
    return fetal_cells_percent / 100 * MATERNAL_VOLUME_ML


def vials_for_bleed(bleed_ml: float) -> int:
    """Return how many 300 ug vials cover a fetomaternal bleed.

    Source: AABB technical manual, 20th edition, 2020: bleed over 30 mL, rounded (half up), plus one vial.
    """
    return floor(bleed_ml / COVERED_ML + 0.5) + 1


def anti_d_dose_ug(
    *,
    mother_is_rhd_negative: bool,
    has_anti_d_antibody: bool,
    event: RhEvent,
    gestation_weeks: int,
    newborn_is_rhd_positive: bool | None = None,
    fetal_cells_percent: float = 0.0,
) -> int:
    """Return the dose in micrograms; 0 when none is due.

    Source: ACOG practice bulletin 181, 2017. Loss or abortion below 12 weeks: none as a routine (ACOG clinical practice
    update, 2024). A mother who has made anti-D herself gains nothing. After birth only for an RhD-positive newborn.
    Fetal cells are counted from 20 weeks on.
    """
    if not mother_is_rhd_negative or has_anti_d_antibody:
        return 0
    if event == "birth" and newborn_is_rhd_positive is False:
        return 0
    if event == "pregnancy_loss" and gestation_weeks < 12:
        return 0
    if event == "routine_28_weeks" or gestation_weeks < 20:
        return STANDARD_UG
    return STANDARD_UG * vials_for_bleed(fetomaternal_bleed_ml(fetal_cells_percent))


@tool()
def rh_immune_globulin(
    mother_is_rhd_negative: bool,
    has_anti_d_antibody: bool,
    event: RhEvent,
    gestation_weeks: Annotated[int, Field(ge=4, le=44)],
    newborn_is_rhd_positive: bool | None = None,
    fetal_cells_percent: Annotated[float, Field(ge=0, le=100)] = 0.0,
) -> str:
    """Work out the dose of anti-D immune globulin in micrograms.

    Args:
        mother_is_rhd_negative: Mother's RhD type.
        has_anti_d_antibody: Whether her antibody screen shows anti-D that is not from a recent injection.
        event: Why it is asked.
        gestation_weeks: Completed weeks.
        newborn_is_rhd_positive: Newborn's RhD type, after birth.
        fetal_cells_percent: Kleihauer-Betke result.
    """
    dose = anti_d_dose_ug(
        mother_is_rhd_negative=mother_is_rhd_negative,
        has_anti_d_antibody=has_anti_d_antibody,
        event=event,
        gestation_weeks=gestation_weeks,
        newborn_is_rhd_positive=newborn_is_rhd_positive,
        fetal_cells_percent=fetal_cells_percent,
    )
    bleed = fetomaternal_bleed_ml(fetal_cells_percent)
    return f"anti-D {dose} ug" + (f"; fetal bleed {bleed:g} mL" if bleed else "")
