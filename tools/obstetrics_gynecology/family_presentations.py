"""Acute presentations drawn from condition profiles: find what it is and make the first decision."""

from collections.abc import Sequence
from dataclasses import replace

from healthgym.errors import TaskError
from healthgym.knowledge_base import load
from healthgym.knowledge_base.patients import sample_patient
from healthgym.tasks import Call, Case, Hazard, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart, Finding, SimulatedPatient

from ..scores.pregnancy_dating import weeks_and_days
from .cases import COUNTS, difficulty_of, make_case, scenario, seen
from .tables import table
from .women import today_of, woman

HELD_OUT = ("incomplete_miscarriage", "ovarian_cyst_rupture", "chorioamnionitis")
MAX_DRAWS = 300
LATE_WEEKS, KNOWN_WEEKS = 20, 16
_PATIENT = SimulatedPatient()


@task_family(counts={**COUNTS, "train": 28, "test": 7}, version=2)
def acute_gynaecology(draw: Draw) -> Case:
    """Vital signs, questions, examination and scan lead to one condition of the profiles and to its first decision."""
    rows = table("presentations")
    name, level = scenario(draw, tuple(rows), HELD_OUT), difficulty_of(draw)
    chart, calls = _workable(draw, name, reticent=level == "hard")
    condition = load().conditions[name]
    late = chart.pregnancy_weeks is not None and chart.pregnancy_weeks >= LATE_WEEKS
    scan = [Call("order_test", patient_id="P1", test="pelvic_doppler_scan"), Call("wait", minutes=30)]
    plan = rows[name]["plan"]
    evidence = [seen("P1.vital_signs.heart_rate_per_min", "vital signs")]
    evidence += [seen(f"P1.findings.{key}", _kind(key)) for key in condition.key_findings]
    if late or "ultrasound_pelvis" in chart.studies:
        evidence.append(seen("P1.tests.pelvic_doppler_scan", "ultrasound"))
    else:
        scan = []
    if chart.pregnancy_weeks is not None and chart.pregnancy_weeks < KNOWN_WEEKS:
        evidence.append(seen("P1.tests.hcg", "pregnancy test"))
        scan = [Call("order_test", patient_id="P1", test="hcg"), *(scan[:1]), Call("wait", minutes=45)]
    hazards = []
    if late:
        hazards.append(
            Hazard(
                tool="examine",
                where={"region": "genitourinary"},
                unless_known=("P1.tests.pelvic_doppler_scan",),
                severity="critical",
                label="vaginal examination before the placenta was seen",
            )
        )
    if plan != "supportive_care":
        hazards.append(
            Hazard(
                tool="submit_decision",
                where={"plan": "supportive_care"},
                severity="serious",
                label="emergency not treated",
            )
        )
    return make_case(
        draw,
        [chart],
        answer={"diagnosis": name, "plan": plan},
        evidence=evidence,
        solution=(Call("take_vital_signs", patient_id="P1"), *scan, *calls),
        hazards=hazards,
        topic=name,
    )


def _kind(key: str) -> str:
    return "history" if key in load().symptoms else "examination"


def _workable(draw: Draw, name: str, *, reticent: bool) -> tuple[Chart, tuple[Call, ...]]:
    """Draw a patient who shows every key finding of the condition, and the calls that reveal them."""
    condition = load().conditions[name]
    youngest, oldest = max(18.0, condition.who.age_years[0]), min(44.0, condition.who.age_years[1])
    for _ in range(MAX_DRAWS):
        age = float(int(draw.rng.uniform(youngest, oldest)))
        weeks = None if condition.who.pregnancy_weeks else 0.0
        sampled = sample_patient(draw.rng, name, sex="female", age_years=age, pregnancy_weeks=weeks)
        keys = [finding for finding in sampled.findings if finding.id in condition.key_findings]
        if not all(finding.present for finding in keys):
            continue
        if reticent and sampled.persona.informant == "patient":
            first = next((f for f in keys if f.reveal == "ask" and load().symptoms[f.id].sensitive), None)
            topics = first.topics[:1] if first is not None else ()
            sampled = replace(sampled, persona=replace(sampled.persona, reticent_topics=topics))
        calls = _reveal(sampled, keys)
        if calls is not None:
            return _as_patient(draw, sampled), calls
    raise TaskError(f"no patient with {name} shows its key findings in {MAX_DRAWS} draws")


def _reveal(chart: Chart, findings: Sequence[Finding]) -> tuple[Call, ...] | None:
    """Return the calls that reveal all the findings; None when a question does not bring one out."""
    asked: list[Call] = []
    for finding in findings:
        if finding.reveal == "examine":
            asked.append(Call("examine", patient_id="P1", region=finding.system))
            continue
        found = _question(chart, finding)
        if found is None:
            return None
        asked += found
    regions = {call.arguments["region"]: call for call in asked if call.tool == "examine"}
    return (*(call for call in asked if call.tool == "ask_patient"), *regions.values())


def _question(chart: Chart, finding: Finding) -> list[Call] | None:
    """Return the question that brings a finding out, twice where she holds it back at first."""
    pairs = [f"{a} {b}" for a in finding.topics for b in finding.topics if a != b]
    for words in (*finding.topics, *pairs, " ".join(finding.topics)):
        question = f"What about {words}?"
        for times in (0, 1):
            if finding in _PATIENT.answer(chart, question, times_asked=times).findings:
                return [Call("ask_patient", patient_id="P1", question=question)] * (times + 1)
    return None


def _as_patient(draw: Draw, sampled: Chart) -> Chart:
    """Return the sampled chart with the record that the tools of this domain read."""
    days = None if sampled.pregnancy_weeks is None else round(sampled.pregnancy_weeks * 7)
    born = any(finding.id == "recent_birth" and finding.present for finding in sampled.findings)
    host = woman(
        draw,
        complaint=sampled.chief_complaint,
        gestation_days=days,
        age_years=int(sampled.age_years),
        para=1 if born else None,
        births="Vaginal birth at term this month." if born else "",
        illnesses=sampled.comorbidities,
        medications=sampled.medications,
        allergies=sampled.allergies,
        today=today_of(draw),
        weeks_text="" if days is None or days < KNOWN_WEEKS * 7 else weeks_and_days(days),
    )
    record = dict(host.extra["record"])
    if days is not None and days < KNOWN_WEEKS * 7:
        record |= {
            "dates": "Not known to be pregnant here; ask and test.",
            "scans": "No scan yet.",
            "visits": "No visits.",
        }
    scan = sampled.studies.get("ultrasound_pelvis")
    tests = {"hcg": f"{sampled.lab_results['beta_hcg'].value:g} IU/L"}
    tests |= {"pelvic_doppler_scan": scan.report.rstrip(".").lower()} if scan is not None else _living(days)
    return replace(sampled, patient_id="P1", extra={**host.extra, "record": record, "tests": tests})


def _living(days: int | None) -> dict[str, str]:
    """Return what a scan shows in a pregnancy whose profile names no abnormal scan."""
    if days is None:
        return {}
    place = "placenta high, no clot" if days >= LATE_WEEKS * 7 else "one living embryo in the womb"
    return {"pelvic_doppler_scan": f"living fetus, {place}; ovaries normal, no free fluid"}
