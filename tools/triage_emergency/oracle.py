"""Building blocks of solutions: calls that reveal a given fact, checked against the simulated patient."""

from healthgym.errors import TaskError
from healthgym.knowledge_base import load
from healthgym.tasks import Call, Evidence
from healthgym.world import Chart, Finding, SimulatedPatient

_PATIENT = SimulatedPatient()


def ask_calls(chart: Chart, finding: Finding) -> tuple[Call, ...] | None:
    """Return the question that makes the patient tell `finding`, twice for a reticent topic; None when none does."""
    topics = finding.topics
    pairs = [f"{first} {second}" for first in topics for second in topics if first != second]
    for words in (*topics, *pairs, " ".join(topics)):
        question = f"What about {words}?"
        for times in (0, 1):
            if finding in _PATIENT.answer(chart, question, times_asked=times).findings:
                return (Call("ask_patient", patient_id=chart.patient_id, question=question),) * (times + 1)
    return None


def reveal_calls(chart: Chart, finding: Finding) -> tuple[Call, ...] | None:
    """Return the calls that reveal `finding`, by question or by examination; None when it cannot be revealed."""
    if finding.reveal == "examine":
        return (Call("examine", patient_id=chart.patient_id, system=finding.system),)
    return ask_calls(chart, finding)


def decisive(chart: Chart) -> tuple[tuple[Evidence, ...], tuple[Call, ...]] | None:
    """Return the evidence that decides this chart's triage, and calls that gather it; None when nothing points anywhere.

    Vital signs always; what the patient tells and what the examination finds of the condition's key findings and red
    flags; the ECG or the glucose where the profile makes them abnormal.
    """
    patient, kb = chart.patient_id, load()
    profile = kb.condition(chart.condition)
    severity = profile.severities[chart.severity]
    evidence = [Evidence(any_of=(f"{patient}.vital_signs.heart_rate_per_min",), label="vital signs")]
    calls = [Call("take_vital_signs", patient_id=patient)]
    found_any = False
    for reveal, label in (("ask", "what the patient tells"), ("examine", "what the examination finds")):
        pointing = [
            f
            for name in dict.fromkeys((*profile.red_flags, *profile.key_findings))
            if (f := chart.finding(name)) is not None and f.reveal == reveal and f.present
        ]
        found_any |= any(f.id in profile.key_findings for f in pointing)
        reachable = [(f, made) for f in pointing if (made := reveal_calls(chart, f)) is not None]
        if reachable:
            evidence.append(Evidence(any_of=tuple(f"{patient}.findings.{f.id}" for f, _ in reachable), label=label))
            calls += reachable[0][1]
    if "ecg" in severity.studies:
        evidence.append(Evidence(any_of=(f"{patient}.studies.ecg",), label="ECG"))
        calls.append(Call("order_ecg", patient_id=patient))
    if not 60 <= severity.vitals.glucose_mg_dl[0] <= 250:
        evidence.append(Evidence(any_of=(f"{patient}.vital_signs.glucose_mg_dl",), label="glucose"))
        calls.append(Call("check_glucose", patient_id=patient))
    return (tuple(evidence), tuple(calls)) if found_any else None


def must_reveal(chart: Chart, finding_id: str) -> tuple[Call, ...]:
    """Return the calls that reveal a finding. Raises TaskError when nothing can: such a task must not be made."""
    finding = chart.finding(finding_id)
    calls = reveal_calls(chart, finding) if finding is not None else None
    if calls is None:
        raise TaskError(f"finding {finding_id!r} of {chart.condition} cannot be revealed by a question or examination")
    return calls
