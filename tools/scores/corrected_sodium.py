"""Sodium corrected for a high glucose."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool


def corrected_sodium_mmol_l(sodium_mmol_l: float, glucose_mg_dl: float) -> float:
    """Return sodium with 1.6 mmol/L added for each 100 mg/dL of glucose above 100; unchanged below that.

    Source: Katz, N Engl J Med 1973;289:843-844. (Hillier et al., Am J Med 1999;106:399, found 2.4 on average.)
    """
    return sodium_mmol_l + 1.6 * max(0.0, glucose_mg_dl - 100) / 100


@tool()
def corrected_sodium(
    sodium_mmol_l: Annotated[float, Field(ge=90, le=190)], glucose_mg_dl: Annotated[float, Field(ge=10, le=2000)]
) -> str:
    """Correct sodium for a high glucose: 1.6 mmol/L for each 100 mg/dL above 100 (Katz, 1973).

    Args:
        sodium_mmol_l: Measured sodium in mmol/L.
        glucose_mg_dl: Glucose in mg/dL.
    """
    return f"corrected sodium {corrected_sodium_mmol_l(sodium_mmol_l, glucose_mg_dl):.1f} mmol/L"
