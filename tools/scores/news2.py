"""NEWS2: the United Kingdom's early warning score for adults."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

Consciousness = Literal["alert", "confusion", "voice", "pain", "unresponsive"]


def news2_parts(
    respiratory_rate_per_min: float,
    spo2_percent: float,
    systolic_bp_mmhg: float,
    heart_rate_per_min: float,
    temperature_c: float,
    is_alert: bool = True,
    on_oxygen: bool = False,
    hypercapnic_scale: bool = False,
) -> dict[str, int]:
    """Return the seven part scores, 0 to 3 each.

    Source: Royal College of Physicians, National Early Warning Score (NEWS) 2, 2017, chart 1. For people aged 16 and
    over who are not pregnant. SpO2 scale 2 only for confirmed hypercapnic respiratory failure.
    """
    return {
        "respiration": _band(respiratory_rate_per_min, ((8, 3), (11, 1), (20, 0), (24, 2)), 3),
        "spo2": _spo2_scale_2(spo2_percent, on_oxygen)
        if hypercapnic_scale
        else _band(spo2_percent, ((91, 3), (93, 2), (95, 1)), 0),
        "oxygen": 2 if on_oxygen else 0,
        "systolic_bp": _band(systolic_bp_mmhg, ((90, 3), (100, 2), (110, 1), (219, 0)), 3),
        "pulse": _band(heart_rate_per_min, ((40, 3), (50, 1), (90, 0), (110, 1), (130, 2)), 3),
        "consciousness": 0 if is_alert else 3,
        "temperature": _band(round(temperature_c, 1), ((35.0, 3), (36.0, 1), (38.0, 0), (39.0, 1)), 2),
    }


def _band(value: float, bands: tuple[tuple[float, int], ...], above: int) -> int:
    """Return the points of the first band whose upper limit, included, holds `value`."""
    return next((points for limit, points in bands if value <= limit), above)


def _spo2_scale_2(spo2_percent: float, on_oxygen: bool) -> int:
    if spo2_percent <= 92 or not on_oxygen:
        return _band(spo2_percent, ((83, 3), (85, 2), (87, 1)), 0)
    return _band(spo2_percent, ((94, 1), (96, 2)), 3)


def clinical_risk(parts: dict[str, int]) -> str:
    """Return the RCP's response band for a set of part scores."""
    total = sum(parts.values())
    if total >= 7:
        return "high"
    if total >= 5:
        return "medium"
    return "low-medium" if 3 in parts.values() else "low"


@tool()
def news2(
    respiratory_rate_per_min: Annotated[int, Field(ge=0, le=90)],
    spo2_percent: Annotated[int, Field(ge=40, le=100)],
    systolic_bp_mmhg: Annotated[int, Field(ge=30, le=300)],
    heart_rate_per_min: Annotated[int, Field(ge=10, le=300)],
    temperature_c: Annotated[float, Field(ge=25, le=45)],
    consciousness: Consciousness = "alert",
    on_oxygen: bool = False,
    hypercapnic_scale: bool = False,
) -> str:
    """Score deterioration risk with NEWS2, 0 to 20, for age 16 and over, not pregnant; 5 urgent, 7 emergency.

    Args:
        respiratory_rate_per_min: Breaths per minute.
        spo2_percent: Oxygen saturation in percent.
        systolic_bp_mmhg: Systolic blood pressure in mmHg.
        heart_rate_per_min: Beats per minute.
        temperature_c: Temperature in degrees Celsius.
        consciousness: AVPU with new confusion.
        on_oxygen: Whether oxygen is being given.
        hypercapnic_scale: SpO2 scale 2, only for known hypercapnic failure.
    """
    parts = news2_parts(
        respiratory_rate_per_min,
        spo2_percent,
        systolic_bp_mmhg,
        heart_rate_per_min,
        temperature_c,
        consciousness == "alert",
        on_oxygen,
        hypercapnic_scale,
    )
    return f"NEWS2 {sum(parts.values())}, {clinical_risk(parts)} risk"
