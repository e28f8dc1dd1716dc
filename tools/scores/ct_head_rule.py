"""Canadian CT Head Rule: who needs imaging after a minor head injury."""

from typing import Annotated

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool


def canadian_ct_head_risk(
    age_years: float,
    gcs_two_hours: int,
    suspected_open_skull_fracture: bool,
    basal_skull_fracture_sign: bool,
    vomits: int,
    amnesia_before_minutes: float,
    dangerous_mechanism: bool,
) -> str:
    """Return "high", "medium" or "none". CT is indicated unless none.

    Source: Stiell et al., Lancet 2001;357:1391-1396, figure 2. Holds for GCS 13 to 15 with witnessed loss of
    consciousness, amnesia or disorientation; not for anticoagulated people, children under 16 or seizures.
    """
    high = (
        gcs_two_hours < 15
        or suspected_open_skull_fracture
        or basal_skull_fracture_sign
        or vomits >= 2
        or age_years >= 65
    )
    if high:
        return "high"
    return "medium" if amnesia_before_minutes >= 30 or dangerous_mechanism else "none"


@tool()
def canadian_ct_head(
    age_years: Annotated[float, Field(ge=0, le=110)],
    gcs_two_hours: Annotated[int, Field(ge=3, le=15)],
    suspected_open_skull_fracture: bool,
    basal_skull_fracture_sign: bool,
    vomits: Annotated[int, Field(ge=0, le=50)],
    amnesia_before_minutes: Annotated[float, Field(ge=0, le=10_000)],
    dangerous_mechanism: bool,
    on_anticoagulant: bool = False,
) -> str:
    """Apply the Canadian CT Head Rule to an injured person of 16 or over with GCS 13 to 15.

    Args:
        age_years: Age in years.
        gcs_two_hours: GCS two hours after the injury.
        suspected_open_skull_fracture: Open or depressed skull fracture suspected.
        basal_skull_fracture_sign: Blood behind the eardrum, raccoon eyes, Battle's sign, CSF leak.
        vomits: Number of vomits.
        amnesia_before_minutes: Minutes forgotten before the impact.
        dangerous_mechanism: Struck or thrown by a vehicle, or a fall of over 3 feet or 5 stairs.
        on_anticoagulant: Takes an anticoagulant.
    """
    if age_years < 16:
        raise ToolError(f"The rule starts at 16 years, got {age_years:g}. Use pecarn_head.")
    if gcs_two_hours < 13:
        raise ToolError(
            f"The rule needs GCS 13 to 15, got {gcs_two_hours}. That patient needs CT whatever the rule says."
        )
    if on_anticoagulant:
        raise ToolError("The rule leaves out people on anticoagulants. They need CT whatever the rule says.")
    risk = canadian_ct_head_risk(
        age_years,
        gcs_two_hours,
        suspected_open_skull_fracture,
        basal_skull_fracture_sign,
        vomits,
        amnesia_before_minutes,
        dangerous_mechanism,
    )
    return f"Canadian CT Head: {risk} risk, CT {'not needed' if risk == 'none' else 'indicated'}"
