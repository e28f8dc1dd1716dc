"""Interpretation: acid and base, sodium, calcium, gas exchange; the disorder and the figure that shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart

from ..scores.alveolar_gradient import alveolar_gradient_mmhg
from ..scores.corrected_calcium import corrected_calcium_mg_dl
from ..scores.corrected_sodium import corrected_sodium_mmol_l
from .cases import in_turn, make_case, pick, sample, with_labs, wording
from .gas_builders import DISORDERS, gap_value
from .oracle import test_calls

HELD_OUT = ("high_gap_acidosis_and_respiratory_alkalosis", "gas_exchange_defect", "hypoventilation")
"""Disorders that appear in test_ood only."""
ADULT_YEARS = 18


@dataclass(frozen=True)
class Group:
    """Results that are read together: their analytes, the figure asked for, its unit, and the tool that computes it."""

    question: str
    labs: tuple[str, ...]
    figure: str
    unit: str
    tool: str


GROUPS: Mapping[str, Group] = {
    "gas": Group(
        "acid-base state",
        ("ph_arterial", "pco2_arterial", "bicarbonate", "sodium", "chloride", "albumin"),
        "the albumin-corrected anion gap", "mmol/L", "anion_gap",
    ),
    "sodium": Group("sodium", ("sodium", "glucose"), "the sodium corrected for glucose", "mmol/L", "corrected_sodium"),
    "calcium": Group("calcium", ("calcium", "albumin"), "the calcium corrected for albumin", "mg/dL", "corrected_calcium"),
    "exchange": Group(
        "low oxygen", ("po2_arterial", "pco2_arterial"), "the alveolar-arterial gradient on room air", "mmHg",
        "alveolar_arterial_gradient",
    ),
}  # fmt: skip


def figure(group: str, labs: Mapping[str, float], age_years: float) -> tuple[float, dict[str, Any]]:
    """Return the figure asked for, worked out from printed results, and the arguments of the tool that computes it."""
    if group == "gas":
        names = ("sodium", "chloride", "bicarbonate")
        return gap_value(labs), {**{f"{n}_mmol_l": labs[n] for n in names}, "albumin_g_dl": labs["albumin"]}
    if group == "sodium":
        arguments = {"sodium_mmol_l": labs["sodium"], "glucose_mg_dl": labs["glucose"]}
        return corrected_sodium_mmol_l(**arguments), arguments
    if group == "calcium":
        arguments = {"calcium_mg_dl": labs["calcium"], "albumin_g_dl": labs["albumin"]}
        return corrected_calcium_mg_dl(**arguments), arguments
    arguments = {"po2_arterial_mmhg": labs["po2_arterial"], "pco2_arterial_mmhg": labs["pco2_arterial"]}
    return alveolar_gradient_mmhg(**arguments), {**arguments, "age_years": age_years}


def _patient(draw: Draw, condition: str) -> Chart:
    while True:
        chart = sample(draw, condition)
        if chart.age_years >= ADULT_YEARS and not chart.pregnancy_weeks:
            return replace(chart, comorbidities=(), medications=())


@task_family(counts={"train": 72, "val": 10, "test": 16, "test_ood": 9})
def acid_base_and_salts(draw: Draw) -> Case:
    """Order what is needed, work out the figure, and name the disorder."""
    names = [name for name in DISORDERS if (name in HELD_OUT) == (draw.split == "test_ood")]
    disorder = in_turn(draw, names)
    group_name, options = DISORDERS[disorder]
    group = GROUPS[group_name]
    condition, build = pick(draw, options)
    misleading = bool(draw.rng.random() < 0.5)
    chart = _patient(draw, condition)
    results = build(draw, misleading, chart.age_years)
    chart = with_labs(chart, results.labs)
    now = chart.vital_signs[0][1]
    now = replace(
        now,
        glucose_mg_dl=results.glucose_mg_dl or now.glucose_mg_dl,
        spo2_percent=results.spo2_percent or now.spo2_percent,
    )
    chart = replace(chart, vital_signs=((0.0, now),))
    printed = {name: float(chart.lab_results[name].value) for name in group.labs}
    value, arguments = figure(group_name, printed, chart.age_years)
    mixed = "_and_" in disorder
    difficulty = "hard" if mixed or (misleading and group_name == "calcium") else "medium" if misleading else "easy"
    pid = chart.patient_id
    evidence = [Evidence(any_of=(f"{pid}.labs.{name}",), label="a result it rests on") for name in group.labs]
    if group_name == "exchange":
        evidence.append(Evidence(any_of=(f"{pid}.age_years",), label="age"))
    return make_case(
        draw,
        chart,
        prompt=wording(draw, who=pid, question=group.question, figure=group.figure, unit=group.unit),
        difficulty=difficulty,  # type: ignore[arg-type]
        answer={
            "disorder": AnswerField(gold=disorder),
            "value": AnswerField(gold=round(value, 1), compare="range", tolerance=0.6, unit=group.unit),
        },
        evidence=evidence,
        solution=(
            Call("open_chart", patient_id=pid),
            *test_calls(pid, group.labs),
            Call(group.tool, **arguments),
            Call("submit_diagnosis", disorder=disorder, value=round(value, 1)),
        ),
        condition=disorder,
    )
