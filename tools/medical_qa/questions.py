"""A question before it is a task: its options, golds, the evidence it rests on and how that is found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from healthgym.errors import TaskError
from healthgym.knowledge_base.reading import read_yaml
from healthgym.tasks import AnswerField, Budget, Call, Case, Criteria, Evidence, Task
from healthgym.tasks.families import Draw
from healthgym.tasks.task import Difficulty

FOLDER = Path(__file__).parent
BUDGET = Budget(turns=20, tool_calls=44, minutes=120)
LETTERS = "ABCDEFGH"
CALLS_PER_TURN = 8


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """One piece of evidence: any of these facts must have been seen, and these calls see one."""

    label: str
    keys: tuple[str, ...]
    search: tuple[Call, ...] = ()
    """Finds where it stands."""
    read: tuple[Call, ...] = ()
    """Reads it."""
    source: str = ""

    @property
    def evidence(self) -> Evidence:
        """What the task demands."""
        return Evidence(any_of=self.keys, label=self.label)


@dataclass(frozen=True, kw_only=True)
class Option:
    """One lettered option."""

    text: str
    is_right: bool


@dataclass(kw_only=True)
class Question:
    """What a family draws."""

    names: Mapping[str, Any]
    """Fills the wording."""
    lookups: Sequence[Lookup]
    difficulty: Difficulty
    condition: str
    """What the question is about, in one id."""
    options: Sequence[Option] = ()
    takes_several: bool = False
    """Whether any number of options may be right; exactly one otherwise."""
    answer: Mapping[str, AnswerField] = field(default_factory=dict)
    """Golds beside the letters."""
    working: Sequence[Call] = ()
    """Calls between reading and answering."""
    rules_out: tuple[str, str, str] | None = None
    """A wrong option's text, what was looked up on it and why it is out."""
    variant: str = ""
    """Which set of wordings of the family, where it has several."""


def make_case(draw: Draw, question: Question) -> Case:
    """Return the case: options shuffled, wording chosen, oracle written."""
    options = [question.options[int(i)] for i in draw.rng.permutation(len(question.options))]
    letters = [letter for letter, option in zip(LETTERS, options, strict=False) if option.is_right]
    answer = dict(question.answer)
    if question.takes_several:
        answer["choices"] = AnswerField(gold=tuple(letters), compare="set")
    elif options:
        if len(letters) != 1:
            raise TaskError(f"{draw.task_id}: {len(letters)} options are right, expected one")
        answer["choice"] = AnswerField(gold=letters[0])
    template, prompt = _wording(draw, question)
    prompt = prompt[:1].upper() + prompt[1:]
    listed = [f"{letter}. {option.text}" for letter, option in zip(LETTERS, options, strict=False)]
    solution, sizes = _solution(question, answer, [option.text for option in options])
    sources = dict.fromkeys(item.source for item in question.lookups if item.source)
    task = Task(
        id=draw.task_id,
        domain=draw.domain,
        split=draw.split,
        family=draw.family,
        seed=draw.seed,
        prompt="\n".join([prompt, *listed]),
        difficulty=question.difficulty,
        template=template,
        condition=question.condition,
        criteria=Criteria(answer=answer, evidence=tuple(item.evidence for item in question.lookups), budget=BUDGET),
        solution=solution,
        solution_turns=sizes,
        provenance=f"generated from the knowledge base, seed {draw.seed}; facts: {'; '.join(sources)}",
    )
    return Case(task, {})


def _solution(
    question: Question, answer: Mapping[str, AnswerField], texts: Sequence[str]
) -> tuple[tuple[Call, ...], tuple[int, ...]]:
    """Return the oracle's calls and how many go into each turn: search, read, work, rule out, submit."""
    submitted = {name: list(item.gold) if isinstance(item.gold, tuple) else item.gold for name, item in answer.items()}
    ruled_out = []
    if question.rules_out is not None:
        text, fact_id, reason = question.rules_out
        ruled_out = [Call("rule_out_option", letter=LETTERS[texts.index(text)], fact_id=fact_id, reason=reason)]
    searched = _distinct(call for item in question.lookups for call in item.search)
    read = _distinct(call for item in question.lookups for call in item.read)
    stages = (
        searched,
        read,
        [call for call in question.working if call not in read],
        ruled_out,
        [Call("submit_answer", **submitted)],
    )
    turns = [stage[i : i + CALLS_PER_TURN] for stage in stages for i in range(0, len(stage), CALLS_PER_TURN)]
    return tuple(call for turn in turns for call in turn), tuple(len(turn) for turn in turns)


def mid_sentence(name: str) -> str:
    """Return a name as it reads within a sentence: its first letter small unless it belongs to an abbreviation."""
    return name[:1].lower() + name[1:] if name[1:2].islower() else name


def _distinct(calls: Any) -> list[Call]:
    kept: list[Call] = []
    for call in calls:
        if call not in kept:
            kept.append(call)
    return kept


def _wording(draw: Draw, question: Question) -> tuple[str, str]:
    """Return a template id and the wording filled in. Raises TaskError when the family has none for the split."""
    name = f"{draw.family}.{question.variant}" if question.variant else draw.family
    wordings: Sequence[str] = _prompts().get(name, {}).get(draw.split, ())
    if not wordings:
        raise TaskError(f"prompts.yaml has no wording for {name!r} in split {draw.split!r}")
    number = int(draw.rng.integers(len(wordings)))
    return f"{name}/{draw.split}/{number}", wordings[number].format(**question.names).strip()


@lru_cache(maxsize=1)
def _prompts() -> dict[str, dict[str, list[str]]]:
    return dict(read_yaml(FOLDER / "prompts.yaml"))
