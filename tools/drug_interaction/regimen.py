"""What a patient takes now: the chart's medicines with this episode's stops, dose changes and starts applied."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from healthgym.errors import ToolError, nearest
from healthgym.world import Chart, Medication, World

OTC_FINDING = "otc_use"
"""Finding that tells of medicines and herbal products bought without a prescription."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One medicine as it stands now."""

    drug: str
    dose_mg: float
    times_per_day: float
    indication: str = ""
    as_needed: bool = False
    over_the_counter: bool = False

    @property
    def daily_mg(self) -> float:
        """Total dose a day in mg."""
        return round(self.dose_mg * self.times_per_day, 3)

    def __str__(self) -> str:
        """One line for a model: "metformin 1000 mg x2/day (2000 mg/day), for type 2 diabetes"."""
        parts = [f"{self.drug} {self.dose_mg:g} mg x{self.times_per_day:g}/day"]
        if self.times_per_day != 1:
            parts.append(f" ({self.daily_mg:g} mg/day)")
        if self.as_needed:
            parts.append(" as needed")
        if self.indication:
            parts.append(f", for {self.indication.replace('_', ' ')}")
        if self.over_the_counter:
            parts.append(" [not prescribed]")
        return "".join(parts)


def hidden_products(chart: Chart) -> tuple[Medication, ...]:
    """Return what the patient takes without prescription; only asking tells of it."""
    return tuple(Medication(**item) for item in chart.extra.get("otc", ()))


def entry(medication: Medication, over_the_counter: bool = False) -> Entry:
    """Return a chart's medicine as an Entry."""
    return Entry(
        medication.drug,
        medication.dose_mg,
        medication.times_per_day,
        medication.indication,
        medication.as_needed,
        over_the_counter,
    )


def at_start(chart: Chart) -> dict[str, Entry]:
    """Return everything taken when the episode begins, hidden products included."""
    taken = {medication.drug: entry(medication) for medication in chart.medications}
    return taken | {item.drug: entry(item, over_the_counter=True) for item in hidden_products(chart)}


def current(world: World, patient_id: str) -> dict[str, Entry]:
    """Return what the chart now says the patient takes, hidden products included once they were told."""
    chart = world.chart(patient_id)
    taken = at_start(chart)
    if not world.knows(f"{patient_id}.findings.{OTC_FINDING}"):
        taken = {drug: item for drug, item in taken.items() if not item.over_the_counter}
    for path, value in world.state.items(f"{patient_id}.regimen."):
        taken = apply_change(taken, path.rsplit(".", 1)[-1], value)
    return taken


def apply_change(taken: Mapping[str, Entry], drug: str, change: Mapping[str, float | str] | str) -> dict[str, Entry]:
    """Return the regimen after one recorded change: "stopped", or the dose the drug now has."""
    after = dict(taken)
    if isinstance(change, str):
        after.pop(drug, None)
        return after
    base = after.get(drug, Entry(drug, 0.0, 1.0))
    after[drug] = replace(base, dose_mg=float(change["dose_mg"]), times_per_day=float(change["times_per_day"]))
    return after


def taken_entry(world: World, patient_id: str, drug: str) -> Entry:
    """Return a current medicine. Raises ToolError, naming what the patient takes, when it is not on the list."""
    taken = current(world, patient_id)
    found = taken.get(drug)
    if found is None:
        raise ToolError(f"{patient_id} does not take {drug[:40]!r}.{nearest(drug[:40], taken)}")
    return found
