"""Orders that return results after simulated time."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Order:
    """A test that was ordered and what it will return.

    `facts` are (key, value, unit) triples that become known when the result is read.
    """

    id: str
    patient_id: str
    item: str
    """Analyte or study id."""
    ordered_at: float
    due_at: float
    """Simulated minutes since the start of the episode."""
    text: str
    facts: tuple[tuple[str, float | str | bool | None, str], ...] = ()
