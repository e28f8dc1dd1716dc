"""What every task family shares: draws, image descriptions, wording, and putting a Case together."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from healthgym.content import read_yaml
from healthgym.tasks import AnswerField, Budget, Call, Case, Criteria, Deadline, Evidence, Hazard, Task
from healthgym.tasks.families import Draw
from healthgym.tasks.task import Difficulty
from healthgym.world import Chart

DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "medium", "hard")
COUNTS = {"train": 26, "val": 3, "test": 5, "test_ood": 3}
CALL_WITHIN_MINUTES = 30
PATIENT = "P1"


def pick(draw: Draw, items: Sequence[Any]) -> Any:
    """Return one of `items`, uniformly."""
    return items[int(draw.rng.integers(len(items)))]


def pick_difficulty(draw: Draw) -> Difficulty:
    """Return easy, medium or hard with equal chance."""
    return DIFFICULTIES[int(draw.rng.integers(3))]


def between(draw: Draw, low: float, high: float) -> float:
    """Return a number from low to high with one decimal."""
    return round(float(draw.rng.uniform(low, high)), 1)


def image(draw: Draw, kind: str, title: str, reach: float = 4.0, **more: Any) -> dict[str, Any]:
    """Return the description of one image, with its own noise and position."""
    return {
        "kind": kind,
        "title": title,
        "seed": int(draw.rng.integers(1, 1_000_000)),
        "shift": [between(draw, -reach, reach), between(draw, -reach, reach)],
        **more,
    }


def ellipse(draw: Draw, mean_mm: float, ratio: float = 0.8, angle: float | None = None) -> dict[str, float]:
    """Return axes and angle of an ellipse by its mean diameter and the ratio of its axes."""
    long_mm = 2 * mean_mm / (1 + ratio)
    turn = between(draw, 0, 180) if angle is None else angle
    return {"long_mm": round(long_mm, 2), "short_mm": round(ratio * long_mm, 2), "angle": turn}


def at(spec: Mapping[str, Any], lesion: Mapping[str, Any]) -> dict[str, float]:
    """Return where a lesion lies on an image, as arguments of a tool."""
    return {"x_mm": round(lesion["x"] + spec["shift"][0], 1), "y_mm": round(lesion["y"] + spec["shift"][1], 1)}


def entry(finding: str, present: bool = True, **parts: Any) -> dict[str, Any]:
    """Return one finding of a report without the parts that do not apply."""
    return {
        "finding": finding,
        "present": present,
        **{name: value for name, value in parts.items() if value is not None},
    }


def patient(draw: Draw, low: float, high: float, sex: str | None = None) -> dict[str, Any]:
    """Return age, sex and weight of a patient."""
    chosen = sex or pick(draw, ("female", "male"))
    return {"age_years": float(int(between(draw, low, high))), "sex": chosen, "weight_kg": between(draw, 52, 98)}


@lru_cache(maxsize=1)
def _prompts() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return read_yaml(Path(__file__).parent / "prompts.yaml")


def wording(draw: Draw) -> tuple[str, str]:
    """Return a prompt of this family and split, and its template id."""
    texts = _prompts()[draw.family][draw.split]
    number = int(draw.rng.integers(len(texts)))
    return texts[number], f"{draw.family}/{draw.split}/{number}"


def searched(names: Sequence[str], label: str) -> list[Evidence]:
    """Return the evidence that each of these images was looked at."""
    return [Evidence(any_of=(f"{PATIENT}.viewed.{name}",), label=label) for name in names]


def measured(names: Sequence[str], label: str = "the lesion measured on the image") -> list[Evidence]:
    """Return the evidence that something was measured on each of these images."""
    return [
        Evidence(any_of=tuple(f"{PATIENT}.{way}.{name}" for way in ("measured", "profiled")), label=label)
        for name in names
    ]


def make_case(
    draw: Draw,
    *,
    who: Mapping[str, Any],
    title: str,
    template: str,
    request: str,
    images: Mapping[str, Mapping[str, Any]],
    findings: Sequence[Mapping[str, Any]],
    evidence: Sequence[Evidence],
    looks: Sequence[Call],
    difficulty: Difficulty,
    condition: str,
    size_tolerance_mm: float = 2.0,
    history: Sequence[str] = ("Nothing relevant recorded.",),
    priors: Sequence[Mapping[str, str]] = (),
    category: str = "",
    follow_up: str = "",
    critical: tuple[str, str] | None = None,
) -> Case:
    """Put a Case together: chart, criteria, budget and the oracle's calls.

    Args:
        findings: The gold report; see `entry`.
        looks: The oracle's calls between the request and the report.
        critical: (finding, recipient) where a result must be called; None where none may be.
    """
    chart = Chart(
        patient_id=PATIENT,
        condition=condition,
        extra={
            "study": {"title": title, "template": template, "request": request},
            "history": list(history),
            "priors": [dict(prior) for prior in priors],
            "images": {name: dict(spec) for name, spec in images.items()},
            "truth": {"critical": critical[0] if critical else "", "findings": [dict(item) for item in findings]},
        },
        **who,
    )
    each: dict[str, dict[str, Any]] = {
        "size_mm": {"compare": "range", "tolerance": size_tolerance_mm},
        "descriptors": {"compare": "set"},
    }
    answer = {
        "findings": AnswerField(
            gold=tuple(findings),
            compare="items",
            match=("finding", "present"),
            each=each,
            ignore={"present": False},
            weight=3,
        )
    }
    answer |= {
        name: AnswerField(gold=gold) for name, gold in (("category", category), ("follow_up", follow_up)) if gold
    }
    end_state: dict[str, Any] = {f"{PATIENT}.critical_call": critical[0] if critical else None}
    calls = [Call("open_study", patient_id=PATIENT), *looks]
    deadlines: tuple[Deadline, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    if critical:
        finding, recipient = critical
        end_state[f"{PATIENT}.critical_recipient"] = recipient
        calls.append(
            Call(
                "call_critical_result",
                patient_id=PATIENT,
                finding=finding,
                recipient=recipient,
                message=f"{finding.replace('_', ' ')}, please act now.",
            )
        )
        deadlines = (
            Deadline(
                tool="call_critical_result", where={"patient_id": PATIENT}, after=f"{PATIENT}.viewed.now*",
                within_minutes=CALL_WITHIN_MINUTES, severity="critical", label="critical result not called in time",
            ),
        )  # fmt: skip
    else:
        hazards = (Hazard(tool="call_critical_result", severity="minor", label="alarm without a critical finding"),)
    submission: dict[str, Any] = {"patient_id": PATIENT, "findings": [dict(item) for item in findings]}
    submission |= {name: gold for name, gold in (("category", category), ("follow_up", follow_up)) if gold}
    calls.append(Call("submit_report", **submission))
    prompt, name = wording(draw)
    task = Task(
        id=draw.task_id,
        domain=draw.domain,
        split=draw.split,
        family=draw.family,
        seed=draw.seed,
        prompt=prompt,
        template=name,
        difficulty=difficulty,
        condition=condition,
        criteria=Criteria(
            answer=answer,
            end_state=end_state,
            evidence=(Evidence(any_of=(f"{PATIENT}.request",), label="the request"), *evidence),
            hazards=hazards,
            deadlines=deadlines,
            budget=Budget(turns=len(calls) + 10, tool_calls=len(calls) + 20),
        ),
        solution=tuple(calls),
        provenance=f"synthetic phantom study, family {draw.family}, seed {draw.seed}",
    )
    return Case(task, {PATIENT: chart})
