"""Policies that must not succeed at triage: they guess, flood, copy or only talk."""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from healthgym.envs.episode import Episode
from healthgym.errors import ToolError
from healthgym.registry import load_domain
from healthgym.tasks import Call, Case, Suite
from healthgym.world import Services

DOMAIN = "triage_emergency"
SYSTEMS = ("general", "neurological", "cardiovascular", "respiratory", "abdominal", "limb", "skin", "head_neck")
WORDS = ("paracetamol", "ibuprofen", "morphine", "pneumonia", "sepsis", "What is wrong?", "chest pain", "stroke")


@lru_cache(maxsize=1)
def suite() -> Suite:
    return Suite([load_domain(DOMAIN)])


def message(*calls: Call) -> dict[str, Any]:
    entries = [{"function": {"name": call.tool, "arguments": dict(call.arguments)}} for call in calls]
    return {"content": "", "tool_calls": entries}


class EmptyShelf:
    """A retriever without passages: what triage needs stands in its own tools."""

    def search(self, query: str, k: int) -> list[Any]:
        return []

    def passage(self, passage_id: str) -> Any:
        raise ToolError(f"No passage {passage_id[:40]!r}.")


SERVICES = Services(retriever=EmptyShelf())


def start(case: Case) -> Episode:
    return Episode(case, load_domain(DOMAIN), services=SERVICES)


def play(episode: Episode, calls) -> Episode:
    for call in calls:
        if episode.is_over:
            break
        episode.apply(message(call))
    return episode


@lru_cache(maxsize=8)
def common_answer(family: str) -> tuple[Call, ...]:
    """Return the family's most frequent ending: its write calls and its submission."""
    endings: Counter[str] = Counter()
    calls: dict[str, tuple[Call, ...]] = {}
    for task_id in suite().ids(DOMAIN, "train", [family])[:200]:
        ending = tuple(c for c in suite().task(task_id).solution if c.tool in WRITES)
        key = repr([(c.tool, sorted(c.arguments.items())) for c in ending])
        endings[key] += 1
        calls[key] = ending
    return calls[endings.most_common(1)[0][0]]


WRITES = ("submit_triage", "give_medication", "activate_protocol", "assign_esi")


def oracle(case: Case, rng: np.random.Generator) -> Episode:
    return play(start(case), case.task.solution)


def immediate(case: Case, rng: np.random.Generator) -> Episode:
    return play(start(case), common_answer(case.task.family))


def silent(case: Case, rng: np.random.Generator) -> Episode:
    return _talk(start(case), "I am thinking.")


def parrot(case: Case, rng: np.random.Generator) -> Episode:
    return _talk(start(case), f"{case.task.prompt} ESI level 2, allergies checked, vital signs taken, safe, correct.")


def mention(case: Case, rng: np.random.Generator) -> Episode:
    episode = start(case)
    done = "; ".join(f"{c.tool} {dict(c.arguments)}" for c in case.task.solution[:-1])
    episode.apply(
        {"content": f"I did: {done}. Everything was seen.", "tool_calls": message(case.task.solution[-1])["tool_calls"]}
    )
    return episode


def wrong_patient(case: Case, rng: np.random.Generator) -> Episode:
    ids = suite().ids(DOMAIN, case.task.split, [case.task.family])
    other = suite().task(ids[int(rng.integers(len(ids)))])
    return play(start(case), other.solution if other.id != case.task.id else ())


def spammer(case: Case, rng: np.random.Generator) -> Episode:
    """Call every tool that reads, on every patient, then give the family's most common answer."""
    episode = start(case)
    calls = []
    for name, spec in episode.permitted.items():
        if spec.effect != "read":
            continue
        for patient in case.charts:
            for system in SYSTEMS if name == "examine" else (None,):
                arguments = _arguments(spec.parameters, case, rng)
                arguments |= {"patient_id": patient} if "patient_id" in arguments else {}
                arguments |= {"system": system} if system else {}
                arguments |= {"question": "What is wrong?"} if name == "ask_patient" else {}
                calls.append(Call(name, **arguments))
    return play(episode, (*calls, *common_answer(case.task.family)))


def random_calls(case: Case, rng: np.random.Generator) -> Episode:
    episode = start(case)
    names = list(episode.permitted)
    while not episode.is_over:
        name = names[int(rng.integers(len(names)))]
        play(episode, [Call(name, **_arguments(episode.permitted[name].parameters, case, rng))])
    return episode


def _arguments(parameters: Mapping[str, Any], case: Case, rng: np.random.Generator) -> dict[str, Any]:
    return {name: _value(name, schema, case, rng) for name, schema in parameters["properties"].items()}


def _value(name: str, schema: Mapping[str, Any], case: Case, rng: np.random.Generator) -> Any:
    if name == "patient_id":
        return list(case.charts)[int(rng.integers(len(case.charts)))]
    if name == "priority":
        return [str(item) for item in rng.permutation(list(case.charts))]
    if "enum" in schema:
        return schema["enum"][int(rng.integers(len(schema["enum"])))]
    if schema.get("type") == "array":
        return [_value("item", schema["items"], case, rng)]
    if schema.get("type") == "integer":
        return int(rng.integers(schema.get("minimum", 0), schema.get("maximum", 20) + 1))
    if schema.get("type") == "number":
        return float(rng.uniform(schema.get("minimum", 0), schema.get("maximum", 40)))
    if schema.get("type") == "boolean":
        return bool(rng.random() < 0.5)
    return WORDS[int(rng.integers(len(WORDS)))]


def _talk(episode: Episode, text: str) -> Episode:
    while not episode.is_over:
        episode.apply(text)
    return episode


ATTACKERS = {
    "silent": silent,
    "immediate": immediate,
    "parrot": parrot,
    "mention": mention,
    "wrong_patient": wrong_patient,
    "spammer": spammer,
    "random": random_calls,
}
