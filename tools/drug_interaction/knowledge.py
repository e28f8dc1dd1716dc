"""The questions this domain asks of the knowledge base about one drug in one patient."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from healthgym.errors import ToolError
from healthgym.knowledge_base.pharmacology import (
    Drug,
    Interaction,
    RenalBand,
    cross_reactive,
    interaction_between,
    load_drugs,
    renal_dose,
)
from healthgym.knowledge_base.reading import read_yaml
from healthgym.world import Chart

from ..evidence.monograph import known_drug as monograph_of
from ..scores.renal import creatinine_clearance_ml_min, egfr_ml_min_173

FOLDER = Path(__file__).parent
OLD_AGE_YEARS = 65
"""From this age on the Beers Criteria apply."""
_KINDRED = ({"pain", "moderate_pain", "osteoarthritis"}, {"gout", "inflammation"})
"""Indications that one drug may serve for another."""


def known_drug(name: str) -> str:
    """Return a drug's id for any of its names. Raises ToolError, offering the nearest, for an unknown one."""
    return monograph_of(name).id


def starting_dose(drug: str) -> tuple[float, float]:
    """Return a usual dose in mg and times a day. Raises ToolError for a drug that is not dosed in mg."""
    dose = load_drugs()[drug].usual_dose
    if dose is None:
        raise ToolError(f"{drug} has no standard dose in mg here; name another drug.")
    return dose.dose_mg, dose.times_per_day


def contraindications(drug: str, chart: Chart) -> tuple[str, ...]:
    """Return why this patient must not have the drug: conditions, pregnancy, breastfeeding; empty when nothing is known."""
    monograph = load_drugs()[drug]
    reasons = [
        f"{condition.replace('_', ' ')}: {reason}"
        for condition, reason in monograph.contraindications.items()
        if condition in chart.comorbidities
    ]
    if (
        chart.pregnancy_weeks is not None
        and monograph.pregnancy is not None
        and monograph.avoid_in_trimester(trimester(chart.pregnancy_weeks))
    ):
        reasons.append(f"pregnancy: {monograph.pregnancy.reason}")
    if chart.lactating and monograph.lactation is not None and monograph.lactation.level == "avoid":
        reasons.append(f"breastfeeding: {monograph.lactation.reason}")
    return tuple(reasons)


def trimester(pregnancy_weeks: float) -> int:
    """Return 1 (to 13 weeks), 2 (to 27 weeks) or 3. Source: ACOG, completed weeks of gestation."""
    return 1 if pregnancy_weeks < 14 else 2 if pregnancy_weeks < 28 else 3


def allergy_reason(drug: str, chart: Chart) -> str | None:
    """Return why a recorded allergy forbids the drug, or None."""
    reasons = (cross_reactive(allergy.substance, drug) for allergy in chart.allergies)
    return next((reason for reason in reasons if reason), None)


def uses_egfr(drug: Drug) -> bool:
    """Say whether the drug's renal limits are eGFR values rather than creatinine clearances."""
    return "egfr" in " ".join((drug.source, *(band.note for band in drug.renal))).lower()


def kidney_function(drug: str, chart: Chart, creatinine_mg_dl: float | None = None) -> float:
    """Return the figure that the drug's renal limits refer to: mL/min, or mL/min/1.73 m2 for eGFR limits.

    Args:
        drug: Drug id.
        chart: The patient; the true creatinine is used unless another is given.
        creatinine_mg_dl: Another creatinine, for example an old one.
    """
    creatinine = float(chart.lab_results["creatinine"].value) if creatinine_mg_dl is None else creatinine_mg_dl
    if uses_egfr(load_drugs()[drug]):
        return egfr_ml_min_173(chart.age_years, creatinine, chart.sex)
    return creatinine_clearance_ml_min(chart.age_years, chart.weight_kg, creatinine, chart.sex)


def renal_band(drug: str, chart: Chart) -> RenalBand | None:
    """Return the renal limit that holds for this patient now, or None."""
    return renal_dose(drug, kidney_function(drug, chart))


def is_unfit_in_old_age(drug: str) -> bool:
    """Say whether the Beers Criteria advise against the drug without conditions."""
    return load_drugs()[drug].beers_advice == "avoid"


def serves(drug: str, new_drug: str, indication: str) -> bool:
    """Say whether `new_drug` treats what `drug` is given for."""
    wanted = {indication} if indication else set(load_drugs()[drug].indications)
    for group in _KINDRED:
        wanted |= group if wanted & group else set()
    return bool(wanted & set(load_drugs()[new_drug].indications))


def is_safe(drug: str, chart: Chart, others: Iterable[str]) -> bool:
    """Say whether this patient may be started on the drug beside `others`, at its usual dose."""
    monograph = load_drugs()[drug]
    if monograph.usual_dose is None or contraindications(drug, chart) or allergy_reason(drug, chart):
        return False
    if chart.age_years >= OLD_AGE_YEARS and is_unfit_in_old_age(drug):
        return False
    if any(is_serious(interaction_between(drug, other)) for other in others):
        return False
    band = renal_band(drug, chart)
    daily_mg = monograph.usual_dose.dose_mg * monograph.usual_dose.times_per_day
    return band is None or (not band.avoid and (band.max_daily_mg is None or daily_mg <= band.max_daily_mg))


def is_serious(interaction: Interaction | None) -> bool:
    """Say whether an interaction is major or contraindicated."""
    return interaction is not None and interaction.severity in ("major", "contraindicated")


def replacements(drug: str, chart: Chart, others: Iterable[str], indication: str, named: str = "") -> tuple[str, ...]:
    """Return what may replace a drug in this patient: listed, for the same purpose, and safe; `named` comes first.

    Args:
        drug: Drug to replace.
        chart: The patient.
        others: What the patient goes on taking.
        indication: What the drug is given for.
        named: The alternative that an interaction names, if any.
    """
    remaining = [other for other in others if other != drug]
    listed = dict.fromkeys((*([named] if named else []), *load_drugs()[drug].alternatives))
    return tuple(
        new
        for new in listed
        if new not in remaining and serves(drug, new, indication) and is_safe(new, chart, remaining)
    )


@lru_cache(maxsize=8)
def _table(name: str) -> tuple[dict[str, Any], ...]:
    return tuple(read_yaml(FOLDER / name))


def parameters_to_follow(interaction: Interaction) -> tuple[str, ...]:
    """Return what to monitor when two drugs are kept together; empty when nothing is stated."""
    if interaction.monitor:
        return interaction.monitor
    names = {name for drug in interaction.pair for name in (drug, *load_drugs()[drug].classes)}
    for line in _table("follow_up.yaml"):
        if (
            line.get("drug", next(iter(names))) in names
            and line.get("mechanism", interaction.mechanism) == interaction.mechanism
        ):
            return (line["parameter"],)
    return ()


@lru_cache(maxsize=1)
def held_out() -> frozenset[str]:
    """Return the drugs that only the split test_ood meets."""
    table = read_yaml(FOLDER / "held_out.yaml")
    return frozenset(
        drug.id
        for drug in load_drugs().values()
        if drug.id in table["drugs"] or set(drug.classes) & set(table["classes"])
    )


def share_to_keep(interaction: Interaction) -> float:
    """Return what share of a dose stays when the interaction asks for less and names no limit."""
    for line in _table("reductions.yaml"):
        fits = line.get("mechanism", interaction.mechanism) == interaction.mechanism
        if fits and line.get("drug", interaction.replace) == interaction.replace:
            return float(line["share"])
    return 0.5


@lru_cache(maxsize=1)
def _illnesses() -> dict[str, dict[str, Any]]:
    return {line["id"]: line for line in _table("illnesses.yaml")}


def ages_of(illnesses: Iterable[str]) -> tuple[int, int]:
    """Return the youngest and oldest age at which a patient may have all these illnesses."""
    known = [_illnesses()[name] for name in illnesses if name in _illnesses()]
    return max((line.get("from_years", 18) for line in known), default=18), min(
        (line.get("to_years", 95) for line in known), default=95
    )


def sexes_of(illnesses: Iterable[str]) -> frozenset[str]:
    """Return the sexes that may have all these illnesses."""
    named = [_illnesses()[name].get("sex") for name in illnesses if name in _illnesses()]
    return frozenset({"female", "male"}.intersection(*({sex} for sex in named if sex)))


def hours_apart(interaction: Interaction) -> float:
    """Return how far apart two medicines must be given; 2 hours where the source names no figure."""
    return interaction.separate_hours or 2.0


def pair_key(a: str, b: str) -> str:
    """Return the fact key of a pair, the same in either order."""
    return "+".join(sorted((a, b)))
