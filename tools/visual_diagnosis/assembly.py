"""Puts a case together: chart with images, prompt, gold, evidence, alert, and the oracle's calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from healthgym.errors import TaskError
from healthgym.knowledge_base.normal import body_size
from healthgym.knowledge_base.reading import read_yaml
from healthgym.tasks import AnswerField, Budget, Call, Case, Criteria, Deadline, Evidence, Hazard, Task
from healthgym.tasks.families import Draw
from healthgym.world import Chart

from .images import FOLDER, prompts

BUDGET = Budget(turns=14, tool_calls=30, minutes=60)
ALERT_MINUTES = 40.0
PATIENT = "P1"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The right answer of a case and what leads to it.

    measured: (image id, measurement) pairs that must be seen; having viewed the image serves as well.
    alert: what the clinician must be told at once; empty when there is nothing.
    """

    conclusion: str
    options: Sequence[str]
    value: float
    tolerance: float
    unit: str
    value_is: str
    look: tuple[Call, ...]
    measured: tuple[tuple[str, str], ...]
    source: str
    side: str = ""
    alert: str = ""
    condition: str = ""


@dataclass(frozen=True, kw_only=True)
class Study:
    """What the chart holds of a case: images in order, request and notes, and which images the prompt shows."""

    images: Mapping[str, Mapping[str, Any]]
    request: str
    notes: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    age_years: float | None = None
    sex: str = ""
    condition: str = field(default="")


def difficulty_of(draw: Draw) -> str:
    """Return easy, medium or hard, by turns of the index, so that every split has all three."""
    return ("easy", "medium", "hard")[draw.index % 3]


def turn(draw: Draw, options: Sequence[str]) -> str:
    """Return the options by turns, so that every answer is equally common at every difficulty."""
    return options[(draw.index // 3 + draw.index % 3) % len(options)]


def uniform(rng: np.random.Generator, low: float, high: float, digits: int = 1) -> float:
    """Return a rounded number between two limits."""
    return round(float(rng.uniform(low, high)), digits)


def make_case(draw: Draw, study: Study, reading: Reading, difficulty: str) -> Case:
    """Return the task with its chart."""
    rng = draw.rng
    age = study.age_years if study.age_years is not None else float(rng.integers(18, 96))
    sex = study.sex or ("female" if rng.random() < 0.5 else "male")
    weight, height = body_size(rng, sex, age)
    chart = Chart(
        patient_id=PATIENT,
        age_years=age,
        sex=sex,  # type: ignore[arg-type]
        weight_kg=weight,
        height_cm=height,
        condition=reading.condition or reading.conclusion,
        extra={"images": study.images, "request": study.request, "notes": study.notes},
    )
    answer = {
        "conclusion": AnswerField(gold=reading.conclusion, weight=2.0),
        "value": AnswerField(gold=reading.value, compare="range", tolerance=reading.tolerance, unit=reading.unit),
    }
    submitted: dict[str, Any] = {"conclusion": reading.conclusion, "value": reading.value}
    if reading.side:
        answer["side"] = AnswerField(gold=reading.side)
        submitted["side"] = reading.side
    template, prompt = _prompt(draw, reading)
    task = Task(
        id=draw.task_id,
        domain=draw.domain,
        split=draw.split,
        family=draw.family,
        seed=draw.seed,
        prompt=prompt,
        difficulty=difficulty,  # type: ignore[arg-type]
        template=template,
        condition=reading.condition or reading.conclusion,
        image_ids=study.shown,
        criteria=Criteria(
            answer=answer,
            evidence=_evidence(reading),
            deadlines=_deadlines(reading),
            hazards=_hazards(reading),
            budget=BUDGET,
        ),
        solution=(
            Call("read_request", patient_id=PATIENT),
            Call("list_images", patient_id=PATIENT),
            *reading.look,
            *((Call("alert_clinician", patient_id=PATIENT, finding=reading.alert),) if reading.alert else ()),
            Call("submit_reading", patient_id=PATIENT, **submitted),
        ),
        provenance=f"phantom, seed {draw.seed}; criteria: {reading.source}",
    )
    return Case(task, {PATIENT: chart})


def _evidence(reading: Reading) -> tuple[Evidence, ...]:
    seen = tuple(
        Evidence(
            any_of=(f"{PATIENT}.viewed.{image_id}", f"{PATIENT}.measured.{image_id}.{what}"),
            label=f"{what} of image {image_id}",
        )
        for image_id, what in reading.measured
    )
    return (Evidence(any_of=(f"{PATIENT}.request",), label="the request"), *seen)


def _deadlines(reading: Reading) -> tuple[Deadline, ...]:
    if not reading.alert:
        return ()
    return (
        Deadline(
            tool="alert_clinician",
            where={"patient_id": PATIENT, "finding": reading.alert},
            within_minutes=ALERT_MINUTES,
            severity="critical",
            label="critical finding not passed on",
        ),
    )


def _hazards(reading: Reading) -> tuple[Hazard, ...]:
    where = {"finding": {"ne": reading.alert}} if reading.alert else {}
    return (Hazard(tool="alert_clinician", where=where, severity="serious", label="alarm without the finding"),)


def _prompt(draw: Draw, reading: Reading) -> tuple[str, str]:
    """Return a template id and the prompt of one of the split's wordings. Raises TaskError when there is none."""
    wordings = prompts().get(draw.family, {}).get(draw.split, ())
    if not wordings:
        raise TaskError(f"prompts.yaml has no wording for family {draw.family!r} in split {draw.split!r}")
    number = int(draw.rng.integers(len(wordings)))
    answer = f"Conclusion: {', '.join(reading.options)}. Value: {reading.value_is}"
    if reading.unit:
        answer += f" in {reading.unit}"
    if reading.side:
        answer += ". Side: right, left, both or none"
    return f"{draw.family}/{draw.split}/{number}", f"{wordings[number].format(patient=PATIENT)} {answer}."


@lru_cache(maxsize=1)
def _requests() -> dict[str, list[str]]:
    return dict(read_yaml(FOLDER / "requests.yaml"))


def request_of(draw: Draw, name: str) -> str:
    """Return one of the clinical questions of a family; none of them tells the answer."""
    options = _requests()[name]
    return options[int(draw.rng.integers(len(options)))]
