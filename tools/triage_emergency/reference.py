"""Reference tools of the triage desk: what a condition needs, what a finding suggests, which toxidrome fits."""

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base import load
from healthgym.knowledge_base.data import read_data
from healthgym.knowledge_base.normal import normal_vital_signs
from healthgym.knowledge_base.schema import Condition, SeverityProfile
from healthgym.toolkit import Toolkit, tool

FOLDER = Path(__file__).parent
TYPICAL_ADULT = normal_vital_signs(40)
TYPICAL_SPO2 = 98


@lru_cache(maxsize=4)
def table(name: str) -> dict[str, dict[str, Any]]:
    """Return a data file of this folder as rows by id."""
    rows = read_data(FOLDER / f"{name}.yaml")
    return {row["id"]: row for row in rows}


def known_condition(name: str) -> Condition:
    """Return a condition by id, name or alias. Raises ToolError, offering the nearest, when there is none."""
    wanted = name.strip().lower().replace("-", " ").replace("_", " ")
    conditions = load().conditions
    for condition in conditions.values():
        spellings = (condition.id, condition.name, *condition.aliases)
        if wanted in (spelling.lower().replace("_", " ") for spelling in spellings):
            return condition
    raise ToolError(f"No condition {name[:60]!r}.{nearest(name[:60].lower().replace(' ', '_'), conditions)}")


def _plan(name: str, level: SeverityProfile) -> str:
    triage, shift = level.triage, level.vitals
    parts = [
        f"typical HR {TYPICAL_ADULT.heart_rate_per_min + shift.heart_rate_per_min[0]:.0f}, "
        f"RR {TYPICAL_ADULT.respiratory_rate_per_min + shift.respiratory_rate_per_min[0]:.0f}, "
        f"SBP {TYPICAL_ADULT.systolic_bp_mmhg + shift.systolic_bp_mmhg[0]:.0f}, "
        f"SpO2 {TYPICAL_SPO2 + shift.spo2_percent[0]:.0f}, GCS {shift.gcs}"
    ]
    if triage.immediate_interventions:
        parts.append("IMMEDIATE " + " + ".join(triage.immediate_interventions))
    if triage.high_risk:
        parts.append(f"HIGH RISK {triage.high_risk}")
    parts.append(f"resources {', '.join(triage.resources) or 'none'}")
    parts.append(f"protocol {triage.protocol}; disposition {level.disposition}")
    return f"{name}: {'; '.join(parts)}"


Pupils = Literal["small", "normal", "large", "unknown"]
Pace = Literal["slow", "normal", "fast", "unknown"]


class ReferenceTools(Toolkit):
    """Reading what the department has written down; nothing here looks at a patient."""

    @tool()
    def triage_guide(self, condition: str) -> str:
        """Look up what a suspected condition needs at the desk, by severity (typical adult values given).

        Args:
            condition: Condition you suspect, for example pneumonia.
        """
        found = known_condition(condition)
        return "\n".join(_plan(f"{found.id} {name}", level) for name, level in found.severities.items())

    @tool()
    def standing_order(self, condition: str) -> str:
        """Read which first drug a nurse may give for a condition, and the substitutes in order.

        Args:
            condition: Condition you suspect, or "pain" for the pain ladder.
        """
        if condition.strip().lower() == "pain":
            steps = sorted(table("analgesia").values(), key=lambda row: -row["from_pain"])
            return "; ".join(f"pain {row['from_pain']}+: {', else '.join(row['drugs']) or 'no drug'}" for row in steps)
        row = table("first_drugs").get(known_condition(condition).id)
        if row is None:
            return "no standing order"
        return ", else ".join(row["drugs"]) or "no drug due"

    @tool()
    def differential(self, finding: str) -> str:
        """List conditions for which a symptom or sign is a key finding.

        Args:
            finding: Symptom or sign in a few words, for example neck stiffness.
        """
        kb = load()
        words = set(finding.lower().replace("_", " ").split())
        texts = {name: set(f"{name.replace('_', ' ')} {s.text}".lower().split()) for name, s in kb.symptoms.items()}
        texts |= {name: set(f"{name.replace('_', ' ')} {s.text}".lower().split()) for name, s in kb.signs.items()}
        ranked = sorted(
            ((len(words & text), name) for name, text in texts.items()), key=lambda pair: (-pair[0], pair[1])
        )
        best = [name for score, name in ranked if score and score == ranked[0][0]]
        if not best:
            raise ToolError(
                f"No finding matches {finding[:60]!r}. Use plain words such as 'chest pain' or 'stiff neck'."
            )
        lines = []
        for name in best[:3]:
            fits = [c.id for c in kb.conditions.values() if name in c.key_findings or name in c.red_flags]
            lines.append(f"{name}: {', '.join(fits) or 'no key finding of any condition'}")
        return "\n".join(lines)

    @tool()
    def toxidrome_match(
        self,
        pupils: Pupils = "unknown",
        skin: Literal["dry", "normal", "wet", "unknown"] = "unknown",
        breathing: Pace = "unknown",
        heart_rate: Pace = "unknown",
        mental_state: Literal["drowsy", "agitated", "unknown"] = "unknown",
        temperature: Literal["normal", "high", "unknown"] = "unknown",
    ) -> str:
        """Match bedside signs of poisoning with toxidromes; names the antidote.

        Args:
            pupils: Size of the pupils.
            skin: Moisture of the skin.
            breathing: Respiratory rate.
            heart_rate: Heart rate.
            mental_state: Level of arousal.
            temperature: Body temperature.
        """
        seen = {
            "pupils": pupils,
            "skin": skin,
            "breathing": breathing,
            "heart_rate": heart_rate,
            "mental_state": mental_state,
            "temperature": temperature,
        }
        seen = {name: value for name, value in seen.items() if value != "unknown"}
        if len(seen) < 2:
            raise ToolError("toxidrome_match needs at least two signs, for example pupils and breathing.")
        rows = table("toxidromes").values()
        scored = sorted(
            (-sum(row["signs"][n] == v for n, v in seen.items()), row["id"], row["antidote"]) for row in rows
        )
        return "; ".join(f"{name} {-score}/{len(seen)} ({antidote})" for score, name, antidote in scored[:2])
