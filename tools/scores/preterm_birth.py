"""Preterm birth: short-term risk in preterm contractions, and what a short cervix calls for."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

PretermRisk = Literal["low", "high", "test_fibronectin"]


def threatened_labour_risk(cervical_length_mm: float, fibronectin_positive: bool | None = None) -> PretermRisk:
    """Return the risk of birth soon with contractions before 34 weeks.

    Source: SMFM Preterm Birth Toolkit, 2016: 30 mm and more low, below 20 mm high, between them fetal fibronectin decides.
    """
    if cervical_length_mm >= 30:
        return "low"
    if cervical_length_mm < 20:
        return "high"
    return "test_fibronectin" if fibronectin_positive is None else "high" if fibronectin_positive else "low"


def prevention(cervical_length_mm: float, had_preterm_birth: bool) -> str:
    """Return what a singleton's cervix at 16w0d to 24w0d calls for.

    Source: ACOG practice bulletin 234, 2021: vaginal progesterone at 25 mm and below; with an earlier spontaneous preterm
    birth cerclage is the other option.
    """
    if cervical_length_mm > 25:
        return "no_treatment"
    return "cerclage_or_progesterone" if had_preterm_birth else "vaginal_progesterone"


@tool()
def preterm_birth_risk(
    cervical_length_mm: Annotated[float, Field(ge=0, le=70)], fibronectin_positive: bool | None = None
) -> str:
    """Judge preterm contractions by cervical length, and by fetal fibronectin from 20 to 29 mm.

    Args:
        cervical_length_mm: By transvaginal ultrasound.
        fibronectin_positive: Result, when done.
    """
    found = threatened_labour_risk(cervical_length_mm, fibronectin_positive)
    return "fetal fibronectin decides" if found == "test_fibronectin" else f"{found} risk"
