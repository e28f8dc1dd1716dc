"""The right amount of a drug for one patient."""

from healthgym.tools.scores.renal import creatinine_clearance_ml_min
from healthgym.world import Chart

from .schema import DoseRule

ROUNDING = 0.05
"""Share by which an amount may be rounded at the bedside, unless the rule gives a range or a table."""


def dose_range(rule: DoseRule, age_years: float, weight_kg: float) -> tuple[float, float]:
    """Return the lowest and highest right amount, in the rule's unit, before rounding."""
    if rule.flat is not None:
        low, high = rule.flat
    elif rule.per_kg is not None:
        low, high = (amount * weight_kg for amount in rule.per_kg)
        if rule.max is not None:
            low, high = min(low, rule.max), min(high, rule.max)
    else:
        low = high = next(amount for below, amount in rule.bands if weight_kg < below)
    factor = rule.older_factor if rule.from_years is not None and age_years >= rule.from_years else 1.0
    return low * factor, high * factor


def accepted(rule: DoseRule, age_years: float, weight_kg: float) -> tuple[float, float]:
    """Return the bounds within which a prescribed amount counts as right: amounts by weight may be rounded by 5 %."""
    low, high = dose_range(rule, age_years, weight_kg)
    slack = ROUNDING if rule.per_kg is not None and low > 0.95 * high else 0.0
    return low * (1 - slack), high * (1 + slack)


def usual(rule: DoseRule, age_years: float, weight_kg: float) -> float:
    """Return the amount a solution prescribes: the middle of the range, rounded to three figures."""
    low, high = dose_range(rule, age_years, weight_kg)
    return float(f"{(low + high) / 2:.3g}")


def clearance(chart: Chart) -> float:
    """Return the Cockcroft-Gault clearance in mL/min by the chart's creatinine at arrival."""
    creatinine = float(chart.lab_results["creatinine"].value)
    return creatinine_clearance_ml_min(chart.age_years, chart.weight_kg, creatinine, chart.sex)
