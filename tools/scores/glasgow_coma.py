"""Glasgow Coma Scale: depth of impaired consciousness."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool


def gcs_total(eye: int, verbal: int, motor: int) -> int:
    """Return the total, 3 to 15. Source: Teasdale and Jennett, Lancet 1974;2:81-84; six motor grades as of 1976."""
    return eye + verbal + motor


def gcs_band(total: int) -> str:
    """Return mild (13 to 15), moderate (9 to 12) or severe (3 to 8). Source: Teasdale et al., Lancet Neurol 2014;13:844-854."""
    return "mild" if total >= 13 else "moderate" if total >= 9 else "severe"


@tool()
def gcs(
    eye: Annotated[int, Field(ge=1, le=4)],
    verbal: Annotated[int, Field(ge=1, le=5)],
    motor: Annotated[int, Field(ge=1, le=6)],
) -> str:
    """Add up the Glasgow Coma Scale, 3 to 15.

    Args:
        eye: 4 spontaneous, 3 to sound, 2 to pressure, 1 none.
        verbal: 5 orientated, 4 confused, 3 words, 2 sounds, 1 none.
        motor: 6 obeys, 5 localises, 4 normal flexion, 3 abnormal flexion, 2 extension, 1 none.
    """
    total = gcs_total(eye, verbal, motor)
    return f"GCS {total}, {gcs_band(total)}"
