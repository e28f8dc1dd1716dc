"""Tools that meet people: the patient, a relative, and what can be observed."""

from typing import Literal

from healthgym.errors import ToolError
from healthgym.toolkit import Toolkit, tool
from healthgym.world import Finding
from healthgym.world.patient import topics_of

from .tables import table

OPENING_WORDS = frozenset({"brings", "brought", "happened", "complaint", "reason", "why"})
Part = Literal["appearance_and_behaviour", "speech", "mood", "perception", "cognition"]
Ability = Literal["understand", "appreciate", "reason", "choose"]
Test = Literal["mini_mental", "moca"]
PART_OF_SIGN = {
    "anxious_tense": "appearance_and_behaviour",
    "elated_pressured": "speech",
    "low_mood_seen": "mood",
    "guarded_responding": "perception",
    "inattentive": "cognition",
    "disoriented": "cognition",
    "poor_recall": "cognition",
    "reduced_consciousness": "cognition",
}
"""Which part of the mental state examination shows a sign; other signs are found on the body."""
LATER_FROM_MINUTE = 55
"""From when an observation counts as the later one: a re-score is due an hour after the first."""


class InterviewTools(Toolkit):
    """Talking and looking; answers are lay words."""

    @tool(minutes=2)
    def ask_patient(self, patient_id: str, question: str) -> str:
        """Ask one question on one subject; what is hard to say may need asking twice.

        Args:
            patient_id: For example P1; R1 is the relative, where there is one.
            question: One question in plain words; "What brings you here?" opens.
        """
        chart = self.world.chart(patient_id)
        opens = OPENING_WORDS & {word.strip("?.,!'").lower() for word in question.split()}
        if opens and not topics_of(chart, question):
            self.world.reveal(patient_id, "chief_complaint", chart.chief_complaint)
            return chart.chief_complaint or "There is nothing I want to start with."
        return self.world.ask(patient_id, question)

    @tool(minutes=3)
    def mental_state(self, patient_id: str, part: Part) -> str:
        """Examine one part of the mental state.

        Args:
            patient_id: For example P1.
            part: Which part.
        """
        return self._signs(patient_id, part, [f for f in self._examined(patient_id) if PART_OF_SIGN.get(f.id) == part])

    @tool(minutes=5)
    def examine_body(self, patient_id: str) -> str:
        """Examine the body: skin, eyes, gait, tremor, lungs, belly.

        Args:
            patient_id: For example P1.
        """
        self.world.reveal(patient_id, "body_examined")
        return self._signs(patient_id, "body", [f for f in self._examined(patient_id) if f.id not in PART_OF_SIGN])

    @tool(minutes=3)
    def cognitive_tasks(self, patient_id: str, test: Test, domain: str) -> str:
        """Give the tasks of one domain of a cognitive test, and count what is right.

        Args:
            patient_id: For example P1.
            test: Which test.
            domain: Domain of that test, for example orientation.
        """
        results = self.world.chart(patient_id).extra.get("cognition", {}).get(test)
        if results is None:
            raise ToolError(f"{patient_id} is not here for {test}; nothing suggests a cognitive test.")
        if domain not in results:
            raise ToolError(f"No domain {domain[:40]!r} in {test}. Known: {', '.join(results)}.")
        right, of = results[domain]
        self.world.reveal(patient_id, f"cognition.{domain}", right)
        return f"{domain.replace('_', ' ')}: {right} of {of} right"

    @tool(minutes=5)
    def observe_withdrawal(self, patient_id: str) -> str:
        """Go through the ten withdrawal items now: what is seen and said, for CIWA-Ar.

        Args:
            patient_id: For example P1.
        """
        course = self.world.chart(patient_id).extra.get("withdrawal")
        if course is None:
            raise ToolError(f"{patient_id} shows no withdrawal.")
        phase = "first" if self.world.minutes < LATER_FROM_MINUTE else "later"
        was_dosed = any(minute < LATER_FROM_MINUTE for minute, _ in self.world.state.get(f"{patient_id}.dose_log", ()))
        scores = course["first"] if phase == "first" else course["treated" if was_dosed else "untreated"]
        lines = []
        for name, score in scores.items():
            self.world.reveal(patient_id, f"withdrawal.{phase}.{name}", score)
            lines.append(f"{name}: {table('withdrawal_words')[name][score]}")
        return f"minute {self.world.minutes:g}\n" + "\n".join(lines)

    @tool(minutes=5)
    def observe_behaviour(self, patient_id: str) -> str:
        """Watch behaviour on the ward for the Brøset items.

        Args:
            patient_id: For example P1.
        """
        behaviour = self.world.chart(patient_id).extra.get("behaviour")
        if behaviour is None:
            raise ToolError(f"{patient_id} sits quietly; there is no concern about violence.")
        for name, present in behaviour.items():
            self.world.reveal(patient_id, f"behaviour.{name}", present)
        words = table("behaviour_words")
        return " ".join(words[name]["seen" if present else "absent"] for name, present in behaviour.items())

    @tool(minutes=4)
    def assess_ability(self, patient_id: str, ability: Ability) -> str:
        """Test one of the four abilities for the decision at hand; gives the patient's words.

        Args:
            patient_id: For example P1.
            ability: Understand the facts, appreciate them as one's own, reason, choose and keep to it.
        """
        said = self.world.chart(patient_id).extra.get("abilities")
        if said is None:
            raise ToolError(f"No decision of {patient_id} is in question.")
        self.world.reveal(patient_id, f"ability.{ability}", said[ability]["intact"])
        return f'"{said[ability]["words"]}"'

    def _examined(self, patient_id: str) -> list[Finding]:
        return [finding for finding in self.world.chart(patient_id).findings if finding.reveal == "examine"]

    def _signs(self, patient_id: str, where: str, signs: list[Finding]) -> str:
        for finding in signs:
            self.world.reveal(patient_id, f"findings.{finding.id}", finding.present)
        return " ".join(finding.text for finding in signs) or f"{where.replace('_', ' ')}: nothing of note."
