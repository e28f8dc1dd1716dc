"""One arrival: level, protocol, disposition and impression; and the arrivals for whom minutes count."""

from dataclasses import replace
from functools import lru_cache

from healthgym.errors import TaskError
from healthgym.knowledge_base import load
from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.tasks.task import Difficulty
from healthgym.world import Chart

from .cases import MAX_DRAWS, by_split, esi_field, introduction, make_case, pick, pick_difficulty, sample, wording
from .gold import triage_gold
from .oracle import decisive
from .reference import table

MIMICS = (
    "nstemi", "pneumonia", "hypoglycaemia", "migraine_attack", "asthma_attack", "syncope_vasovagal",
    "transient_ischaemic_attack", "panic_attack", "contact_dermatitis",
)  # fmt: skip
"""Conditions that look like a protocol's and need none."""


@lru_cache(maxsize=1)
def protocol_conditions() -> tuple[str, ...]:
    """Return the conditions every severity of which calls for a protocol."""
    return tuple(
        name
        for name, condition in load().conditions.items()
        if all(severity.triage.protocol != "none" for severity in condition.severities.values())
    )


def workable(
    draw: Draw, conditions: list[str], difficulty: Difficulty
) -> tuple[Chart, tuple[Evidence, ...], tuple[Call, ...]]:
    """Draw a patient of one of `conditions` whose findings point to the condition; reticent when hard."""
    condition = pick(draw, conditions)
    for _ in range(MAX_DRAWS):
        chart = sample(draw, condition)
        if difficulty == "hard":
            chart = reticent(chart)
        found = decisive(chart)
        if found is not None:
            return chart, *found
    raise TaskError(f"family {draw.family}: no patient with {condition} shows a key finding in {MAX_DRAWS} draws")


def reticent(chart: Chart) -> Chart:
    """Return the chart with a patient who tells the first key symptom only when asked again."""
    key = next((f for f in chart.findings if f.reveal == "ask" and f.present), None)
    if key is None or chart.persona.informant != "patient":
        return chart
    return replace(chart, persona=replace(chart.persona, reticent_topics=key.topics[:1]))


@task_family(counts={"train": 120, "val": 20, "test": 40, "test_ood": 20})
def single_arrival(draw: Draw) -> Case:
    """Sort one arrival by everything the desk can find out."""
    difficulty = pick_difficulty(draw)
    chart, evidence, calls = workable(draw, by_split(tuple(load().conditions), draw), difficulty)
    gold = triage_gold(chart)
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=introduction(chart, difficulty)),
        difficulty=difficulty,
        answer={
            "esi_level": esi_field(gold.level),
            "disposition": AnswerField(gold=gold.disposition),
            "protocol": AnswerField(gold=gold.protocol),
            "impression": AnswerField(gold=chart.condition),
        },
        evidence=evidence,
        solution=(
            *calls,
            Call(
                "submit_triage",
                esi_level=gold.level,
                disposition=gold.disposition,
                protocol=gold.protocol,
                impression=chart.condition,
            ),
        ),
    )


@task_family(counts={"train": 60, "val": 10, "test": 24, "test_ood": 12})
def time_critical(draw: Draw) -> Case:
    """Call the right team before its deadline, or none: look-alikes and other arrivals need no team."""
    difficulty = pick_difficulty(draw)
    protocols = protocol_conditions()
    others = tuple(name for name in load().conditions if name not in protocols)
    share = 0.25 if draw.split == "test_ood" else 0.5  # one held-out condition alone has a protocol
    chance = draw.rng.random()
    pool = by_split(protocols if chance < share else MIMICS if chance < (1 + share) / 2 else others, draw)
    chart, evidence, calls = workable(draw, pool, "easy")
    gold = triage_gold(chart)
    extra = () if gold.protocol == "none" else (Call("activate_protocol", patient_id="P1", protocol=gold.protocol),)
    if gold.protocol != "none":
        chart = replace(
            chart, extra={**chart.extra, "protocol_deadline_minutes": table("protocols")[gold.protocol]["minutes"]}
        )
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=introduction(chart, difficulty)),
        difficulty=difficulty,
        answer={
            "esi_level": esi_field(gold.level),
            "protocol": AnswerField(gold=gold.protocol),
            "impression": AnswerField(gold=chart.condition),
        },
        end_state={"P1.protocol": gold.protocol if extra else None},
        evidence=evidence,
        solution=(
            *calls,
            *extra,
            Call("submit_triage", esi_level=gold.level, protocol=gold.protocol, impression=chart.condition),
        ),
    )
