"""RECIST 1.1: response of solid tumours to treatment."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

Response = Literal["CR", "PR", "SD", "PD"]


def recist_targets(baseline_mm: float, nadir_mm: float, current_mm: float, all_disappeared: bool = False) -> Response:
    """Return the response of the target lesions from sums of diameters: longest of tumours, short axis of nodes.

    `all_disappeared`: no target tumour is left and every target node is under 10 mm. Progression is 20 % or more and 5 mm or
    more above the smallest sum so far; partial response 30 % or more below baseline.

    Source: Eisenhauer et al., Eur J Cancer 2009;45:228-247, sections 4.3.1 and 4.3.2.
    """
    if all_disappeared:
        return "CR"
    if current_mm - nadir_mm >= 5 - 1e-9 and current_mm >= 1.2 * nadir_mm - 1e-9:
        return "PD"
    return "PR" if current_mm <= 0.7 * baseline_mm + 1e-9 else "SD"


def recist_overall(targets: Response, new_lesion: bool) -> Response:
    """Return the overall response where only targets and new lesions are followed. Source: as above, table 1."""
    return "PD" if new_lesion else targets


@tool()
def recist_1_1(
    baseline_sum_mm: Annotated[float, Field(gt=0, le=2000)],
    nadir_sum_mm: Annotated[float, Field(ge=0, le=2000)],
    current_sum_mm: Annotated[float, Field(ge=0, le=2000)],
    new_lesion: bool,
    all_targets_disappeared: bool = False,
) -> str:
    """Judge the overall response by RECIST 1.1 from sums of target diameters (nodes by short axis).

    Args:
        baseline_sum_mm: Sum before treatment.
        nadir_sum_mm: Smallest sum so far, baseline included, the current one not.
        current_sum_mm: Sum now.
        new_lesion: A lesion that was not there before.
        all_targets_disappeared: No target tumour left and target nodes under 10 mm.
    """
    nadir = min(nadir_sum_mm, baseline_sum_mm)
    response = recist_overall(
        recist_targets(baseline_sum_mm, nadir, current_sum_mm, all_targets_disappeared), new_lesion
    )
    from_baseline = 100 * (current_sum_mm - baseline_sum_mm) / baseline_sum_mm
    return f"RECIST 1.1: {response} (from baseline {from_baseline:+.0f} %, from the smallest sum {current_sum_mm - nadir:+.1f} mm)"
