"""The simulated patient: answers questions in lay words from hidden facts, the same way every time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from healthgym.world.chart import Chart, Finding

_WORD = re.compile(r"[a-z]+")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an the do does did you your yours have has had any is are was were it of in on at to for with and or how when "
        "what where which who why me my i tell about can could would please been be get got ever this that there feel "
        "feeling other also more some since if from",
    )
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the patient said, and which hidden facts that tells."""

    text: str
    findings: tuple[Finding, ...] = ()
    facts: tuple[tuple[str, float | str | bool | None, str], ...] = ()
    """Further (key, value, unit) facts, keys without the patient id."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question put to a patient, and what was said."""

    patient_id: str
    question: str
    answer: str


class Patient(Protocol):
    """Anything that can answer for a patient: the simulator, or a language model behind the same method.

    One object answers for all episodes, at times from several threads, so what it remembers comes in as `history`.
    """

    def answer(
        self, chart: Chart, question: str, *, times_asked: int, seed: int, history: Sequence[Exchange] = ()
    ) -> Answer:
        """Answer one question put to the patient of `chart`, after the exchanges of `history`.

        Raises:
            ServiceError: What stands behind it cannot be reached; the episode is excluded and counted, never scored.
        """


class SimulatedPatient:
    """Matches the words of a question with the topics of findings that asking reveals."""

    max_findings = 3
    """Most facts one answer tells: a vague question does not open the whole history."""

    def answer(
        self, chart: Chart, question: str, *, times_asked: int = 0, seed: int = 0, history: Sequence[Exchange] = ()
    ) -> Answer:
        """Answer from the chart. Reticent topics are admitted only when asked about again.

        Args:
            chart: Hidden facts included.
            question: The agent's words.
            times_asked: How often this patient was asked about the same topic before; see topics_of().
            seed: Episode seed; part of the wording's choice.
            history: Earlier exchanges; this patient answers from the chart alone.
        """
        if chart.persona.informant == "none":
            return Answer("The patient does not answer.")
        words = _stems(question)
        built_in = _record_answer(chart, words)
        top, best = _best_findings(chart, words)
        if best:
            chosen = best[: self.max_findings]
            reticent = _stems(" ".join(chart.persona.reticent_topics))
            if reticent & words and times_asked == 0:
                return Answer(_voice(chart, "I'd rather not talk about that."))
            text = " ".join(f.lay or _default_lay(f) for f in chosen)
            return Answer(_voice(chart, text), chosen, built_in.facts if built_in and top <= 1 else ())
        if built_in is not None:
            return Answer(_voice(chart, built_in.text), (), built_in.facts)
        return Answer(_voice(chart, "I'm not sure what you mean. Could you ask it another way?"))


def topics_of(chart: Chart, question: str) -> frozenset[str]:
    """Return what a question is about: ids of the findings it fits best, else the part of the record; empty when unclear.

    Two questions that have one in common are about the same topic, however they are worded.
    """
    words = _stems(question)
    _, best = _best_findings(chart, words)
    if best:
        return frozenset(finding.id for finding in best)
    return frozenset(name for name, vocabulary in _RECORD.items() if words & vocabulary)


def _best_findings(chart: Chart, words: frozenset[str]) -> tuple[int, tuple[Finding, ...]]:
    """Return how many topic words fit the best findings that asking reveals, and those findings in the chart's order."""
    scored = [(len(words & _topic_stems(f)), f) for f in chart.findings if f.reveal == "ask"]
    top = max((score for score, _ in scored), default=0)
    return top, tuple(f for score, f in scored if score == top) if top else ()


def _record_answer(chart: Chart, words: frozenset[str]) -> Answer | None:
    """Answer about medicines, allergies and past illness, which every chart has."""
    if words & _ALLERGY:
        known = ", ".join(
            f"{a.substance.replace('_', ' ')} ({a.reaction or 'reaction unknown'})" for a in chart.allergies
        )
        text = f"I'm allergic to {known}." if known else "No allergies that I know of."
        facts = tuple((f"allergies.{a.substance}", True, "") for a in chart.allergies)
        return Answer(
            text, facts=(("allergies", ", ".join(a.substance for a in chart.allergies) or "none", ""), *facts)
        )
    if words & _MEDICINES:
        names = ", ".join(m.drug.replace("_", " ") for m in chart.medications)
        text = f"I take {names}." if names else "I don't take any medicines."
        # Nobody was told a dose, so none is recorded: a medicine that is taken is True, as an allergy is.
        taken = tuple((f"medications.{m.drug}", True, "") for m in chart.medications)
        return Answer(text, facts=(("medications", names or "none", ""), *taken))
    if words & _HISTORY:
        names = ", ".join(c.replace("_", " ") for c in chart.comorbidities)
        text = f"I've had {names}." if names else "I've always been healthy."
        return Answer(text, facts=(("comorbidities", names or "none", ""),))
    return None


_SUFFIXES = {
    "ations": 4, "ation": 4, "ions": 4, "ion": 4, "ical": 4, "ing": 3, "ic": 4, "ed": 3, "es": 3, "s": 3, "y": 4, "e": 3,
}  # fmt: skip
"""Endings and the fewest letters that must remain: an ending that makes another word needs more of a stem than a plural."""


def _stem(word: str) -> str:
    """Return what a word shares with its other forms: "worries" and "worry", but neither "manic" with "many" nor "man"."""
    if word.endswith("ies") and len(word) >= 6:
        word = f"{word[:-3]}y"
    for suffix, least in _SUFFIXES.items():
        if word.endswith(suffix) and len(word) - len(suffix) >= least:
            return word[: -len(suffix)]
    return word


def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP)


_ALLERGY = _stems("allergy allergic reaction")
_MEDICINES = _stems("medication medicine tablet pill drug prescription take")
_HISTORY = _stems("history past condition illness disease problem diagnosed")
_RECORD = {"allergies": _ALLERGY, "medications": _MEDICINES, "comorbidities": _HISTORY}
_TOPICS: dict[tuple[str, ...], frozenset[str]] = {}


def _topic_stems(finding: Finding) -> frozenset[str]:
    topics = finding.topics or (finding.id.replace("_", " "),)
    stems = _TOPICS.get(topics)
    if stems is None:
        stems = _TOPICS[topics] = _stems(" ".join(topics))
    return stems


def _default_lay(finding: Finding) -> str:
    name = finding.id.replace("_", " ")
    return f"Yes, I have {name}." if finding.present else f"No {name}."


def _voice(chart: Chart, text: str) -> str:
    if chart.persona.style == "anxious":
        text = f"I'm really worried. {text}"
    elif chart.persona.style == "confused":
        text = f"Um... {text}"
    if chart.persona.informant in ("relative", "carer"):
        return f"({chart.persona.informant}) {text}"
    return text
