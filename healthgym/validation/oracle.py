"""Proof that a task can be solved: its oracle earns full marks, and nothing gives the answer away."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from healthgym.registry import Domain
from healthgym.tasks import Case, Task
from healthgym.validation.failures import FailureLog, describe
from healthgym.validation.replay import Played, play
from healthgym.world import Services

MIN_TEXT = 3
"""Shortest gold text that is looked for in a prompt; shorter ones occur by chance."""
COMMON = frozenset({"none", "yes", "not", "unknown", "other", "normal"})
"""Golds that are everyday words, which a prompt may use without telling anything."""


def prove_task(case: Case, domain: Domain, log: FailureLog, services: Services | None = None) -> Played | None:
    """Replay the oracle of one case and log whatever keeps it from a reward of exactly 1.0."""
    task = case.task
    try:
        json.dumps([dict(call.arguments) for call in task.solution])
        played = play(case, domain, task.turns_of_solution(), services)
    except Exception as error:  # a report of our own bug is this function's purpose
        log.add(
            "task",
            task.id,
            f"the oracle's replay raised {describe(error)}",
            "Mend the tool, grader or solution named here.",
        )
        return None
    remedy = "Mend task.solution, the criteria or the tool; the oracle must end by the submit tool with a reward of exactly 1.0."
    for problem in _problems(played):
        log.add("family", task.family, problem[0], remedy, example=f"{task.id}: {problem[1]}")
    return played


def _problems(played: Played) -> list[tuple[str, str]]:
    """Return (kind of problem, detail) pairs; none when the oracle earned full marks."""
    grade, episode = played.grade, played.episode
    found = [
        (f"the oracle's call of {touch.tool} failed", touch.error)
        for touch in played.touches
        if touch.error is not None
    ]
    if episode.stop_reason != "submitted":
        reason = episode.stop_reason or "still running after its last turn"
        found.append(("the oracle did not end by submitting", f"stop reason: {reason} after {episode.turns} turns"))
    if grade.missing_evidence:
        missing = ", ".join(grade.missing_evidence)
        found.append(("the oracle decides without its evidence", f"no call of the oracle reveals: {missing}"))
    if grade.hazards:
        found.append(
            ("the oracle does harm", "; ".join(f"{hit.label} ({hit.severity}) {hit.detail}" for hit in grade.hazards))
        )
    low = {name: score for name, score in grade.scores.items() if score != 1.0}
    if low or played.reward != 1.0:
        scores = ", ".join(f"{name} {score:.3f}" for name, score in low.items()) or "every score is 1"
        parts = ", ".join(name for name, credit in grade.parts.items() if credit != 1.0)
        found.append(
            (
                "the oracle earns less than 1",
                f"reward {played.reward:.4f}: {scores}" + (f"; not met: {parts}" if parts else ""),
            )
        )
    return found


def prove_repeatable(case: Case, domain: Domain, log: FailureLog) -> None:
    """Generate the case again and log a generator that is no pure function of its draw."""
    task = case.task
    again = domain.families[task.family].case(domain.name, task.split, int(task.id.rsplit("/", 1)[-1]))
    if again.task != task or dict(again.charts) != dict(case.charts):
        log.add(
            "family", task.family, "the generator made another case the second time",
            "Take all randomness from draw.rng, and iterate over sorted sets.", example=task.id,
        )  # fmt: skip


def prove_prompts(
    cases: Iterable[Case], domain: Domain, log: FailureLog, *, known: Iterable[Case] | None = None
) -> None:
    """Log prompts that tell the gold: its text without any other option's, or a number with its unit or field name.

    Args:
        cases: Their prompts are looked at.
        domain: Theirs.
        log: Receives what was found.
        known: Cases whose golds are the other options; `cases` when None.
    """
    listed = list(cases)
    options = _options(listed if known is None else known, domain)
    for case in listed:
        task = case.task
        for name, field in task.criteria.answer.items():
            told = _told(name, field.gold, field.unit, options.get(name, set()), task)
            if told:
                log.add(
                    "family", task.family, f"the prompt gives away the gold of {name!r}",
                    "Say in the prompt only what the agent may know; or name the other options beside it.",
                    example=f"{task.id}: {told}",
                )  # fmt: skip


def _options(cases: Iterable[Case], domain: Domain) -> dict[str, set[str]]:
    """Return, by answer field, every text the answer could be: the schema's list, the scale, and all golds."""
    options: dict[str, set[str]] = {}
    for name, schema in domain.submit_tool.parameters["properties"].items():
        listed = schema.get("enum", []) or schema.get("items", {}).get("enum", [])
        options.setdefault(name, set()).update(_plain(str(item)) for item in listed if isinstance(item, str))
    for case in cases:
        for name, field in case.task.criteria.answer.items():
            for value in (field.gold, *field.scale):
                options.setdefault(name, set()).update(_texts(value))
    return options


def _told(name: str, gold: Any, unit: str, options: set[str], task: Task) -> str:
    """Return the words of the prompt that give the gold away, or ''."""
    prompt = _plain(task.prompt)
    if isinstance(gold, bool):
        return ""
    if isinstance(gold, int | float):
        number = re.escape(f"{gold:g}")
        label = re.escape(_plain(name.removesuffix(f"_{unit}")))
        with_label = re.search(rf"\b{label}\W{{0,4}}{number}(?![\w.]*\d)", prompt)
        found = with_label or (unit and re.search(rf"(?<![\w.]){number}\s*{re.escape(unit.lower())}(?!\w)", prompt))
        return found[0] if found and not _is_one_of_many(found[0], unit, prompt) else ""
    golds = [text for text in _texts(gold) if len(text) >= MIN_TEXT and text not in COMMON]
    if not golds or not all(_says(prompt, text) for text in golds):
        return ""
    others = any(_says(_without(prompt, golds, text), text) for text in options - set(golds))
    return "" if others else " + ".join(golds)


def _without(prompt: str, golds: list[str], option: str) -> str:
    """Return the prompt without the golds that contain an option: "diabetes" in "no diabetes" names no other option."""
    for gold in golds:
        prompt = prompt.replace(gold, " ") if option in gold else prompt
    return prompt


def _is_one_of_many(words: str, unit: str, prompt: str) -> bool:
    """Say whether the prompt offers several numbers of this unit, so that naming one tells nothing."""
    return bool(unit) and len(set(re.findall(rf"(\d+(?:\.\d+)?)\s*{re.escape(unit.lower())}(?!\w)", prompt))) > 1


def _texts(value: Any) -> set[str]:
    if isinstance(value, str):
        return {_plain(value)}
    if isinstance(value, Mapping):
        return {text for item in value.values() for text in _texts(item)}
    if isinstance(value, list | tuple | set | frozenset):
        return {text for item in value for text in _texts(item)}
    return set()


def _plain(text: str) -> str:
    return " ".join(text.lower().replace("_", " ").split())


def _says(prompt: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", prompt) is not None
