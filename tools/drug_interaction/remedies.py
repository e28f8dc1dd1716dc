"""What puts a problem right: the gold of the review, the end state of the chart and the oracle's calls, from one fact."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from healthgym.knowledge_base.pharmacology import Interaction, load_drugs
from healthgym.tasks import AnswerField, Call, Evidence
from healthgym.world import Chart

from .knowledge import hours_apart, parameters_to_follow, replacements, share_to_keep
from .regimen import at_start

FOLLOW_DAYS = 7
"""Days between checks in the oracle's monitoring plan; any interval counts."""


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """One change and how it is judged. `drug` is the medicine changed; `other` its partner when doses are separated."""

    action: str
    drug: str = ""
    other: str = ""
    choices: tuple[str, ...] = ()
    """Right replacements, the oracle's first."""
    limit_daily_mg: float | None = None
    before_daily_mg: float = 0.0
    share: float = 0.5
    """What stays of the dose where no limit is named."""
    parameters: tuple[str, ...] = ()
    hours: float = 0.0
    either: tuple[str, ...] = ()
    """Duplicates, any one of which may be stopped."""
    taper: bool = False

    @property
    def ceiling_mg(self) -> float:
        """The daily dose in mg that a reduction must come down to."""
        return self.limit_daily_mg if self.limit_daily_mg is not None else self.share * self.before_daily_mg

    def answer(self) -> dict[str, AnswerField]:
        """Return the gold of the fields that this remedy decides."""
        fields = {"action": AnswerField(gold=self.action, weight=2.0)}
        if self.action == "substitute":
            fields["alternative"] = AnswerField(gold=self.choices[0], accept=self.choices[1:])
        if self.limit_daily_mg is not None:
            fields["max_daily_dose_mg"] = AnswerField(
                gold=self.limit_daily_mg, compare="range", tolerance=0.01 * self.limit_daily_mg, unit="mg"
            )
        return fields

    def submitted(self) -> dict[str, Any]:
        """Return the oracle's arguments of the same fields."""
        return {name: field.gold for name, field in self.answer().items()}

    def end_state(self, patient_id: str) -> dict[str, Any]:
        """Return what must be true on the chart."""
        if self.either:
            return {f"{patient_id}.duplications": 0}
        if self.action == "stop":
            return {f"{patient_id}.regimen.{self.drug}": "stopped"}
        if self.action == "substitute":
            return {f"{patient_id}.replaced.{self.drug}": {"in": list(self.choices)}}
        if self.action == "reduce_dose":
            top = self.ceiling_mg
            return {f"{patient_id}.daily_mg.{self.drug}": {"le": round(1.02 * top, 4), "ge": 0.2 * top}}
        if self.action == "monitor":
            return {f"{patient_id}.monitoring.{name}": {"ge": 1} for name in self.parameters}
        if self.action == "separate_doses":
            return {f"{patient_id}.separated.{'+'.join(sorted((self.drug, self.other)))}": {"ge": self.hours}}
        return {}

    def calls(self, patient_id: str) -> tuple[Call, ...]:
        """Return the oracle's changes."""
        if self.action == "stop":
            return (Call("stop_drug", patient_id=patient_id, drug=self.drug, taper=self.taper),)
        if self.action == "substitute":
            return (Call("substitute_drug", patient_id=patient_id, drug=self.drug, new_drug=self.choices[0]),)
        if self.action == "reduce_dose":
            dose = round(self.ceiling_mg, 4)
            return (Call("change_dose", patient_id=patient_id, drug=self.drug, dose_mg=dose, times_per_day=1),)
        if self.action == "monitor":
            return tuple(
                Call("add_monitoring", patient_id=patient_id, parameter=name, every_days=FOLLOW_DAYS)
                for name in self.parameters
            )
        if self.action == "separate_doses":
            return (
                Call(
                    "separate_doses",
                    patient_id=patient_id,
                    drug_a=self.drug,
                    drug_b=self.other,
                    hours=max(4.0, self.hours),
                ),
            )
        return ()

    def look(self, patient_id: str) -> tuple[Call, ...]:
        """Return what the oracle looks up to choose this remedy."""
        if self.action != "substitute":
            return ()
        return (
            Call("find_alternatives", drug=self.drug),
            Call("allergy_check", patient_id=patient_id, drug=self.choices[0]),
            Call("check_contraindications", patient_id=patient_id, drug=self.choices[0]),
        )

    def evidence(self, patient_id: str) -> tuple[Evidence, ...]:
        """Return what must have been seen to choose this remedy."""
        if self.action != "substitute":
            return ()
        options = tuple(
            f"{patient_id}.{kind}.{new}" for new in self.choices for kind in ("allergy_check", "contraindication")
        )
        return (
            Evidence(any_of=(f"kb.alternatives.{self.drug}", f"kb.drug.{self.drug}"), label="alternatives"),
            Evidence(any_of=options, label="whether the replacement suits the patient"),
        )


def stop_or_substitute(
    drug: str, chart: Chart, *, limit_daily_mg: float | None = None, fits: Callable[[str], bool] = lambda new: True
) -> Remedy:
    """Return the substitution of a drug by what is safe in this patient, or its stop when nothing is.

    Args:
        drug: Drug that must go.
        chart: The patient.
        limit_daily_mg: 0 where the review must state that none of it is allowed.
        fits: Further condition on a replacement.
    """
    taken = at_start(chart)
    choices = tuple(new for new in replacements(drug, chart, taken, taken[drug].indication) if fits(new))
    if choices:
        return Remedy(action="substitute", drug=drug, choices=choices, limit_daily_mg=limit_daily_mg)
    return Remedy(action="stop", drug=drug, limit_daily_mg=limit_daily_mg, taper=bool(load_drugs()[drug].abrupt_stop))


def remedy_of(interaction: Interaction, chart: Chart) -> Remedy | None:
    """Return what the interaction's advice means in this patient, or None when the chart offers no way to follow it."""
    taken, drug = at_start(chart), interaction.replace
    if interaction.action == "monitor":
        parameters = parameters_to_follow(interaction)
        return Remedy(action="monitor", parameters=parameters) if parameters else None
    if interaction.action == "separate_hours":
        return Remedy(action="separate_doses", drug=interaction.a, other=interaction.b, hours=hours_apart(interaction))
    if drug not in taken:
        return None
    if interaction.action == "reduce_dose":
        before, limit = taken[drug].daily_mg, interaction.limit_daily_mg
        if limit is not None and before <= limit:
            return None
        share = share_to_keep(interaction)
        return Remedy(action="reduce_dose", drug=drug, limit_daily_mg=limit, before_daily_mg=before, share=share)
    taper = bool(load_drugs()[drug].abrupt_stop) and interaction.severity != "contraindicated"
    if interaction.action == "avoid" or not interaction.alternative:
        return Remedy(action="stop", drug=drug, taper=taper)
    choices = replacements(drug, chart, taken, taken[drug].indication, interaction.alternative)
    return Remedy(action="substitute", drug=drug, choices=choices) if choices else None
