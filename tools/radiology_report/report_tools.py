"""Tools of reporting: template, checklist, and the call of a critical result."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from healthgym.content import read_yaml
from healthgym.errors import ToolError, nearest
from healthgym.toolkit import tool

from .pixel_tools import PixelTools

Change = Literal["new", "larger", "unchanged", "smaller", "resolved"]
Recipient = Literal["referring_team", "stroke_team", "neurosurgery", "surgery"]


class Entry(BaseModel):
    """One finding of a report; leave out what does not apply."""

    finding: Annotated[str, Field(description="As the template names it.")]
    present: bool
    location: Annotated[str | None, Field(description="As the template names it.")] = None
    size_mm: Annotated[float | None, Field(gt=0, le=400, description="As the template asks.")] = None
    change: Annotated[Change | None, Field(description="Against the prior.")] = None
    descriptors: Annotated[list[str] | None, Field(max_length=8, description="As the template names them.")] = None


@lru_cache(maxsize=1)
def templates() -> Mapping[str, Mapping[str, Any]]:
    """Return the report templates by name."""
    return read_yaml(Path(__file__).parent / "templates.yaml")


def check_entries(template: Mapping[str, Any], findings: Sequence[Entry], category: str, follow_up: str) -> None:
    """Raise ToolError where a report uses a word that its template does not know."""
    for entry in findings:
        _known("finding", entry.finding, template["findings"])
        if entry.location is not None:
            _known("location", entry.location, template["locations"])
        for word in entry.descriptors or ():
            _known("descriptor", word, template["descriptors"])
    if category:
        _known("category", category, template["categories"])
    if follow_up:
        _known("follow_up", follow_up, template["follow_up"])


def _known(what: str, word: str, allowed: Sequence[str]) -> None:
    if word.strip().lower() not in {item.lower() for item in allowed}:
        raise ToolError(
            f"No {what} {word[:40]!r} in this template.{nearest(word[:40], allowed) if allowed else ' It has none.'}"
        )


class ReportTools(PixelTools):
    """Template, checklist and critical result."""

    def _template(self, patient_id: str) -> Mapping[str, Any]:
        return templates()[self.world.chart(patient_id).extra["study"]["template"]]

    @tool()
    def report_template(self, patient_id: str) -> str:
        """Show the words and rules of the report for this study.

        Args:
            patient_id: For example P1.
        """
        template = self._template(patient_id)
        self.world.reveal(patient_id, "template", True)
        rows = [
            f"{name}: {', '.join(template[name]) or 'none'}"
            for name in ("findings", "locations", "descriptors", "categories", "follow_up")
        ]
        return "\n".join([*rows, *(f"- {rule}" for rule in template["rules"])])

    @tool()
    def reading_checklist(self, patient_id: str) -> str:
        """Show what to look at in this kind of study, and which negatives to state.

        Args:
            patient_id: For example P1.
        """
        template = self._template(patient_id)
        self.world.reveal(patient_id, "checklist", True)
        negatives = ", ".join(template["always_state"]) or "none"
        return "\n".join([*(f"[ ] {item}" for item in template["checklist"]), f"State also when absent: {negatives}."])

    @tool()
    def check_draft(
        self,
        patient_id: str,
        findings: Annotated[list[Entry], Field(max_length=20)],
        category: str = "",
        follow_up: str = "",
    ) -> str:
        """Check a draft for words, missing negatives and missing parts; says nothing of whether it is right.

        Args:
            patient_id: For example P1.
            findings: As for submit_report.
            category: As for submit_report.
            follow_up: As for submit_report.
        """
        template = self._template(patient_id)
        check_entries(template, findings, category, follow_up)
        said = {entry.finding for entry in findings}
        notes = [f"{name} is not stated." for name in template["always_state"] if name not in said]
        notes += [
            f"{entry.finding}: no location."
            for entry in findings
            if entry.present and entry.location is None and template["locations"]
        ]
        notes += [
            name.replace("_", " ") + " is empty."
            for name, given, known in (
                ("category", category, template["categories"]),
                ("follow_up", follow_up, template["follow_up"]),
            )
            if known and not given
        ]
        if self.world.chart(patient_id).extra["priors"] and any(e.present and e.change is None for e in findings):
            notes.append("There is a prior; state the change where it can be told.")
        return "\n".join(notes) or "Complete by form."

    @tool(effect="write", minutes=3)
    def call_critical_result(
        self, patient_id: str, finding: str, recipient: Recipient, message: Annotated[str, Field(max_length=600)] = ""
    ) -> str:
        """Phone a critical result to those who must act; have it read back.

        Args:
            patient_id: For example P1.
            finding: The critical finding as the template names it, for example pneumothorax.
            recipient: Who is called.
            message: What you tell, in a sentence.
        """
        _known("finding", finding, self._template(patient_id)["findings"])
        self.world.state.set(f"{patient_id}.critical_call", finding.strip().lower())
        self.world.state.set(f"{patient_id}.critical_recipient", recipient)
        return f"{recipient.replace('_', ' ').capitalize()} reached at minute {self.world.minutes:g}; result read back."
