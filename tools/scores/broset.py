"""Brøset Violence Checklist: risk of violence within the next 24 hours of an inpatient."""

from healthgym.toolkit import tool


def broset_band(points: int) -> str:
    """Return small (0), moderate (1-2) or high (3-6).

    Source: Almvik, Woods and Rasmussen, J Interpers Violence 2000;15:1284-1296.
    """
    return "small" if points == 0 else "moderate" if points <= 2 else "high"


@tool()
def broset(
    confused: bool,
    irritable: bool,
    boisterous: bool,
    physical_threats: bool,
    verbal_threats: bool,
    attacks_objects: bool,
) -> str:
    """Score the Brøset checklist, 0 to 6. In a well-known patient only more than the usual counts.

    Args:
        confused: Confused or disorientated.
        irritable: Easily annoyed, intolerant.
        boisterous: Overtly loud or noisy.
        physical_threats: Clear intent to threaten another with the body.
        verbal_threats: Outburst meant to intimidate.
        attacks_objects: Attack on a thing, not a person.
    """
    points = confused + irritable + boisterous + physical_threats + verbal_threats + attacks_objects
    return f"Brøset {points}/6, {broset_band(points)} risk"
