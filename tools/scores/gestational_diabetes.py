"""Gestational diabetes: one-step (IADPSG) and two-step (Carpenter-Coustan) screening."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

GlucoseDiagnosis = Literal["no_gestational_diabetes", "gestational_diabetes", "overt_diabetes"]
Glucose = Annotated[int, Field(ge=30, le=600)]
ONE_STEP_LIMITS = (92, 180, 153)
TWO_STEP_LIMITS = (95, 180, 155, 140)
CHALLENGE_LIMIT = 140
OVERT_FASTING = 126


def one_step_diagnosis(fasting_mg_dl: float, one_hour_mg_dl: float, two_hour_mg_dl: float) -> GlucoseDiagnosis:
    """Return the diagnosis from a 75 g test: one value at or above 92, 180 or 153 mg/dL suffices.

    Source: IADPSG, Diabetes Care 2010;33:676-682; fasting from 126 mg/dL is overt diabetes.
    """
    if fasting_mg_dl >= OVERT_FASTING:
        return "overt_diabetes"
    values = (fasting_mg_dl, one_hour_mg_dl, two_hour_mg_dl)
    reached = any(value >= limit for value, limit in zip(values, ONE_STEP_LIMITS, strict=True))
    return "gestational_diabetes" if reached else "no_gestational_diabetes"


def two_step_diagnosis(
    fasting_mg_dl: float, one_hour_mg_dl: float, two_hour_mg_dl: float, three_hour_mg_dl: float
) -> GlucoseDiagnosis:
    """Return the diagnosis from a 100 g test: two values at or above 95, 180, 155 or 140 mg/dL.

    Source: Carpenter and Coustan, Am J Obstet Gynecol 1982;144:768-773; ACOG practice bulletin 190, 2018.
    """
    values = (fasting_mg_dl, one_hour_mg_dl, two_hour_mg_dl, three_hour_mg_dl)
    reached = sum(value >= limit for value, limit in zip(values, TWO_STEP_LIMITS, strict=True))
    if fasting_mg_dl >= OVERT_FASTING:
        return "overt_diabetes"
    return "gestational_diabetes" if reached >= 2 else "no_gestational_diabetes"


@tool()
def gdm_one_step(fasting_mg_dl: Glucose, one_hour_mg_dl: Glucose, two_hour_mg_dl: Glucose) -> str:
    """Read a 75 g glucose test (IADPSG; limits 92, 180, 153 mg/dL, one suffices).

    Args:
        fasting_mg_dl: Fasting glucose.
        one_hour_mg_dl: After 1 hour.
        two_hour_mg_dl: After 2 hours.
    """
    return one_step_diagnosis(fasting_mg_dl, one_hour_mg_dl, two_hour_mg_dl)


@tool()
def gdm_two_step(
    challenge_mg_dl: Glucose,
    fasting_mg_dl: Glucose | None = None,
    one_hour_mg_dl: Glucose | None = None,
    two_hour_mg_dl: Glucose | None = None,
    three_hour_mg_dl: Glucose | None = None,
) -> str:
    """Read the 50 g challenge (positive from 140 mg/dL) and the 100 g test (Carpenter-Coustan; two of 95, 180, 155, 140).

    Args:
        challenge_mg_dl: 1 hour after 50 g.
        fasting_mg_dl: Fasting, 100 g test.
        one_hour_mg_dl: After 1 hour.
        two_hour_mg_dl: After 2 hours.
        three_hour_mg_dl: After 3 hours.
    """
    if fasting_mg_dl is None or one_hour_mg_dl is None or two_hour_mg_dl is None or three_hour_mg_dl is None:
        positive = challenge_mg_dl >= CHALLENGE_LIMIT
        return "challenge positive: 100 g test needed" if positive else "challenge negative: no_gestational_diabetes"
    return two_step_diagnosis(fasting_mg_dl, one_hour_mg_dl, two_hour_mg_dl, three_hour_mg_dl)
