"""Tools that look up conditions: what fits, what tells apart, what comes first. Nothing here looks at a patient."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.knowledge_base import load
from healthgym.knowledge_base.schema import Condition
from healthgym.toolkit import Toolkit, tool

from .chart_tools import words
from .tables import fold, known_condition, row_of, table, word_list

MAX_SUGGESTIONS = 8
COMMON = frozenset({"of", "the", "in", "and", "with", "a", "on", "to", "at"})


def finding_text(name: str) -> str:
    """Return the clinical wording of a symptom or sign."""
    kb = load()
    return kb.symptoms[name].text if name in kb.symptoms else kb.signs[name].text.rstrip(".").lower()


@lru_cache(maxsize=1)
def _finding_words() -> Mapping[str, frozenset[str]]:
    """Return the words of every symptom's and sign's id and text."""
    kb = load()
    texts = {name: item.text for known in (kb.symptoms, kb.signs) for name, item in known.items()}
    return {name: frozenset(word_list(f"{name} {text}")) - COMMON for name, text in texts.items()}


@lru_cache(maxsize=512)
def matching_findings(text: str) -> tuple[str, ...]:
    """Return the symptom and sign ids whose words fit best; none when no word does."""
    wanted = frozenset(word_list(text)) - COMMON
    scores = {name: len(wanted & known) for name, known in _finding_words().items()}
    best = max(scores.values())
    return tuple(name for name, score in scores.items() if score == best) if best else ()


def _usual(pairs: dict[str, float]) -> str:
    return "; ".join(f"{finding_text(name)} {share:.0%}" for name, share in pairs.items() if share >= 0.1)


def _fit(condition: Condition, groups: Iterable[tuple[str, ...]]) -> float:
    """Return the sum over findings of how often the condition shows them, at its best wording."""
    symptoms, signs = condition.symptoms, condition.signs
    return sum(max(symptoms.get(name, signs.get(name, 0.0)) for name in names) for names in groups)


class ReferenceTools(Toolkit):
    """The department's books."""

    @tool()
    def disease_profile(self, condition: str) -> str:
        """Read a condition's usual symptoms, signs, laboratory values and studies.

        Args:
            condition: For example pneumonia.
        """
        found, kb = known_condition(condition), load()
        self.world.reveal("kb", f"profile.{found.id}")
        lines = [f"{found.name}: key {'; '.join(map(finding_text, found.key_findings))}"]
        lines.append(f"Symptoms: {_usual(found.symptoms)}")
        lines.append(f"Signs: {_usual(found.signs)}")
        for name, level in found.severities.items():
            labs = ", ".join(f"{words(item)} about {mean:g}" for item, (mean, _) in level.labs.items())
            studies = " ".join(f"{kb.studies[study].name}: {report}" for study, report in level.studies.items())
            lines.append(f"{name}: {labs or 'no typical laboratory change'}. {studies}".strip())
        return "\n".join(lines)

    @tool()
    def suggest_diagnoses(self, findings: Annotated[list[str], Field(min_length=1, max_length=6)]) -> str:
        """List conditions for which the findings are typical, best fit first.

        Args:
            findings: Symptoms or signs in plain words, for example neck stiffness.
        """
        groups = {text: matching_findings(text) for text in findings}
        unknown = [text for text, names in groups.items() if not names]
        if unknown:
            raise ToolError(f"No finding matches {unknown[0][:60]!r}. Use plain words such as 'chest pain'.")

        fits = {condition.id: _fit(condition, groups.values()) for condition in load().conditions.values()}
        ranked = sorted((name for name in fits if fits[name] > 0), key=lambda name: (-fits[name], name))
        best = [f"{name} {fits[name]:.1f}" for name in ranked[:MAX_SUGGESTIONS]]
        return ", ".join(best) or "No condition here is typical for these."

    @tool()
    def compare_diagnoses(self, first: str, second: str) -> str:
        """Show which findings tell two conditions apart, with their frequency in each.

        Args:
            first: For example pneumonia.
            second: For example pulmonary_embolism.
        """
        a, b = known_condition(first), known_condition(second)
        in_a, in_b = {**a.symptoms, **a.signs}, {**b.symptoms, **b.signs}
        apart = {name: in_a.get(name, 0.0) - in_b.get(name, 0.0) for name in {*in_a, *in_b}}
        telling = sorted((name for name in apart if abs(apart[name]) >= 0.3), key=lambda n: (-abs(apart[n]), n))
        lines = [f"{finding_text(n)}: {in_a.get(n, 0):.0%} against {in_b.get(n, 0):.0%}" for n in telling[:8]]
        return "\n".join([f"{a.id} against {b.id}", *lines]) if lines else "Their findings hardly differ; test."

    @tool()
    def icd10_code(self, condition: str) -> str:
        """Look up the ICD-10-CM code of a condition.

        Args:
            condition: For example pneumonia.
        """
        found = known_condition(condition)
        return f"{found.name}: {found.icd10}"

    @tool()
    def management_plan(self, condition: str) -> str:
        """Read what comes first in a condition: the id of the first management, and further steps.

        Args:
            condition: For example pneumonia.
        """
        found = known_condition(condition)
        row = row_of("work_up", found, "No plan is written")
        self.world.reveal("kb", f"plan.{found.id}")
        steps = "; ".join(found.first_line)
        return f"First: {row['management']}. Steps: {steps}. ({found.source})"

    @tool()
    def treatment_ladder(self, condition: str) -> str:
        """Read which drugs may be prescribed for a condition, the preferred one first.

        Args:
            condition: For example pneumonia.
        """
        row = row_of("ladders", known_condition(condition), "No ladder is written")
        text = ", else ".join(row["drugs"])
        if "pregnant" in row:
            text += f"; in pregnancy {', else '.join(row['pregnant'])}"
        return f"{text} ({row['source']})"

    @tool()
    def referral_guide(self, condition: str) -> str:
        """Read to whom a condition is referred, and how fast.

        Args:
            condition: For example appendicitis.
        """
        row = row_of("referrals", known_condition(condition), "No referral rule is written")
        if row["service"] == "none":
            return f"No referral: {row['why']} ({row['source']})"
        return f"{row['service']}, {row['urgency']}: {row['why']} ({row['source']})"

    @tool()
    def test_pathway(self, problem: str) -> str:
        """Read the order of tests for a suspected problem.

        Args:
            problem: For example suspected_pe, hyponatraemia.
        """
        rows, name = table("pathways"), fold(problem)
        row = rows.get(name)
        if row is None:
            raise ToolError(f"No pathway {problem[:60]!r}. Known: {', '.join(rows)}.")
        self.world.reveal("kb", f"pathway.{name}")
        return f"{row['text']} ({row['source']})"
