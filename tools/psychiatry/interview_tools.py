"""Tools that meet people: the patient, a relative, and what can be observed."""

from healthgym.toolkit import Toolkit, tool

OPENING_WORDS = frozenset({"brings", "brought", "happened", "complaint", "reason", "why"})


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
        if OPENING_WORDS & {word.strip("?.,!'").lower() for word in question.split()}:
            self.world.reveal(patient_id, "chief_complaint", chart.chief_complaint)
            return chart.chief_complaint or "There is nothing I want to start with."
        return self.world.ask(patient_id, question)
