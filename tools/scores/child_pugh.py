"""Child-Pugh: severity of cirrhosis."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

Ascites = Literal["none", "mild", "moderate"]
Encephalopathy = Literal["none", "grade_1_2", "grade_3_4"]


def child_pugh_points(
    bilirubin_mg_dl: float, albumin_g_dl: float, inr: float, ascites: str, encephalopathy: str
) -> int:
    """Return the points, 5 to 15.

    Source: Pugh et al., Br J Surg 1973;60:646-649 (bilirubin below 2, 2 to 3, above 3 mg/dL; albumin above 3.5, 2.8 to 3.5, below
    2.8 g/dL), with the prothrombin time as INR below 1.7, 1.7 to 2.3, above 2.3.
    """
    bilirubin = 1 if bilirubin_mg_dl < 2 else 2 if bilirubin_mg_dl <= 3 else 3
    albumin = 1 if albumin_g_dl > 3.5 else 2 if albumin_g_dl >= 2.8 else 3
    clotting = 1 if inr < 1.7 else 2 if inr <= 2.3 else 3
    fluid = {"none": 1, "mild": 2, "moderate": 3}[ascites]
    mind = {"none": 1, "grade_1_2": 2, "grade_3_4": 3}[encephalopathy]
    return bilirubin + albumin + clotting + fluid + mind


def child_pugh_class(points: int) -> Literal["A", "B", "C"]:
    """Return class A (5 or 6), B (7 to 9) or C (10 to 15). Source: Pugh et al., 1973."""
    return "A" if points <= 6 else "B" if points <= 9 else "C"


@tool()
def child_pugh(
    bilirubin_mg_dl: Annotated[float, Field(ge=0.1, le=80)],
    albumin_g_dl: Annotated[float, Field(ge=0.5, le=7)],
    inr: Annotated[float, Field(ge=0.5, le=20)],
    ascites: Ascites,
    encephalopathy: Encephalopathy,
) -> str:
    """Score cirrhosis with Child-Pugh: 5-6 A, 7-9 B, 10-15 C.

    Args:
        bilirubin_mg_dl: Total bilirubin in mg/dL.
        albumin_g_dl: Albumin in g/dL.
        inr: INR.
        ascites: None, mild (or controlled), or moderate and more (or refractory).
        encephalopathy: None, grade 1 to 2, or grade 3 to 4.
    """
    points = child_pugh_points(bilirubin_mg_dl, albumin_g_dl, inr, ascites, encephalopathy)
    return f"Child-Pugh {points}, class {child_pugh_class(points)}"
