"""What is prescribed on the ward now: the record's orders with what this episode changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base.pharmacology import RenalBand, cross_reactive, load_drugs, renal_dose
from healthgym.world import Chart, World

from ..evidence.monograph import known_drug as monograph_of
from ..scores.renal import creatinine_clearance_ml_min, egfr_ml_min_173
from .admission import dose_text
from .record import need, now, select, values


@dataclass(frozen=True, slots=True)
class Order:
    """One active order."""

    drug: str
    dose_mg: float
    times_per_day: float
    route: str = ""

    @property
    def daily_mg(self) -> float:
        """Dose of a day in mg."""
        return round(self.dose_mg * self.times_per_day, 3)

    def __str__(self) -> str:
        return dose_text(self.drug, self.dose_mg, self.times_per_day, self.route)


def known_drug(name: str) -> str:
    """Return a drug's id for any of its names. Raises ToolError, offering the nearest, for an unknown one."""
    return monograph_of(name).id


def at_start(chart: Chart) -> dict[str, Order]:
    """Return the active orders of the record."""
    found = select(chart, resource="MedicationRequest", until=now(chart))
    return {entry["detail"]["drug"]: Order(**entry["detail"]) for entry in found if entry["status"] == "final"}


def home_list(chart: Chart) -> dict[str, Order]:
    """Return what the patient takes at home."""
    return {e["detail"]["drug"]: Order(**e["detail"]) for e in select(chart, resource="MedicationStatement")}


def active(world: World, patient_id: str) -> dict[str, Order]:
    """Return the orders as they stand now."""
    orders = at_start(world.chart(patient_id))
    for path, value in world.state.items():
        if path.startswith(f"{patient_id}.order."):
            orders = changed(orders, path.rsplit(".", 1)[1], value)
    return orders


def changed(orders: Mapping[str, Order], drug: str, value: Mapping[str, Any] | str) -> dict[str, Order]:
    """Return the orders after one change: "stopped", or a dose."""
    after = {name: order for name, order in orders.items() if name != drug}
    if not isinstance(value, str):
        after[drug] = Order(drug, value["dose_mg"], value["times_per_day"], value.get("route", ""))
    return after


def need_active(world: World, patient_id: str, drug: str) -> Order:
    """Return an active order. Raises ToolError, naming what is active, when there is none of the drug."""
    orders = active(world, patient_id)
    if drug not in orders:
        raise ToolError(f"{drug} is not ordered for {patient_id}.{nearest(drug, orders)}")
    return orders[drug]


def allergy_reason(drug: str, chart: Chart) -> str | None:
    """Return why a recorded allergy forbids the drug, or None."""
    reasons = (cross_reactive(allergy.substance, drug) for allergy in chart.allergies)
    return next((reason for reason in reasons if reason), None)


def latest_creatinine(chart: Chart) -> float:
    """Return the last valid creatinine in mg/dL before the episode begins."""
    return float(need(values(chart, "creatinine", until=now(chart)), "creatinine")[-1]["value"])


def uses_egfr(drug: str) -> bool:
    """Say whether the drug's renal limits are eGFR values rather than clearances."""
    monograph = load_drugs()[drug]
    return "egfr" in " ".join((monograph.source, *(band.note for band in monograph.renal))).lower()


def clearance(chart: Chart, creatinine_mg_dl: float | None = None) -> float:
    """Return the Cockcroft-Gault clearance in mL/min from the last creatinine, or from another."""
    creatinine = latest_creatinine(chart) if creatinine_mg_dl is None else creatinine_mg_dl
    return creatinine_clearance_ml_min(chart.age_years, chart.weight_kg, creatinine, chart.sex)


def renal_band(drug: str, chart: Chart) -> RenalBand | None:
    """Return the renal limit that holds for this patient now, or None."""
    if not load_drugs()[drug].renal:
        return None
    if uses_egfr(drug):
        return renal_dose(drug, egfr_ml_min_173(chart.age_years, latest_creatinine(chart), chart.sex))
    return renal_dose(drug, clearance(chart))
