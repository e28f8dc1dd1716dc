"""Questions that make a simulated patient tell a fact: the building blocks of solutions."""

from healthgym.errors import TaskError
from healthgym.tasks import Call, Evidence
from healthgym.world import Chart, Finding, SimulatedPatient

_PATIENT = SimulatedPatient()


def ask_calls(chart: Chart, finding_id: str) -> tuple[Call, ...]:
    """Return the question that makes the patient tell a finding, twice for a reticent topic.

    Raises:
        TaskError: no question does; such a task must not be made.
    """
    finding = chart.finding(finding_id)
    if finding is None:
        raise TaskError(f"{chart.patient_id} has no finding {finding_id!r}")
    two = " or ".join(finding.topics[:2])
    for words in (
        finding.text.split(":")[0].split(",")[0].removeprefix("no "),
        two,
        " and ".join(finding.topics),
        *finding.topics,
    ):
        question = f"May I ask about {words}?"
        for times in (0, 1):
            if finding in _PATIENT.answer(chart, question, times_asked=times).findings:
                return (Call("ask_patient", patient_id=chart.patient_id, question=question),) * (times + 1)
    raise TaskError(f"no question makes {chart.patient_id} tell {finding_id!r}; its topics are shared with others")


def told(chart: Chart, *findings: str) -> Evidence:
    """Return the evidence that one of these findings was told."""
    return Evidence(
        any_of=tuple(f"{chart.patient_id}.findings.{name}" for name in findings), label=f"asked {findings[0]}"
    )


def interview(chart: Chart, findings: tuple[Finding, ...]) -> tuple[list[Evidence], list[Call]]:
    """Return one piece of evidence a finding, and the questions that gather them all."""
    evidence = [told(chart, finding.id) for finding in findings]
    return evidence, [call for finding in findings for call in ask_calls(chart, finding.id)]
