"""Tools that look facts up: medicines, pairs, classes, conditions, limits and scoring criteria."""

from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field

from healthgym.errors import NotRegistered, ToolError, nearest
from healthgym.knowledge_base import load
from healthgym.knowledge_base.pharmacology import drugs_of_class, interaction_between, load_drugs
from healthgym.knowledge_base.reading import read_yaml
from healthgym.knowledge_base.render import passages
from healthgym.toolkit import Toolkit, tool

from ..evidence.monograph import known_drug, words
from .aspects import Aspect, aspect_lines
from .finding import limits_key, pair_key, parts_of
from .questions import FOLDER

MAX_CONDITIONS = 8
_PLAIN = frozenset(
    {"a", "an", "the", "of", "in", "on", "one", "with", "and", "or", "to", "has", "have", "severe", "very"}
)


class LookupTools(Toolkit):
    """What the evidence base says of one thing, or of two side by side."""

    @tool(minutes=1)
    def drug_aspect(self, drug: str, aspect: Aspect) -> str:
        """Show one aspect of a drug's monograph in full.

        Args:
            drug: For example warfarin.
            aspect: Which part.
        """
        return self._aspect(drug, aspect)

    @tool(minutes=1)
    def compare_drugs(self, first: str, second: str, aspect: Aspect) -> str:
        """Show one aspect of two drugs, one under the other.

        Args:
            first: For example apixaban.
            second: For example dabigatran.
            aspect: Which part.
        """
        if known_drug(first) is known_drug(second):
            raise ToolError(f"first and second are both {known_drug(first).name}; name two drugs.")
        return f"{self._aspect(first, aspect)}\n{self._aspect(second, aspect)}"

    @tool(minutes=1)
    def interaction_facts(self, drug: str, other: str) -> str:
        """Say what two drugs do to each other, or that no interaction is recorded.

        Args:
            drug: For example warfarin.
            other: For example ibuprofen.
        """
        a, b = known_drug(drug), known_drug(other)
        if a is b:
            raise ToolError(f"drug and other are both {a.name}; name two drugs.")
        item = interaction_between(a.id, b.id)
        self.world.reveal("kb", f"pair.{pair_key(a.id, b.id)}", "none" if item is None else item.severity)
        if item is None:
            return f"{a.name} with {b.name}: no interaction recorded."
        names = {a.id: a.name, b.id: b.name}
        replaced = f" {names[item.replace]}" if item.replace else ""
        limit = f", at most {item.limit_daily_mg:g} mg/day" if item.limit_daily_mg is not None else ""
        apart = f", {item.separate_hours:g} hours apart" if item.separate_hours is not None else ""
        return (
            f"[interaction:{item.a}:{item.b}] {a.name} with {b.name}: {item.severity}; {item.effect} "
            f"({words([item.mechanism])}). Advice: {words([item.action])}{replaced}{limit}{apart}. Source: {item.source}."
        )

    @tool(minutes=1)
    def drug_class_members(self, drug_class: str) -> str:
        """List the drugs of a class.

        Args:
            drug_class: For example beta blocker.
        """
        name = "_".join(drug_class.lower().replace("-", " ").replace("_", " ").split()).removesuffix("s")
        members = drugs_of_class(name) or drugs_of_class(f"{name}s")
        if not members:
            classes = {item for drug in load_drugs().values() for item in drug.classes}
            raise ToolError(f"No class {drug_class[:40]!r}.{nearest(name[:40], classes)}")
        self.world.reveal("kb", f"class.{name}")
        return f"{words([name])}: {', '.join(load_drugs()[drug].name for drug in members)}"

    @tool(minutes=1)
    def condition_sheet(
        self, condition: str, section: Literal["overview", "presentation", "treatment"] = "overview"
    ) -> str:
        """Show one section of a condition's profile: name and code, findings, or first treatment.

        Args:
            condition: For example sepsis.
            section: Which part.
        """
        name = _condition_named(condition)
        suffix = "" if section == "overview" else f":{section}"
        parts = parts_of(f"condition:{name}{suffix}")
        if not parts:
            return f"{load().conditions[name].name}: nothing is written about {section}."
        for part in parts:
            self.world.reveal("kb", f"passage.{part}")
        texts = _passage_texts()
        return "\n".join(f"[{part}] {texts[part]}" for part in parts)

    @tool(minutes=1)
    def conditions_with_finding(self, finding: str) -> str:
        """List conditions with a symptom or sign, those in which it is a key finding first.

        Args:
            finding: For example neck stiffness.
        """
        asked = set(finding.lower().replace(",", " ").split()) - _PLAIN
        ranked = sorted((-score, name) for name, score in _scores(frozenset(asked)).items() if score > 0)
        if not ranked:
            raise ToolError(f"No condition has a finding like {finding[:60]!r}. Use other words, or search_evidence.")
        shown = [name for _, name in ranked[:MAX_CONDITIONS]]
        for name in shown:
            self.world.reveal("kb", f"with_finding.{name}")
        return "\n".join(f"{load().conditions[name].name} [condition:{name}:presentation]" for name in shown)

    @tool(minutes=1)
    def reference_limits(
        self, analyte: str, sex: Literal["female", "male"], age_years: Annotated[float, Field(ge=0, le=120)]
    ) -> str:
        """Show the reference limits and critical limits of a laboratory test for one person.

        Args:
            analyte: For example potassium.
            sex: Sex.
            age_years: Age in years.
        """
        entry = load().analytes[_analyte_named(analyte)]
        limits = entry.reference_range(sex, age_years)
        self.world.reveal("kb", f"limits.{limits_key(entry.id, limits.low, limits.high)}")
        critical = [
            f"critical {side} {value:g}"
            for side, value in (("below", entry.critical_low), ("above", entry.critical_high))
            if value is not None
        ]
        return (
            f"{entry.name}, {sex}, {age_years:g} years: {limits.low:g} to {limits.high:g} {entry.unit}"
            f"{'; ' + ', '.join(critical) if critical else ''}. Source: {entry.source}."
        )

    @tool(minutes=1)
    def scoring_criteria(self, instrument: Literal["news2", "heart", "revised_trauma_score"]) -> str:
        """Show what earns how many points in a score.

        Args:
            instrument: Which score.
        """
        entry = _criteria()[instrument]
        self.world.reveal("kb", f"criteria.{instrument}")
        return "\n".join([f"{entry['name']}", *entry["lines"], f"Source: {entry['source']}."])

    def _aspect(self, name: str, aspect: Aspect) -> str:
        drug = known_drug(name)
        self.world.reveal("kb", f"aspect.{drug.id}.{aspect}")
        return f"{drug.name}, {words([aspect])}: {' '.join(aspect_lines(drug, aspect))} Source: {drug.source}."


def _condition_named(text: str) -> str:
    """Return a condition's id for its id, name or alias. Raises ToolError, offering the nearest."""
    names = _condition_names()
    wanted = text.lower().replace("_", " ").strip()
    if wanted not in names:
        raise ToolError(str(NotRegistered.named("condition", text[:60], {*names.values()})))
    return names[wanted]


@lru_cache(maxsize=1)
def _condition_names() -> dict[str, str]:
    names: dict[str, str] = {}
    for condition in load().conditions.values():
        for text in (condition.id.replace("_", " "), condition.name, *condition.aliases):
            names.setdefault(text.lower(), condition.id)
    return names


def _analyte_named(text: str) -> str:
    wanted = text.lower().replace("_", " ").strip()
    for entry in load().analytes.values():
        if wanted in (entry.id.replace("_", " "), entry.name.lower()):
            return entry.id
    raise ToolError(str(NotRegistered.named("analyte", text[:60], load().analytes)))


@lru_cache(maxsize=1)
def _passage_texts() -> dict[str, str]:
    return {passage.id: passage.text for passage in passages()}


@lru_cache(maxsize=512)
def _scores(asked: frozenset[str]) -> dict[str, float]:
    """Return, by condition, how well its findings fit the words: whole fits count, key findings double."""
    kb, scores = load(), {}
    for condition in kb.conditions.values():
        best = 0.0
        for name in (*condition.symptoms, *condition.signs):
            text = kb.symptoms[name].text if name in kb.symptoms else kb.signs[name].text
            found = asked & set(text.lower().replace(",", " ").replace(".", " ").split())
            share = len(found) / max(1, len(asked))
            likely = {**condition.symptoms, **condition.signs}[name]
            if share >= 0.5 and likely >= 0.1:
                best = max(best, share * (2 if name in condition.key_findings else 1) * likely)
        scores[condition.id] = best
    return scores


@lru_cache(maxsize=1)
def _criteria() -> dict[str, dict[str, Any]]:
    return dict(read_yaml(FOLDER / "criteria.yaml"))
