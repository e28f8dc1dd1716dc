"""A domain made for questions from outside: another domain's look-up tools, and a submit tool that takes an option's key."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal

from healthgym.errors import ConfigError, nearest
from healthgym.registry import Domain, load_domain
from healthgym.tasks import Budget
from healthgym.toolkit import Toolkit, ToolSpec, tool

NAME = "questions"
SUBMIT = "submit_answer"
LENDER = "medical_qa"
"""The registered domain whose tools are offered unless a run names another."""

BUDGET = Budget(turns=10, tool_calls=24)

GUIDELINE = """# Answering a question with evidence

Exactly one option is right.
1. Search for what the question turns on, in a few words of your own; the words of the question itself find little.
2. Read a passage before you rely on it. Search again in other words when nothing fits.
3. Hold every option against what you found and what you know.
4. Call submit_answer with the key of one option. There is no mark for an answer that is not submitted."""


@lru_cache(maxsize=64)
def question_domain(keys: tuple[str, ...], lender: str = LENDER) -> Domain:
    """Return a domain without patients or tasks of its own, whose submit tool takes one of `keys`.

    Args:
        keys: Keys of the options, such as ("A", "B", "C", "D") or ("yes", "no", "maybe").
        lender: Name or folder of the domain whose tools are offered: those it shares, and those of its toolkit's bases. The
            tools of its toolkit class itself, its submit tool among them, are not.

    Raises:
        ConfigError: Fewer than two keys, or one twice.
        NotRegistered: There is no such domain.
    """
    if len(keys) < 2 or len(set(keys)) != len(keys):
        raise ConfigError(f"a question needs at least two options with keys of their own, got {list(keys)}")
    source = load_domain(lender)
    toolkit = type(
        "QuestionToolkit",
        (Toolkit,),
        {"__doc__": "Looks things up and answers.", "domain": NAME, "shared": (*_lent(source), _submit(keys))},
    )
    return replace(
        source, name=NAME, title="medical questions", description="Questions answered from evidence.",
        guideline=GUIDELINE, toolkit=toolkit, families={}, hazard_rules=(), budget=BUDGET, blind_guesses=(),
    )  # fmt: skip


def offered(domain: Domain, lender: str, chosen: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the names of the tools that a question offers: the chosen ones, or those that the lender shares with others.

    Raises:
        ConfigError: The domain has no tool of a chosen name; names the nearest.
    """
    shared = _specs_of(load_domain(lender).toolkit.shared)
    names = list(chosen) if chosen is not None else [name for name in domain.tools if name in shared]
    for name in names:
        if name not in domain.tools:
            raise ConfigError(f"No tool {name!r} to offer.{nearest(name, domain.tools)}")
    return (*(name for name in names if name != SUBMIT), SUBMIT)


def tools_digest(domain: Domain, permitted: Mapping[str, ToolSpec]) -> str:
    """Return a digest of what an agent is told: the guideline and the schemas of its tools, 32 hex digits."""
    told = [domain.guideline, *(spec.schema for spec in permitted.values())]
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]


def _lent(source: Domain) -> tuple[Callable[..., Any] | type[Toolkit], ...]:
    bases = [
        base
        for base in source.toolkit.__bases__
        if issubclass(base, Toolkit) and not any(spec.effect == "submit" for spec in base.specs().values())
    ]
    return (*bases, *source.toolkit.shared)


def _specs_of(shared: Sequence[Callable[..., Any] | type[Toolkit]]) -> dict[str, ToolSpec]:
    probe: type[Toolkit] = type("Shared", (Toolkit,), {"shared": tuple(shared)})
    return probe.specs()


def _submit(keys: tuple[str, ...]) -> Callable[..., str]:
    def submit_answer(answer: Any) -> str:
        """Answer the question and end.

        Args:
            answer: Key of the one right option.
        """
        return "Answer submitted."

    submit_answer.__annotations__["answer"] = Literal[keys]
    return tool(effect="submit")(submit_answer)
