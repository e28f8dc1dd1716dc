"""Next best test: where does this patient stand on the pathway, and which test comes now, if any."""

from dataclasses import replace
from typing import Any

from healthgym.knowledge_base import load
from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart, Persona

from .cases import in_turn, make_case, pick_difficulty, sample, with_labs, wording
from .tables import table

HELD_OUT = ("suspected_dvt", "haemolysis")
"""Pathways that appear in test_ood only."""
DECOYS = ("potassium", "magnesium", "creatinine", "uric_acid", "alt")
"""Earlier results that are beside the point."""


def d_dimer_limit(age_years: float) -> float:
    """Return the D-dimer in ug/mL FEU from which it counts: 0.5, or age/100 above 50 years.

    Source: Righini et al., JAMA 2014;311:1117 (age x 10 micrograms/L).
    """
    return age_years / 100 if age_years > 50 else 0.5


def _patient(draw: Draw, pathway: dict[str, Any], stage: dict[str, Any]) -> tuple[Chart, dict[str, float | str]]:
    """Return a patient at this stage, and what is known already."""
    chart = sample(draw, stage["condition"], persona=Persona())
    if "ages" in pathway:
        chart = replace(chart, age_years=float(draw.rng.integers(*pathway["ages"])))
    values: dict[str, float] = {}
    known: dict[str, float | str] = {}
    for name, bounds in stage["earlier"].items():
        if isinstance(bounds, str):
            known[name] = bounds
        elif name == "d_dimer_of_limit":
            values["d_dimer"] = d_dimer_limit(chart.age_years) * float(draw.rng.uniform(*bounds))
        else:
            values[name] = float(draw.rng.uniform(*bounds))
    chart = with_labs(chart, values)
    known |= {name: float(chart.lab_results[name].value) for name in values}
    return chart, known


@task_family(counts={"train": 63, "val": 8, "test": 14, "test_ood": 9})
def next_best_test(draw: Draw) -> Case:
    """Read what is known already and name the test that the pathway asks for now."""
    difficulty = pick_difficulty(draw)
    pathways = [row for row in table("pathways").values() if (row["id"] in HELD_OUT) == (draw.split == "test_ood")]
    pathway = in_turn(draw, pathways)
    stage = pathway["stages"][(draw.index // len(pathways)) % len(pathway["stages"])]
    chart, known = _patient(draw, pathway, stage)
    pid = chart.patient_id
    shown = dict(known)
    if difficulty == "hard":
        decoys = [name for name in DECOYS if name not in known]
        shown |= {str(name): float(chart.lab_results[name].value) for name in draw.rng.permutation(decoys)[:3]}
    extra: dict[str, Any] = {"earlier": dict(sorted(shown.items()))}
    if "note" in stage:
        extra["on_file"] = {"note": stage["note"]}
    chart = replace(chart, chief_complaint=pathway["complaint"], comorbidities=(), medications=(), extra=extra)
    evidence = [Evidence(any_of=(f"{pid}.chief_complaint",), label="the front sheet")]
    evidence += [
        Evidence(any_of=(f"{pid}.{'studies' if name in load().studies else 'labs'}.{name}",), label="an earlier result")
        for name in known
    ]
    evidence.append(Evidence(any_of=(f"kb.pathway.{pathway['id']}",), label="the pathway"))
    problem = f" for suspected {pathway['names'][0]}" if difficulty == "easy" else ""
    return make_case(
        draw,
        chart,
        prompt=wording(draw, who=pid, problem=problem),
        difficulty=difficulty,
        answer={"next_test": AnswerField(gold=stage["next"])},
        evidence=evidence,
        solution=(
            Call("open_chart", patient_id=pid),
            Call("earlier_results", patient_id=pid),
            Call("test_pathway", problem=pathway["id"]),
            Call("submit_diagnosis", next_test=stage["next"]),
        ),
        condition=pathway["id"],
    )
