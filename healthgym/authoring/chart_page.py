"""A page of sampled charts, hidden truth included, by which a clinician can judge whether the patients are believable."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from healthgym.files import write_whole
from healthgym.registry import Domain
from healthgym.tasks import Suite
from healthgym.world import Chart

VITAL_SIGNS = (
    ("temperature_c", "temperature", "C"),
    ("heart_rate_per_min", "heart rate", "/min"),
    ("respiratory_rate_per_min", "breaths", "/min"),
    ("blood_pressure", "blood pressure", "mmHg"),
    ("spo2_percent", "SpO2", "%"),
    ("gcs", "GCS", ""),
    ("pain_0_10", "pain", "/10"),
    ("glucose_mg_dl", "glucose", "mg/dL"),
    ("oxygen_l_min", "oxygen", "L/min"),
)
"""Name in VitalSigns, label, unit."""


def write_chart_page(domain: Domain, path: Path, *, sample: int = 20, seed: int = 0) -> Path:
    """Write the charts of `sample` tasks, drawn with `seed` over families and splits, and return the file."""
    page = _template().render(domain=domain, shown=_shown(domain, sample, seed), seed=seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_whole(path, page)


def _template() -> Any:
    loader = PackageLoader("healthgym.authoring", "templates")
    return Environment(
        loader=loader, undefined=StrictUndefined, autoescape=select_autoescape(["html", "j2"])
    ).get_template("charts.html.j2")


def _shown(domain: Domain, sample: int, seed: int) -> list[dict[str, Any]]:
    suite = Suite([domain])
    ids = suite.ids(domain.name)
    order = np.random.default_rng(seed).permutation(len(ids))
    shown: list[dict[str, Any]] = []
    for place in order:
        case = suite.case(ids[place])
        for chart in case.charts.values():
            shown.append(_view(chart, case.task.id))
            if len(shown) == sample:
                return shown
    return shown


def _view(chart: Chart, task_id: str) -> dict[str, Any]:
    found = [finding for finding in chart.findings if finding.present]
    absent = [finding for finding in chart.findings if not finding.present]
    return {
        "chart": chart,
        "task_id": task_id,
        "vital_signs": [(minute, _vital_signs(values)) for minute, values in chart.vital_signs],
        "told": [finding for finding in found if finding.reveal == "ask"],
        "examined": [finding for finding in found if finding.reveal != "ask"],
        "absent": absent,
    }


def _vital_signs(values: Any) -> list[str]:
    named = asdict(values)
    systolic, diastolic = named["systolic_bp_mmhg"], named["diastolic_bp_mmhg"]
    named["blood_pressure"] = None if systolic is None else f"{systolic}/{diastolic if diastolic is not None else '?'}"
    return [f"{label} {named[name]} {unit}".strip() for name, label, unit in VITAL_SIGNS if named[name]]
