"""Emergency Severity Index, version 5: five levels from immediacy, risk, resources and vital signs."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool
from healthgym.world import VitalSigns

Level = Literal[1, 2, 3, 4, 5]
SEVERE_PAIN = 7
UNRESPONSIVE_GCS = 8

# Upper age limit in years (excluded), highest heart rate and respiratory rate that are still outside the danger zone.
# Source: Emergency Nurses Association, ESI Handbook, 5th edition, 2023, decision point D.
DANGER_ZONE: tuple[tuple[float, int, int], ...] = (
    (1 / 12, 190, 60),
    (1, 180, 55),
    (3, 140, 40),
    (5, 120, 35),
    (12, 120, 30),
    (200, 100, 20),
)
LOWEST_SPO2 = 92


def is_danger_zone(age_years: float, vital_signs: VitalSigns) -> bool:
    """Say whether heart rate, respiratory rate or SpO2 lies in the danger zone for this age; unmeasured counts as no."""
    _, heart_limit, breath_limit = next(row for row in DANGER_ZONE if age_years < row[0])
    heart, breath, spo2 = (
        vital_signs.heart_rate_per_min,
        vital_signs.respiratory_rate_per_min,
        vital_signs.spo2_percent,
    )
    return (
        (heart is not None and heart > heart_limit)
        or (breath is not None and breath > breath_limit)
        or (spo2 is not None and spo2 < LOWEST_SPO2)
    )


def is_febrile_newborn(age_years: float, temperature_c: float | None) -> bool:
    """Say whether a baby of 28 days or less has 38.0 degrees C or more: at least level 2 (ESI Handbook, paediatric fever)."""
    return age_years * 365.25 <= 28 and temperature_c is not None and temperature_c >= 38.0


def count_resources(resources: Iterable[str]) -> int:
    """Return how many ESI resources a plan holds: each kind once, a complex procedure twice."""
    kinds = set(resources)
    return len(kinds) + ("complex_procedure" in kinds)


def esi_level(
    *,
    age_years: float,
    vital_signs: VitalSigns,
    needs_immediate_intervention: bool,
    is_high_risk: bool,
    resources: int,
) -> Level:
    """Return the ESI level, 1 to 5.

    A life-saving intervention now, or GCS 8 or less (no response but to pain): 1. High risk, GCS below 15, pain of 7 or more, or a febrile newborn: 2. No resource:
    5, one: 4, two or more: 3, raised to 2 by danger-zone vital signs. The handbook says "consider" for that last step
    and for severe pain; here both always raise the level, so that one patient has one answer.
    Source: Emergency Nurses Association, ESI Handbook, 5th edition, 2023.
    """
    if needs_immediate_intervention or (vital_signs.gcs is not None and vital_signs.gcs <= UNRESPONSIVE_GCS):
        return 1
    pain = vital_signs.pain_0_10 or 0
    altered = vital_signs.gcs is not None and vital_signs.gcs < 15
    if is_high_risk or altered or pain >= SEVERE_PAIN or is_febrile_newborn(age_years, vital_signs.temperature_c):
        return 2
    if resources == 0:
        return 5
    if resources == 1:
        return 4
    return 2 if is_danger_zone(age_years, vital_signs) else 3


@tool()
def esi_algorithm(
    age_years: Annotated[float, Field(ge=0, le=110)],
    needs_immediate_intervention: bool,
    is_high_risk: bool,
    resources: Annotated[int, Field(ge=0, le=8)],
    heart_rate_per_min: Annotated[int, Field(ge=0, le=300)],
    respiratory_rate_per_min: Annotated[int, Field(ge=0, le=120)],
    spo2_percent: Annotated[int, Field(ge=40, le=100)],
    gcs: Annotated[int, Field(ge=3, le=15)] = 15,
    pain_0_10: Annotated[int, Field(ge=0, le=10)] = 0,
    temperature_c: Annotated[float, Field(ge=25, le=45)] = 37.0,
) -> str:
    """Work out the ESI v5 level from your own answers to its decision points.

    Args:
        age_years: Age in years.
        needs_immediate_intervention: A life-saving intervention is needed now.
        is_high_risk: Should not wait, in your judgement.
        resources: Kinds of resources expected.
        heart_rate_per_min: Beats per minute.
        respiratory_rate_per_min: Breaths per minute.
        spo2_percent: Oxygen saturation in percent.
        gcs: Glasgow Coma Scale.
        pain_0_10: Pain score.
        temperature_c: Temperature in degrees Celsius.
    """
    vital_signs = VitalSigns(
        heart_rate_per_min=heart_rate_per_min,
        respiratory_rate_per_min=respiratory_rate_per_min,
        spo2_percent=spo2_percent,
        gcs=gcs,
        pain_0_10=pain_0_10,
        temperature_c=temperature_c,
    )
    level = esi_level(
        age_years=age_years,
        vital_signs=vital_signs,
        needs_immediate_intervention=needs_immediate_intervention,
        is_high_risk=is_high_risk,
        resources=resources,
    )
    return f"ESI {level}"
