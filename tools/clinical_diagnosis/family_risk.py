"""Risk-score decisions: find the facts an instrument needs, score, and decide what follows."""

from dataclasses import replace

from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart, Persona

from .cases import in_turn, make_case, pick_difficulty, wording
from .oracle import must_reveal, test_calls
from .risk_builders import BUILDERS, HELD_OUT
from .risk_common import Scored

QUESTIONS = {
    "CURB-65": "where to treat this pneumonia",
    "Wells for pulmonary embolism": "how to test for pulmonary embolism, if at all",
    "Wells for deep vein thrombosis": "how to test for deep vein thrombosis",
    "CHA2DS2-VASc": "whether this atrial fibrillation calls for an anticoagulant",
    "HAS-BLED": "how high the risk of bleeding under an anticoagulant is",
    "MELD 3.0": "whether this cirrhosis calls for evaluation for a transplant",
    "Child-Pugh": "which class this cirrhosis is",
    "HEART": "what to do with this chest pain",
}
READS = {"comorbidities": "past_history", "medications": "medication_list"}


def _hard(scored: Scored) -> Chart:
    """Return the chart with a patient who holds back one fact, or with older results that must not be used."""
    chart = scored.chart
    asked = [f for f in chart.findings if f.reveal == "ask"]
    if asked:
        return replace(chart, persona=Persona(reticent_topics=asked[0].topics[:1]))
    older = ", ".join(
        f"{name.replace('_', ' ')} {float(chart.lab_results[name].value) * 0.8:.1f}" for name in scored.labs
    )
    on_file = {**chart.extra.get("on_file", {}), "older": f"results of last month: {older or 'none'}"}
    return replace(chart, extra={**chart.extra, "on_file": on_file})


@task_family(counts={"train": 98, "val": 12, "test": 20, "test_ood": 12})
def risk_score(draw: Draw) -> Case:
    """Score a patient with the instrument for the question and submit points and decision."""
    difficulty = pick_difficulty(draw)
    names = [name for name in BUILDERS if (name in HELD_OUT) == (draw.split == "test_ood")]
    name = in_turn(draw, names)
    scored = BUILDERS[name](draw)
    chart = _hard(scored) if difficulty == "hard" else scored.chart
    pid = chart.patient_id
    calls = [Call("open_chart", patient_id=pid)]
    evidence = [Evidence(any_of=(f"{pid}.{key}",), label="the record") for key in scored.seen]
    if any(key.startswith("vital_signs") for key in scored.seen):
        calls.append(Call("measure_vital_signs", patient_id=pid))
    calls += [Call(tool, patient_id=pid) for key, tool in READS.items() if key in scored.seen]
    calls += must_reveal(chart, scored.findings)
    evidence += [
        Evidence(any_of=(f"{pid}.findings.{item}",), label="an item of the instrument") for item in scored.findings
    ]
    evidence += [Evidence(any_of=(f"{pid}.labs.{item}",), label="a result of the instrument") for item in scored.labs]
    if scored.ecg:
        evidence.append(Evidence(any_of=(f"{pid}.studies.ecg",), label="ECG"))
    calls += test_calls(pid, (*(("ecg",) if scored.ecg else ()), *scored.labs))
    ask = f"{QUESTIONS[name]} ({name})" if difficulty == "easy" else QUESTIONS[name]
    return make_case(
        draw,
        chart,
        prompt=wording(draw, who=pid, question=ask),
        difficulty=difficulty,
        answer={
            "score": AnswerField(gold=float(scored.score), compare="range", tolerance=0.01),
            "decision": AnswerField(gold=scored.decision),
        },
        evidence=evidence,
        solution=(
            *calls,
            Call(scored.tool, **scored.arguments),
            *scored.more,
            Call("submit_diagnosis", score=float(scored.score), decision=scored.decision),
        ),
        condition=name,
    )
