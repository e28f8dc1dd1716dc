"""What a chart says at the start about a state path that nothing was written to."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from healthgym.world.chart import Allergy, Chart, Finding, LabResult, Medication

_NAMED = {"findings": "id", "medications": "drug", "allergies": "substance"}
"""Lists of a chart whose entries are reached by name, and the field that names them."""


def starting_value(charts: Mapping[str, Chart], path: str) -> Any:
    """Return the value at a path such as "P1.weight_kg", named as facts are named; None where the chart has none.

    An analyte stands for its value ("P1.lab_results.potassium"), a finding for its presence ("P1.findings.fever"), a
    medicine for its dose in mg ("P1.medications.warfarin"), an allergy for True ("P1.allergies.penicillin"); vital
    signs are those at arrival ("P1.vital_signs.gcs"). Further fields follow after a dot
    ("P1.medications.warfarin.times_per_day"), and what only one domain needs after "extra".
    """
    patient = next((name for name in charts if path.startswith(f"{name}.")), None)
    if patient is None:
        return None
    chart = charts[patient]
    value: Any = chart
    for name in path[len(patient) + 1 :].split("."):
        if value is chart and name == "vital_signs":
            value = chart.vital_signs_at(0.0)
        elif value is chart and name in _NAMED:
            value = {getattr(entry, _NAMED[name]): entry for entry in getattr(chart, name)}
        elif isinstance(value, Mapping):
            value = value.get(name)
        elif is_dataclass(value) and name in {field.name for field in fields(value)}:
            value = getattr(value, name)
        else:
            return None
    return _plain(value)


def _plain(value: Any) -> Any:
    match value:
        case LabResult():
            return value.value
        case Finding():
            return value.present
        case Medication():
            return value.dose_mg
        case Allergy():
            return True
    return value
