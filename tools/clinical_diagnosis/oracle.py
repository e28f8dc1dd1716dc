"""Building blocks of solutions: calls that reveal a given fact, checked against the simulated patient."""

from collections.abc import Iterable, Sequence

from healthgym.errors import TaskError
from healthgym.knowledge_base import load
from healthgym.tasks import Call, Evidence
from healthgym.world import Chart, Finding, SimulatedPatient

from .tables import table

_PATIENT = SimulatedPatient()
MAX_WAIT = 240


def ask_calls(chart: Chart, finding: Finding) -> tuple[Call, ...] | None:
    """Return the question that makes the patient tell `finding`, twice for a reticent topic; None when none does."""
    topics = finding.topics
    pairs = [f"{first} {second}" for first in topics for second in topics if first != second]
    for phrase in (*topics, *pairs, " ".join(topics)):
        question = f"What about {phrase}?"
        for times in (0, 1):
            if finding in _PATIENT.answer(chart, question, times_asked=times).findings:
                return (Call("ask_history", patient_id=chart.patient_id, question=question),) * (times + 1)
    return None


def reveal_calls(chart: Chart, finding: Finding) -> tuple[Call, ...] | None:
    """Return the calls that reveal `finding`, by question or by examination; None when it cannot be revealed."""
    if finding.reveal == "examine":
        return (Call("examine_system", patient_id=chart.patient_id, system=finding.system),)
    return ask_calls(chart, finding)


def must_reveal(chart: Chart, names: Iterable[str]) -> tuple[Call, ...]:
    """Return the calls that reveal these findings, each once. Raises TaskError when one cannot be revealed."""
    calls: dict[str, Call] = {}
    repeated: list[Call] = []
    for name in names:
        finding = chart.finding(name)
        made = reveal_calls(chart, finding) if finding is not None else None
        if made is None:
            raise TaskError(f"finding {name!r} of {chart.condition} cannot be revealed by a question or examination")
        if repr(made[0]) not in calls:
            repeated += made
        calls[repr(made[0])] = made[0]
    return tuple(repeated)


def pointing(chart: Chart, reveal: str) -> list[tuple[Finding, tuple[Call, ...]]]:
    """Return the condition's key findings that this patient shows by asking or examining, with the calls for each."""
    profile = load().condition(chart.condition)
    names = dict.fromkeys((*profile.key_findings, *profile.red_flags))
    found = [f for name in names if (f := chart.finding(name)) is not None and f.reveal == reveal and f.present]
    return [(f, made) for f in found if (made := reveal_calls(chart, f)) is not None]


def test_calls(patient_id: str, tests: Sequence[str]) -> tuple[Call, ...]:
    """Return the calls that get these analytes and studies: ordered together, then awaited."""
    kb = load()
    labs = [name for name in tests if name in kb.analytes]
    studies = [name for name in tests if name in kb.studies and name != "ecg"]
    calls = [Call("bedside_test", patient_id=patient_id, test="ecg")] if "ecg" in tests else []
    waits = [kb.analytes[name].turnaround_minutes for name in labs]
    waits += [kb.studies[name].turnaround_minutes for name in studies]
    for start in range(0, len(labs), 8):
        calls.append(Call("order_labs", patient_id=patient_id, tests=labs[start : start + 8]))
    calls += [Call("order_study", patient_id=patient_id, study=name) for name in studies]
    if waits:
        calls += _waits(max(waits))
    return tuple(calls)


def _waits(minutes: float) -> list[Call]:
    left, calls = int(minutes + 5), []
    while left > 0:
        calls.append(Call("wait_for_results", minutes=max(5, min(left, MAX_WAIT))))
        left -= MAX_WAIT
    return calls


def decisive(chart: Chart) -> tuple[tuple[Evidence, ...], tuple[Call, ...]] | None:
    """Return the evidence that decides the diagnosis, and calls that gather it; None when nothing points to it.

    What the patient tells, what the examination finds of key findings and red flags, and one of the tests that settle it.
    """
    patient = chart.patient_id
    evidence: list[Evidence] = []
    calls: list[Call] = []
    for reveal, label in (("ask", "what the patient tells"), ("examine", "what the examination finds")):
        reachable = pointing(chart, reveal)
        if reachable:
            evidence.append(Evidence(any_of=tuple(f"{patient}.findings.{f.id}" for f, _ in reachable), label=label))
            calls += reachable[0][1]
    if not evidence:
        return None
    tests = tuple(table("work_up").get(chart.condition, {}).get("tests", ()))
    if tests:
        keys = tuple(f"{patient}.{'studies' if name in load().studies else 'labs'}.{name}" for name in tests)
        evidence.append(Evidence(any_of=keys, label="the test that settles it"))
        calls += test_calls(patient, tests[:1])
    return tuple(evidence), tuple(calls)
