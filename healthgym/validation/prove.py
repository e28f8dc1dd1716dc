"""`validate`: runs every proof on one domain and says what failed."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from healthgym.content import place_of, place_of_function, split_place
from healthgym.registry import Domain
from healthgym.tasks import SPLITS, Case
from healthgym.validation.arguments import ValuePool
from healthgym.validation.attackers import ATTACKS, Attack, Field, blind_attacks
from healthgym.validation.failures import FailureLog, Kind, describe
from healthgym.validation.named import prove_names, prove_units
from healthgym.validation.oracle import prove_prompts, prove_repeatable, prove_task
from healthgym.validation.reachable import ReachableGolds
from healthgym.validation.replay import Played, play
from healthgym.validation.tool_trials import BAD_CASES, ToolTrials
from healthgym.world import Services

MAX_ATTACKER_SUCCESS = 0.05
MAX_ATTACKER_REWARD = 0.25
SEED = 20_240
FEW_GOLDS = round(1 / MAX_ATTACKER_SUCCESS)
"""Different answers below which even blind luck passes the bound."""
FIRST_CASES = 30
"""Cases of a family whose golds are gathered as the answers that could have been."""

Progress = Callable[[str, int, int], None]
"""Told what is being proved, how many tasks are done, and how many there are."""


def validate(
    domain: Domain, *, sample: int | None = None, progress: Progress | None = None, services: Services | None = None
) -> dict[str, Any]:
    """Prove one domain: oracles, attackers and tools, over all of its tasks or an even sample of them.

    Args:
        domain: See `healthgym.registry.load_domain`.
        sample: About how many tasks to use, spread over families and splits; None uses all.
        progress: Called after each task of each stage.
        services: What episodes share (retriever, patient), as in training.

    Returns:
        {"tasks", "oracle_min" (0 when a task could not even be played), "attackers": {name: {"success", "reward"}}, "tools", "calls", "failures": [...]}; the
        domain is proved when "failures" is empty.
    """
    log, tell = FailureLog(), progress or (lambda stage, done, total: None)
    generated = _cases(domain, sample, log, tell)
    prove_units(generated, log)
    cases = [case for case in generated if prove_names(case, domain, log)]
    pool = ValuePool.from_tasks(case.task for case in cases)
    trials = ToolTrials(domain, pool, log, services)
    oracle_min = _prove_tasks(cases, domain, trials, log, tell, services)
    # A small sample holds too few of the other answers to tell a prompt that lists them all from one that tells the gold.
    wider = cases if sample is None else [*cases, *_first_cases(domain, cases)]
    prove_prompts(cases, domain, log, known=wider)
    attackers = _attack(Field(domain, cases, pool), log, tell, services)
    log.locate(lambda kind, name: _place(domain, kind, name))
    return {
        "tasks": len(generated),
        "oracle_min": oracle_min if len(cases) == len(generated) else 0.0,
        "attackers": attackers,
        "tools": len(domain.tools),
        "calls": trials.calls,
        "failures": log.to_list(),
    }


def _cases(domain: Domain, sample: int | None, log: FailureLog, tell: Progress) -> list[Case]:
    """Generate the cases, each family and split thinned alike, and log generators that raise."""
    places = [(family, split, family.counts.get(split, 0)) for family in domain.families.values() for split in SPLITS]
    total = sum(count for _, _, count in places)
    every = 1 if sample is None else max(1, total // max(1, sample))
    cases: list[Case] = []
    for family, split, count in places:
        for index in range(0, count, every):
            try:
                cases.append(family.case(domain.name, split, index))
            except Exception as error:  # a report of the author's bug is the purpose
                log.add(
                    "family", family.name, f"the generator raised {describe(error)}",
                    "Mend the task family where it says so.", example=f"{split} {index}",
                    key=f"generator {type(error).__name__}", where=split_place(str(error))[0] or place_of(error, domain.folder),
                )  # fmt: skip
            tell("generate", len(cases), total // every)
    if not total:
        log.add("family", "(all)", "the domain has no tasks", "Give a task family counts above 0.")
    return cases


def _place(domain: Domain, kind: Kind, name: str) -> str:
    """Return file and line of the family or tool that a failure is about, '' for attackers: they try the whole domain."""
    if kind == "tool" and name in domain.tools:
        return place_of_function(domain.tools[name].function)
    family = name.split("/")[1] if kind == "task" and "/" in name else name
    return domain.families[family].place if kind in ("family", "task") and family in domain.families else ""


def _first_cases(domain: Domain, sound: Sequence[Case]) -> list[Case]:
    """Generate the first cases of each family in a row: families that deal their answers out by index show them all.

    Families with no case among the `sound` ones are left out: they were reported already.
    """
    families = {case.task.family for case in sound}
    return [
        family.case(domain.name, "train", index)
        for family in domain.families.values()
        if family.name in families
        for index in range(min(FIRST_CASES, family.counts.get("train", 0)))
    ]


def _prove_tasks(
    cases: Sequence[Case],
    domain: Domain,
    trials: ToolTrials,
    log: FailureLog,
    tell: Progress,
    services: Services | None,
) -> float:
    """Replay every oracle, try every tool on every patient, and return the smallest reward of an oracle."""
    rewards: list[float] = []
    reachable = ReachableGolds(log)
    tried_badly = set(range(0, len(cases), max(1, len(cases) // BAD_CASES)))
    for index, case in enumerate(cases):
        rng = np.random.default_rng([SEED, index])
        prove_repeatable(case, domain, log)
        played: Played | None = prove_task(case, domain, log, services)
        rewards.append(played.reward if played is not None else 0.0)
        if played is not None:
            trials.observe(played)
            reachable.observe(case, played)
        trials.try_patient(case, played, rng, bad=index in tried_badly)
        tell("tasks and tools", index + 1, len(cases))
    if cases:
        trials.conclude()
    return min(rewards, default=0.0)


def _attack(field: Field, log: FailureLog, tell: Progress, services: Services | None) -> dict[str, dict[str, float]]:
    if not field.cases:
        return {}
    blind = [
        _run(f"immediate_submit {i}", attack, field, log, services)
        for i, attack in enumerate(blind_attacks(field.domain, field.cases))
    ]
    outcomes = {"immediate_submit": max(blind, key=lambda runs: (_mean(runs, 0), _mean(runs, 1)))}
    for done, (name, attack) in enumerate(ATTACKS.items()):
        outcomes[name] = _run(name, attack, field, log, services)
        tell("attackers", done + 1, len(ATTACKS))
    for name, runs in outcomes.items():
        _judge(name, runs, field, log)
    return {name: {"success": _mean(runs, 0), "reward": _mean(runs, 1)} for name, runs in outcomes.items()}


def _run(
    name: str, attack: Attack, field: Field, log: FailureLog, services: Services | None
) -> list[tuple[float, float]]:
    """Return (success, reward) of an attack on every case."""
    runs: list[tuple[float, float]] = []
    for index, case in enumerate(field.cases):
        rng = np.random.default_rng([SEED, index, len(name)])
        try:
            played = play(case, field.domain, attack(case, field, rng), services)
        except Exception as error:  # an agent's folly must never raise; reporting it is the purpose
            log.add(
                "attacker", name, f"the episode raised {describe(error)}", "Mend the tool or grader named here.",
                example=case.task.id, key=f"raised {type(error).__name__}",
            )  # fmt: skip
            runs.append((0.0, 0.0))
        else:
            runs.append((float(played.grade.success), played.reward))
    return runs


def _judge(name: str, runs: Sequence[tuple[float, float]], field: Field, log: FailureLog) -> None:
    """Log an attacker that earns more than the bounds allow, naming the family it does best in."""
    success, reward = _mean(runs, 0), _mean(runs, 1)
    if success <= MAX_ATTACKER_SUCCESS and reward <= MAX_ATTACKER_REWARD:
        return
    by_family: dict[str, list[tuple[float, float]]] = {}
    for case, run in zip(field.cases, runs, strict=True):
        by_family.setdefault(case.task.family, []).append(run)
    worst = max(by_family, key=lambda family: (_mean(by_family[family], 0), _mean(by_family[family], 1)))
    best = max(range(len(runs)), key=lambda index: runs[index])
    golds = len({repr((case.task.criteria.answer, case.task.criteria.end_state)) for case in field.cases})
    few = (
        f"; different answers: {golds}, so who guesses among them is right in 1 of {golds}" if golds < FEW_GOLDS else ""
    )
    log.add(
        "attacker", name,
        f"succeeds in {success:.1%} of the tasks (at most {MAX_ATTACKER_SUCCESS:.0%} allowed) with a mean reward of "
        f"{reward:.3f} (at most {MAX_ATTACKER_REWARD}); most in family {worst!r}: {_mean(by_family[worst], 0):.1%}{few}",
        REMEDIES.get(name, "Ask for more evidence, or for more than one answer field."),
        example=f"{field.cases[best].task.id} gave reward {runs[best][1]:.3f}",
    )  # fmt: skip


REMEDIES = {
    "immediate_submit": "Require evidence, so that an answer without it earns nothing; or spread the golds.",
    "random_calls": "Require more specific evidence, or more answer fields or end-state conditions, so that luck fails.",
    "parrot": "Take the answer out of the prompt, and require evidence.",
    "wrong_patient": "Grade the values of this chart: the right answer of another case must be wrong here.",
    "mention_not_do": "Require evidence or end-state conditions that only executed calls can meet.",
    "tool_spammer": "Add answer fields or end-state conditions, or a budget of tool calls: looking at everything must not make a guess right.",
    "silent": "Let nothing be earned without a submission.",
}


def _mean(runs: Sequence[tuple[float, float]], part: int) -> float:
    return sum(run[part] for run in runs) / len(runs) if runs else 0.0
