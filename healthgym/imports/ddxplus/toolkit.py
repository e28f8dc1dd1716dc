"""What an agent can do with an imported patient of yes/no, single-choice and multiple-choice questions."""

import re
from pathlib import Path
from typing import Any, ClassVar

from healthgym.errors import ToolError, nearest
from healthgym.imports.ddxplus.profiles import Profiles, read_profiles
from healthgym.toolkit import Toolkit, tool

MAX_SHOWN = 15
STEM = 4
"""Letters that words share when they are of one kind: smoke and smoking."""
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an the do does did you your have has had any is are was were of in on at to for with and or what how been feel ever",
    )
)


class EvidenceToolkit(Toolkit):
    """Find questions, read profiles, ask, submit."""

    folder: ClassVar[Path]
    """The domain's folder, whose data is looked up."""

    @tool()
    def find_questions(self, words: str) -> str:
        """Find questions that can be put to the patient, with their codes.

        Args:
            words: What they are about, for example fever.
        """
        wanted = _stems(words)
        scored = [(len(wanted & _stems(item["question"])), code) for code, item in self._profiles.evidences.items()]
        codes = [code for score, code in sorted(scored, key=lambda one: -one[0]) if score][:MAX_SHOWN]
        if not codes:
            raise ToolError(f"No question is about {words[:60]!r}. Try another word, such as pain, cough or smoking.")
        return "\n".join(self._question(code) for code in codes)

    @tool()
    def read_condition(self, condition: str) -> str:
        """Read which evidences a condition is listed with.

        Args:
            condition: Its name, as in the list of conditions.
        """
        found = self._condition(condition)
        parts = [("Symptoms", found["symptoms"]), ("Antecedents", found["antecedents"])]
        lines = [line for title, codes in parts for line in (f"{title}:", *map(self._question, codes))]
        return "\n".join([f"{found['name']} (severity {found['severity']}, 1 is worst)", *lines])

    @tool(minutes=1)
    def ask_patient(self, patient_id: str, evidence_id: str) -> str:
        """Put one question to the patient.

        Args:
            patient_id: For example P1.
            evidence_id: Code of the question, as find_questions shows it.
        """
        chart = self.world.chart(patient_id)
        evidence = self._profiles.evidences.get(evidence_id.strip())
        if evidence is None:
            raise ToolError(f"No question has the code {evidence_id[:40]!r}. Find codes with find_questions.")
        answers, code = chart.extra["evidences"], evidence["code"]
        if evidence["type"] == "B":
            self.world.reveal(patient_id, f"evidences.{code}", code in answers)
            return "Yes." if code in answers else "No."
        if not chart.extra["has_values"]:
            self.world.reveal(patient_id, f"evidences.{code}", None)
            return "The patient cannot say: the source holds no values of this question."
        told = ", ".join(evidence["values"].get(value, value) for value in answers.get(code) or [evidence["default"]])
        self.world.reveal(patient_id, f"evidences.{code}", told)
        return f"{told}."

    @tool(effect="submit")
    def submit_diagnosis(self, diagnosis: str, differential: list[str] | None = None) -> str:
        """Submit the most likely condition and end.

        Args:
            diagnosis: Its name, as in the list of conditions.
            differential: Names of all likely conditions, the most likely first, where the task asks for them.
        """
        self._condition(diagnosis)
        for name in differential or []:
            self._condition(name)
        return f"Submitted: {diagnosis}."

    @property
    def _profiles(self) -> Profiles:
        return read_profiles(self.folder)

    def _condition(self, name: str) -> dict[str, Any]:
        folded = name.strip().lower()
        found = next((each for each in self._profiles.conditions if each["name"].lower() == folded), None)
        if found is None:
            raise ToolError(f"No condition {name[:60]!r}.{nearest(name[:60], self._profiles.names)}")
        return dict(found)

    def _question(self, code: str) -> str:
        item = self._profiles.evidences[code]
        kind = {"B": "yes/no", "C": "one value", "M": "one or more values"}[item["type"]]
        return f"[{code}] {item['question']} ({kind})"


def _stems(text: str) -> frozenset[str]:
    words = re.findall(r"[a-z]+", text.lower())
    return frozenset(word[:STEM] for word in words if word not in _COMMON)
