"""What a handover note must say for one patient, and the words of a note that says it."""

from healthgym.world import Chart

from .doses import usual
from .schema import Branch, Pathway, Twist

MAX_NOTE_WORDS = 120
NO_ALLERGY = (
    "no known allergies", "no known drug allergies", "no allergies", "NKDA", "allergies: none", "allergies none", "not allergic",
    "allergy: none", "no known allergy", "no drug allergies",
)  # fmt: skip


VITAL_UNITS = {"systolic_bp_mmhg": "mmHg", "glucose_mg_dl": "mg/dL", "respiratory_rate_per_min": "/min"}


def note_gold(
    pathway: Pathway, branch: Branch, twist: Twist | None, chart: Chart, to: str
) -> tuple[tuple[str, ...], ...]:
    """Return, for every heading, the phrases of which one must stand in the note."""
    return tuple(
        tuple(phrase for token in phrases for phrase in _phrases(token, pathway, twist, chart))
        for phrases in branch.notes[to].values()
    )


def note_unwanted(chart: Chart) -> tuple[tuple[str, ...], ...]:
    """Return what must not stand in the note: the denial of an allergy that there is."""
    return (NO_ALLERGY,) if chart.allergies else ()


def note_text(pathway: Pathway, branch: Branch, twist: Twist | None, chart: Chart, to: str) -> str:
    """Return a note that fills each heading with the first of its phrases."""
    gold = note_gold(pathway, branch, twist, chart, to)
    return "; ".join(f"{heading}: {phrases[0]}" for heading, phrases in zip(branch.notes[to], gold, strict=True)) + "."


def _phrases(token: str, pathway: Pathway, twist: Twist | None, chart: Chart) -> tuple[str, ...]:
    """Return the phrases of a token: `=allergy`, `=weight`, `=lab X`, `=told X` ... or the words."""
    if not token.startswith("="):
        return (token,)
    kind, _, item = token[1:].partition(" ")
    if kind == "allergy":
        return tuple(
            phrase.format(name=a.substance.replace("_", " "))
            for a in chart.allergies
            for phrase in ("allergic to {name}", "{name} allergy", "allergy to {name}", "allergy: {name}", "allergies: {name}",
                           "{name} anaphylaxis", "anaphylaxis to {name}", "allergies {name}", "allergy {name}")
        ) or NO_ALLERGY  # fmt: skip
    if kind == "weight":
        return _number(chart.weight_kg, "kg")
    if kind == "weeks":
        return (*_number(float(chart.pregnancy_weeks or 0), "weeks"), f"{chart.pregnancy_weeks:g}/40")
    if kind == "told":
        finding = chart.finding(item)
        value = finding.value if finding is not None else None
        return (f"{value:g} h", f"{value:g} hours", f"{value:g} hour", f"{value:g}") if isinstance(value, float) else ()
    if kind == "vital":
        return (
            f"{getattr(chart.vital_signs_at(0.0), item):g}",
            *_number(getattr(chart.vital_signs_at(0.0), item), VITAL_UNITS[item]),
        )
    if kind == "lab":
        result = chart.lab_results[item]
        return _number(float(result.value), result.unit)
    item = twist.swap.get(item, item) if twist else item
    if kind == "drug":
        name = pathway.doses[item].drug if item in pathway.doses else item
        return (name.replace("_", " "), name.replace("_", "-"), name.replace("_", "/"))
    rule = pathway.doses[item]
    return _number(usual(rule, chart.age_years, chart.weight_kg), rule.unit)


def _number(value: float, unit: str) -> tuple[str, ...]:
    return (f"{value:g} {unit}", f"{value:g}", f"{value:.1f} {unit}", f"{value:.1f}")
