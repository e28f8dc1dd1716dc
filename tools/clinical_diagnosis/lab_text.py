"""Laboratory results as a laboratory prints them."""

from healthgym.knowledge_base import load
from healthgym.knowledge_base.schema import Analyte
from healthgym.world import Chart


def flag(analyte: Analyte, value: float, sex: str, age_years: float) -> str:
    """Return '', 'low', 'high', 'critically low' or 'critically high'."""
    limits = analyte.reference_range(sex, age_years)
    if analyte.critical_low is not None and value < analyte.critical_low:
        return "critically low"
    if analyte.critical_high is not None and value > analyte.critical_high:
        return "critically high"
    return "low" if value < limits.low else "high" if value > limits.high else ""


def result_text(chart: Chart, name: str, value: float) -> str:
    """Return one result as a laboratory prints it: value, unit, limits, flag."""
    analyte = load().analytes[name]
    limits = analyte.reference_range(chart.sex, chart.age_years)
    marked = flag(analyte, value, chart.sex, chart.age_years)
    return f"{analyte.name} {value:g} {analyte.unit} ({limits.low:g}-{limits.high:g})" + (
        f" {marked}" if marked else ""
    )
