"""Draws the patient of one branch: a knowledge-base chart with what the branch fixes."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from healthgym.knowledge_base import KnowledgeBase, load
from healthgym.knowledge_base.patients import sample_patient
from healthgym.tasks.task import Difficulty
from healthgym.world import Allergy, Chart, Event, Finding, LabResult, Medication, Persona, Study, VitalSigns

from .risk_scores import treatment_line_mg_l
from .schema import Branch, Pathway, Told, Twist
from .steps import aim, done_path, split_step

BYSTANDERS = ("hypertension", "hyperlipidaemia", "osteoarthritis", "hypothyroidism", "reflux", "gout")
"""Illnesses that change nothing on these pathways; drawn ones are kept."""
BYSTANDER_MEDICINES = ("amlodipine", "atorvastatin", "levothyroxine", "omeprazole", "allopurinol", "simvastatin")
USUAL_CLEARANCE = (62.0, 105.0)
"""Creatinine clearance in mL/min where no twist lowers it; a design choice of the simulated population."""
LINE_SHARE = "paracetamol_share_of_line"
"""Key of a branch's labs: the concentration as a share of the treatment line at the hour of sampling."""
_PRONOUNS = {
    "female": {"he": "she", "He": "She", "his": "her", "His": "Her", "him": "her", "himself": "herself"},
    "male": {"he": "he", "He": "He", "his": "his", "His": "His", "him": "him", "himself": "himself"},
}


def draw_patient(
    rng: np.random.Generator, pathway: Pathway, branch: Branch, twist: Twist | None, difficulty: Difficulty
) -> Chart:
    """Draw one patient, P1, with the course of `branch` and the complication of `twist`."""
    kb = load()
    low, high = branch.age
    age = round(float(rng.uniform(low, high)), 3) if high < 2 else float(rng.integers(int(low), int(high) + 1))
    sex = branch.sex if branch.sex != "any" else str(rng.choice(["female", "male"]))
    weeks = 0.0 if branch.pregnancy_weeks is None else round(float(rng.uniform(*branch.pregnancy_weeks)), 1)
    allergies = (
        (Allergy(substance=twist.allergy, reaction=twist.reaction, severity="severe"),)
        if twist and twist.allergy
        else ()
    )
    chart = sample_patient(
        rng,
        branch.condition,
        severity=branch.severity or None,
        age_years=age,
        sex=sex,
        pregnancy_weeks=weeks,
        allergies=allergies,
        persona=_persona(kb, branch, difficulty),
    )
    weight = chart.weight_kg if branch.weight_kg is None else round(float(rng.uniform(*branch.weight_kg)), 1)
    numbers = {told.id: float(round(rng.uniform(*told.value))) for told in branch.told if told.value is not None}
    illnesses = dict.fromkeys((*branch.comorbidities, *((twist.comorbidity,) if twist and twist.comorbidity else ())))
    illnesses.update(dict.fromkeys(name for name in chart.comorbidities if name in BYSTANDERS))
    return replace(
        chart,
        weight_kg=weight,
        comorbidities=tuple(illnesses),
        medications=_medicines(kb, chart, branch, twist),
        chief_complaint=(branch.complaint or chart.chief_complaint).format_map(_PRONOUNS[sex]),
        vital_signs=((0.0, _vital_signs(rng, chart, branch)),),
        findings=_findings(kb, chart, branch, numbers),
        lab_results=_labs(rng, kb, replace(chart, weight_kg=weight), branch, twist, numbers),
        studies={name: Study(id=name, report=text) for name, text in {**_reports(chart), **branch.studies}.items()},
        events=_events(pathway, branch, twist),
        extra={
            "pathway": pathway.id,
            "branch": branch.id,
            "directory": dict(branch.directory),
            "reports": dict(branch.reports),
            "effects": [_effect(pathway, branch, twist, index) for index in range(len(branch.effects))],
            "sequence": [(aim(first, pathway), aim(then, pathway)) for first, then in _pairs(branch, twist)],
        },
    )  # fmt: skip


def swapped(step: str, twist: Twist | None) -> str:
    """Return a step with the twist's replacement of its drug or treatment."""
    verb, _, item = step.partition(" ")
    return f"{verb} {twist.swap[item]}" if twist and item in twist.swap else step


def _pairs(branch: Branch, twist: Twist | None) -> list[tuple[str, str]]:
    return [(swapped(first, twist), swapped(then, twist)) for first, then in branch.sequence]


def _persona(kb: KnowledgeBase, branch: Branch, difficulty: Difficulty) -> Persona:
    """Return who tells the history; in hard tasks what is asked first is told only when asked again."""
    told = {item.id: item.topics for item in branch.told}
    asked = [step.split()[1] for step in branch.steps if step.startswith("ask ")]
    if difficulty != "hard" or branch.informant == "relative":
        asked = []
    topics = told.get(asked[0]) or kb.symptoms[asked[0]].topics if asked else ()
    return Persona(informant=branch.informant or "patient", reticent_topics=topics[:1])


def _reports(chart: Chart) -> dict[str, str]:
    return {name: study.report for name, study in chart.studies.items()}


def _medicines(kb: KnowledgeBase, chart: Chart, branch: Branch, twist: Twist | None) -> tuple[Medication, ...]:
    names = (*branch.medicines, *((twist.medicine,) if twist and twist.medicine else ()))
    own = []
    for name in names:
        dose = kb.drugs[name].usual_dose
        own.append(
            Medication(
                drug=name, dose_mg=dose.dose_mg if dose else 0.0, times_per_day=dose.times_per_day if dose else 1
            )
        )
    kept = (m for m in chart.medications if m.drug in BYSTANDER_MEDICINES and m.drug not in names)
    return (*own, *kept)


def _vital_signs(rng: np.random.Generator, chart: Chart, branch: Branch) -> VitalSigns:
    now = chart.vital_signs[0][1]
    whole = {field.name for field in fields(VitalSigns)} - {"temperature_c", "glucose_mg_dl"}
    changes: dict[str, Any] = {
        name: round(float(rng.uniform(*bounds)), 1)
        if name not in whole
        else int(rng.integers(int(bounds[0]), int(bounds[1]) + 1))
        for name, bounds in branch.vital_signs.items()
    }
    if branch.gcs is not None:
        changes["gcs"] = branch.gcs
    if "systolic_bp_mmhg" in changes and "diastolic_bp_mmhg" not in changes:
        changes["diastolic_bp_mmhg"] = round(changes["systolic_bp_mmhg"] * 0.55)
    if now.glucose_mg_dl is not None:
        changes["glucose_mg_dl"] = float(round(changes.get("glucose_mg_dl", now.glucose_mg_dl)))
    return replace(now, **changes)


def _findings(kb: KnowledgeBase, chart: Chart, branch: Branch, numbers: Mapping[str, float]) -> tuple[Finding, ...]:
    """Return the drawn findings, those that the branch fixes in their place, and the branch's own."""
    fixed = {**dict.fromkeys(branch.present, True), **dict.fromkeys(branch.absent, False)}
    own = [_told(told, chart, numbers) for told in branch.told]
    drawn = [
        f
        for f in chart.findings
        if f.id not in fixed and f.id not in {*branch.drop, *(told.id for told in branch.told)}
    ]
    return (*own, *(_known(kb, name, present, chart) for name, present in fixed.items()), *drawn)


def _known(kb: KnowledgeBase, name: str, present: bool, chart: Chart) -> Finding:
    if name in kb.signs:
        sign = kb.signs[name]
        text = sign.text if present else sign.absent
        return Finding(id=name, reveal="examine", present=present, text=text, system=sign.system)
    symptom = kb.symptoms[name]
    if chart.persona.informant == "patient":
        lay = symptom.lay if present else symptom.absent
    else:
        lay = (symptom.other if present else symptom.other_absent).format_map(_PRONOUNS[chart.sex])
    return Finding(id=name, reveal="ask", present=present, text=symptom.text, lay=lay, topics=symptom.topics)


def _told(told: Told, chart: Chart, numbers: Mapping[str, float]) -> Finding:
    value = numbers.get(told.id)
    words = {**_PRONOUNS[chart.sex], "value": f"{value:g}" if value is not None else ""}
    if told.system:
        return Finding(id=told.id, reveal="examine", present=told.present, text=told.text, system=told.system)
    lay = told.lay if chart.persona.informant == "patient" or not told.other else told.other
    return Finding(
        id=told.id, reveal="ask", present=told.present, text=told.id.replace("_", " "), lay=lay.format_map(words),
        topics=told.topics, value=value,
    )  # fmt: skip


def _labs(
    rng: np.random.Generator,
    kb: KnowledgeBase,
    chart: Chart,
    branch: Branch,
    twist: Twist | None,
    numbers: Mapping[str, float],
) -> dict[str, LabResult]:
    """Return the drawn results with those that branch and twist fix; an adult's creatinine follows a drawn clearance."""
    labs = dict(chart.lab_results)
    wanted = {
        name: float(rng.uniform(*bounds)) for name, bounds in {**branch.labs, **(twist.labs if twist else {})}.items()
    }
    if LINE_SHARE in wanted:
        wanted["paracetamol_level"] = wanted.pop(LINE_SHARE) * treatment_line_mg_l(numbers["hours_since_tablets"] + 0.5)
    if chart.age_years >= 18 and "creatinine" not in wanted:
        target = float(rng.uniform(*(twist.clearance if twist and twist.clearance else USUAL_CLEARANCE)))
        factor = 0.85 if chart.sex == "female" else 1.0
        wanted["creatinine"] = (140 - chart.age_years) * chart.weight_kg * factor / (72 * target)
    for name, value in wanted.items():
        analyte = kb.analytes[name]
        rounded = round(value, analyte.decimals) if analyte.decimals else float(round(value))
        labs[name] = LabResult(analyte=name, value=rounded, unit=analyte.unit)
    return labs


def _events(pathway: Pathway, branch: Branch, twist: Twist | None) -> tuple[Event, ...]:
    events = []
    for happening in branch.happenings:
        unless: dict[str, Any] = {}
        if happening.unless:
            verb, item = split_step(swapped(happening.unless, twist))
            item = pathway.doses[item].drug if verb == "give" else item
            unless = {f"P1.{done_path(verb, item)}": {"gt": 0} if verb == "give" else True}
        events.append(
            Event(minute=happening.minute, text=happening.text, vital_signs=dict(happening.vital_signs), unless=unless)
        )
    return tuple(sorted(events, key=lambda event: event.minute))


def _effect(pathway: Pathway, branch: Branch, twist: Twist | None, index: int) -> dict[str, Any]:
    effect = branch.effects[index]
    tool, where = aim(swapped(effect.step, twist), pathway)
    return {
        "tool": tool, "item": next(iter(where.values())), "after": effect.after,
        "vital_signs": dict(effect.vital_signs), "labs": dict(effect.labs),
    }  # fmt: skip
