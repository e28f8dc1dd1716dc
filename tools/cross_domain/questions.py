"""Questions that make the simulated patient tell a given finding."""

from healthgym.errors import TaskError
from healthgym.tasks import Call
from healthgym.world import Chart, SimulatedPatient

_PATIENT = SimulatedPatient()


def asking(chart: Chart, finding_id: str) -> list[Call]:
    """Return the calls that reveal a finding by question, twice where the patient is reticent about it.

    Raises:
        TaskError: no question of its topics reveals it; such a task must not be made.
    """
    finding = chart.finding(finding_id)
    topics = finding.topics if finding is not None else ()
    pairs = [f"{first} {second}" for first in topics for second in topics if first != second]
    for words in (*topics, *pairs, " ".join(topics)):
        question = f"What about {words}?"
        for times in (0, 1):
            if finding in _PATIENT.answer(chart, question, times_asked=times).findings:
                return [Call("ask_patient", patient_id=chart.patient_id, question=question)] * (times + 1)
    raise TaskError(f"finding {finding_id!r} of {chart.condition} cannot be revealed by a question")
