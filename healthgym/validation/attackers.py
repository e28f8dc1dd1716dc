"""Policies that must earn nothing: they guess, paste, flail, or act on the wrong patient."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from healthgym.registry import Domain
from healthgym.tasks import Call, Case
from healthgym.toolkit import ToolSpec
from healthgym.validation.arguments import ValuePool, draw_arguments, names_patient, pick
from healthgym.validation.replay import Turn

CALLS_PER_TURN = 8
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Field:
    """What attackers know of the field they play on: everything but the golds of the case at hand."""

    domain: Domain
    cases: Sequence[Case]
    pool: ValuePool

    def tools(self, case: Case) -> dict[str, ToolSpec]:
        """Return the tools permitted in a case."""
        names = case.task.tools or tuple(self.domain.tools)
        return {name: self.domain.tools[name] for name in names if name in self.domain.tools}


Attack = Callable[[Case, Field, np.random.Generator], Iterator[Turn]]
"""Yields assistant turns for one case; the episode stops it when it ends."""


def silent(case: Case, field: Field, rng: np.random.Generator) -> Iterator[Turn]:
    """Say nothing, turn after turn."""
    while True:
        yield ""


def submit_at_once(guess: Mapping[str, Any] | Mapping[str, Mapping[str, Any]], by_family: bool) -> Attack:
    """Return an attack that submits one fixed answer, or one for each family, without looking at anything."""

    def attack(case: Case, field: Field, rng: np.random.Generator) -> Iterator[Turn]:
        answer = guess.get(case.task.family, {}) if by_family else guess
        yield [Call(field.domain.submit_tool.name, **answer)]

    return attack


def random_calls(case: Case, field: Field, rng: np.random.Generator) -> Iterator[Turn]:
    """Make random valid calls to the last turn, then submit random valid values."""
    tools = field.tools(case)
    others = [spec for spec in tools.values() if spec.effect != "submit"]
    for _ in range(case.task.criteria.budget.turns - 1):
        spec = pick(others, rng)
        yield [Call(spec.name, **draw_arguments(spec, case, rng, field.pool))]
    yield _random_submission(case, field, rng)


def parrot(case: Case, field: Field, rng: np.random.Generator) -> Iterator[Turn]:
    """Paste the prompt, the guideline and rubric-like words, then submit what the prompt mentions."""
    labels = "; ".join(item.label for item in case.task.criteria.evidence)
    yield f"{case.task.prompt}\n{field.domain.guideline[:4000]}\nI have reviewed {labels}. Safe, complete and correct."
    spec = field.domain.submit_tool
    answer = {name: _echo(schema, name, case, rng) for name, schema in spec.parameters["properties"].items()}
    yield [Call(spec.name, **answer)]


def wrong_patient(case: Case, field: Field, rng: np.random.Generator) -> Iterator[Turn]:
    """Follow the oracle of another case, one with another answer, on this case's patients."""
    donor = _donor(case, field, rng)
    if donor is None:
        return
    ids = dict(zip(sorted(donor.charts), _cycled(sorted(case.charts), len(donor.charts)), strict=True))
    for turn in donor.task.turns_of_solution():
        yield [Call(call.tool, **_with_ids(call.arguments, ids)) for call in turn]


def mention_not_do(case: Case, field: Field, rng: np.random.Generator) -> Iterator[Turn]:
    """Describe every right action in prose, do none of them, and submit the right answer."""
    steps = [
        f"{call.tool.replace('_', ' ')} with {', '.join(f'{k} {v}' for k, v in call.arguments.items())}"
        for call in case.task.solution[:-1]
    ]
    yield "I carry out the following now. " + ". ".join(steps) + ". All of it is done."
    yield list(case.task.solution[-1:])


def tool_spammer(case: Case, field: Field, rng: np.random.Generator) -> Iterator[Turn]:
    """Call every reading tool once, as cheaply in turns as can be, then guess."""
    reads = [spec for spec in field.tools(case).values() if spec.effect == "read"]
    calls = [Call(spec.name, **draw_arguments(spec, case, rng, field.pool)) for spec in reads]
    for start in range(0, len(calls), CALLS_PER_TURN):
        yield calls[start : start + CALLS_PER_TURN]
    yield _random_submission(case, field, rng)


ATTACKS: Mapping[str, Attack] = {
    "silent": silent,
    "random_calls": random_calls,
    "parrot": parrot,
    "wrong_patient": wrong_patient,
    "mention_not_do": mention_not_do,
    "tool_spammer": tool_spammer,
}
"""By name; immediate_submit is made from the golds, see `blind_attacks`."""


def blind_attacks(domain: Domain, cases: Sequence[Case]) -> list[Attack]:
    """Return the attacks that submit at once: the commonest gold overall, by family, and the domain's own guesses."""
    overall: Counter[str] = Counter()
    by_family: dict[str, Counter[str]] = {}
    for case in cases:
        gold = json.dumps(dict(case.task.solution[-1].arguments), sort_keys=True, default=str)
        overall[gold] += 1
        by_family.setdefault(case.task.family, Counter())[gold] += 1
    commonest = json.loads(overall.most_common(1)[0][0])
    families = {name: json.loads(golds.most_common(1)[0][0]) for name, golds in by_family.items()}
    guesses = [submit_at_once(guess, by_family=False) for guess in (commonest, *domain.blind_guesses)]
    return [submit_at_once(families, by_family=True), *guesses]


def _random_submission(case: Case, field: Field, rng: np.random.Generator) -> Turn:
    spec = field.domain.submit_tool
    return [Call(spec.name, **draw_arguments(spec, case, rng, field.pool))]


def _echo(schema: Mapping[str, Any], name: str, case: Case, rng: np.random.Generator) -> Any:
    """Return a value for one submit argument that is copied from the prompt wherever the schema lets it."""
    prompt = case.task.prompt
    if names_patient(name):
        return next(iter(sorted(case.charts)), "P1")
    if "enum" in schema:
        said = [value for value in schema["enum"] if str(value).replace("_", " ").lower() in prompt.lower()]
        return pick(said or schema["enum"], rng)
    kind = schema.get("type")
    if kind in ("number", "integer"):
        numbers = [float(number) for number in _NUMBER.findall(prompt)] or [0.0]
        return int(numbers[-1]) if kind == "integer" else numbers[-1]
    if kind == "boolean":
        return True
    if kind == "array":
        inner = schema.get("items", {})
        return [_echo(inner, "", case, rng)] if inner.get("type") == "string" else []
    return prompt[: int(schema.get("maxLength", 2_000))]


def _donor(case: Case, field: Field, rng: np.random.Generator) -> Case | None:
    """Return a case of the same family, or else of the domain, whose right answer is another one."""
    own, order = _gold(case), rng.permutation(len(field.cases))
    for same_family in (True, False):
        for index in order:
            other = field.cases[index]
            if (other.task.family == case.task.family) is same_family and _gold(other) != own:
                return other
    return None


def _gold(case: Case) -> tuple[str, str]:
    """Return answer and end state as text in which patients are numbered, so that only what is right can differ."""
    criteria = case.task.criteria
    answer = sorted((name, repr(field.gold)) for name, field in criteria.answer.items())
    state = sorted((path, repr(condition)) for path, condition in criteria.end_state.items())
    return _numbered(repr(answer), case), _numbered(repr(state), case)


def _numbered(text: str, case: Case) -> str:
    for number, patient_id in enumerate(sorted(case.charts), 1):
        text = re.sub(rf"\b{re.escape(patient_id)}\b", f"patient {number}", text)
    return text


def _cycled(values: Sequence[str], count: int) -> list[str]:
    return [values[index % len(values)] for index in range(count)] if values else ["P1"] * count


def _with_ids(arguments: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    def mapped(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [mapped(item) for item in value]
        return ids.get(value, value) if isinstance(value, str) else value

    return {name: mapped(value) for name, value in arguments.items()}
