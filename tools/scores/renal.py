"""Kidney function from a serum creatinine: Cockcroft-Gault clearance and CKD-EPI 2021 filtration rate."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

Sex = Literal["female", "male"]
Age = Annotated[float, Field(ge=18, le=110)]
Creatinine = Annotated[float, Field(ge=0.1, le=25)]


def creatinine_clearance_ml_min(age_years: float, weight_kg: float, creatinine_mg_dl: float, sex: str) -> float:
    """Return the Cockcroft-Gault creatinine clearance in mL/min, not indexed to body surface.

    Source: Cockcroft and Gault, Nephron 1976;16:31-41. Actual body weight, as in the original cohort.
    """
    clearance = (140 - age_years) * weight_kg / (72 * creatinine_mg_dl)
    return clearance * 0.85 if sex == "female" else clearance


def egfr_ml_min_173(age_years: float, creatinine_mg_dl: float, sex: str) -> float:
    """Return the CKD-EPI 2021 creatinine eGFR in mL/min/1.73 m2, without a race term.

    Source: Inker et al., N Engl J Med 2021;385:1737-1749, table 2.
    """
    kappa, alpha, factor = (0.7, -0.241, 1.012) if sex == "female" else (0.9, -0.302, 1.0)
    ratio = creatinine_mg_dl / kappa
    return 142 * min(ratio, 1.0) ** alpha * max(ratio, 1.0) ** -1.200 * 0.9938**age_years * factor


def ckd_stage(egfr: float) -> str:
    """Return the GFR category G1 to G5. Source: KDIGO 2024 CKD guideline, table of GFR categories."""
    bounds = ((90, "G1"), (60, "G2"), (45, "G3a"), (30, "G3b"), (15, "G4"))
    return next((stage for bound, stage in bounds if egfr >= bound), "G5")


@tool()
def cockcroft_gault(
    age_years: Age, weight_kg: Annotated[float, Field(ge=25, le=300)], creatinine_mg_dl: Creatinine, sex: Sex
) -> str:
    """Compute an adult's creatinine clearance (mL/min), the figure renal dose limits refer to.

    Args:
        age_years: Age in years, 18 or over.
        weight_kg: Body weight in kg.
        creatinine_mg_dl: Serum creatinine in mg/dL.
        sex: Sex.
    """
    return f"CrCl {creatinine_clearance_ml_min(age_years, weight_kg, creatinine_mg_dl, sex):.1f} mL/min"


@tool()
def egfr_ckd_epi(age_years: Age, creatinine_mg_dl: Creatinine, sex: Sex) -> str:
    """Compute an adult's eGFR (CKD-EPI 2021) and CKD stage; for staging, not for dose limits given as CrCl.

    Args:
        age_years: Age in years, 18 or over.
        creatinine_mg_dl: Serum creatinine in mg/dL.
        sex: Sex.
    """
    egfr = egfr_ml_min_173(age_years, creatinine_mg_dl, sex)
    return f"eGFR {egfr:.1f} mL/min/1.73m2, {ckd_stage(egfr)}"
