"""PECARN head injury rule: which children need a CT of the head."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

Risk = Literal["high", "intermediate", "very low"]


def pecarn_under_two(
    altered_mental_status: bool,
    palpable_skull_fracture: bool,
    scalp_haematoma_not_frontal: bool,
    loss_of_consciousness_seconds: float,
    severe_mechanism: bool,
    not_acting_normally: bool,
) -> Risk:
    """Return the risk under 2 years. Source: Kuppermann et al., Lancet 2009;374:1160-1170, figure 3A; GCS 14 to 15."""
    if altered_mental_status or palpable_skull_fracture:
        return "high"
    minor = scalp_haematoma_not_frontal or loss_of_consciousness_seconds >= 5 or severe_mechanism or not_acting_normally
    return "intermediate" if minor else "very low"


def pecarn_two_and_over(
    altered_mental_status: bool,
    basal_skull_fracture_sign: bool,
    lost_consciousness: bool,
    vomited: bool,
    severe_mechanism: bool,
    severe_headache: bool,
) -> Risk:
    """Return the risk from 2 years on. Source: Kuppermann et al., Lancet 2009;374:1160-1170, figure 3B; GCS 14 to 15."""
    if altered_mental_status or basal_skull_fracture_sign:
        return "high"
    return "intermediate" if lost_consciousness or vomited or severe_mechanism or severe_headache else "very low"


ADVICE = {"high": "CT", "intermediate": "observe or CT", "very low": "no CT"}


@tool()
def pecarn_head(
    age_years: Annotated[float, Field(ge=0, le=110)],
    altered_mental_status: bool,
    skull_fracture_sign: bool,
    loss_of_consciousness_seconds: Annotated[float, Field(ge=0, le=86_400)],
    severe_mechanism: bool,
    scalp_haematoma_not_frontal: bool = False,
    not_acting_normally: bool = False,
    vomited: bool = False,
    severe_headache: bool = False,
) -> str:
    """Apply the PECARN rule to a head-injured child under 18 with GCS 14 or 15.

    Args:
        age_years: Age in years; months as a fraction.
        altered_mental_status: GCS 14, agitation, sleepiness, slow or repetitive speech.
        skull_fracture_sign: Palpable fracture under 2 years; basal fracture sign from 2 years.
        loss_of_consciousness_seconds: Seconds unconscious, 0 for none.
        severe_mechanism: Thrown from a car, struck without helmet, high-impact object, fall of over 3 feet (under 2 years) or 5 feet.
        scalp_haematoma_not_frontal: Under 2 years: bruise elsewhere than the forehead.
        not_acting_normally: Under 2 years: in the parent's view.
        vomited: From 2 years: any vomiting.
        severe_headache: From 2 years.
    """
    if age_years >= 18:
        raise ToolError(f"The rule ends at 18 years, got {age_years:g}. Use canadian_ct_head.")
    if age_years < 2:
        risk = pecarn_under_two(
            altered_mental_status,
            skull_fracture_sign,
            scalp_haematoma_not_frontal,
            loss_of_consciousness_seconds,
            severe_mechanism,
            not_acting_normally,
        )
    else:
        risk = pecarn_two_and_over(
            altered_mental_status,
            skull_fracture_sign,
            loss_of_consciousness_seconds > 0,
            vomited,
            severe_mechanism,
            severe_headache,
        )
    return f"PECARN: {risk} risk, {ADVICE[risk]}"
