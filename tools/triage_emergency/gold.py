"""The right answer for a chart: ESI level, disposition and protocol from the condition profile and the vital signs."""

from dataclasses import dataclass
from typing import get_args

from healthgym.knowledge_base import load
from healthgym.knowledge_base.schema import Disposition, SeverityProfile
from healthgym.world import Chart

from ..scores.emergency_severity import count_resources, esi_level

URGENCY: tuple[str, ...] = get_args(Disposition)
"""Dispositions, most urgent first."""


@dataclass(frozen=True)
class TriageGold:
    """What a correct triage of one patient says."""

    level: int
    disposition: str
    protocol: str


def severity_profile(chart: Chart, minutes: float = 0.0) -> SeverityProfile:
    """Return the facts about what this patient has at `minutes`.

    A chart whose illness turns into another one says so in `extra["later"]`: minute, condition, severity.
    """
    later = chart.extra.get("later")
    if later is not None and minutes >= later["minute"]:
        return load().condition(later["condition"]).severities[later["severity"]]
    return load().condition(chart.condition).severities[chart.severity]


def triage_gold(chart: Chart, minutes: float = 0.0) -> TriageGold:
    """Return the gold at `minutes` of simulated time.

    Level 1 always goes to resuscitation, and level 2 at least to an acute bed: rules of this department, stated in its
    guideline. Otherwise the profile's disposition stands.
    """
    profile = severity_profile(chart, minutes)
    triage = profile.triage
    level = esi_level(
        age_years=chart.age_years,
        vital_signs=chart.vital_signs_at(minutes),
        needs_immediate_intervention=bool(triage.immediate_interventions),
        is_high_risk=bool(triage.high_risk),
        resources=count_resources(triage.resources),
    )
    least = {1: "resuscitation", 2: "acute_bed"}.get(level, "discharge")
    disposition = min(profile.disposition, least, key=URGENCY.index)
    return TriageGold(level, disposition, triage.protocol)
