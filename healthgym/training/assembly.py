"""Builds the parts of a run from its config: library functions take plain values, so this is where settings meet them."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from healthgym.registry import Domain
from healthgym.rewards import CosineLength
from healthgym.tasks import Case, Suite
from healthgym.training.config import RunConfig, WarmStart
from healthgym.training.corrective import CorrectiveTraces
from healthgym.training.curriculum import TaskChooser
from healthgym.training.demonstrations import Script, corrective_script, draw_chance, partial_script
from healthgym.training.distill_step import DistillStep
from healthgym.training.distillation import Distillation
from healthgym.training.gradients import GradientBalance
from healthgym.training.guards import TeacherGuard
from healthgym.training.heads import check_plain_head
from healthgym.training.hints import LEVELS, grade_facts, hint_text
from healthgym.training.models import context_limit
from healthgym.training.processes import sharding
from healthgym.training.schedule import Lambda
from healthgym.training.shaping import LengthShaping
from healthgym.training.source import EpisodeSource
from healthgym.training.startup import OracleLength
from healthgym.training.teacher import LiveTeacher
from healthgym.training.teacher_context import HintRenderer
from healthgym.training.teacher_gate import TeacherGate
from healthgym.training.warm_start import Example, example_of
from healthgym.validation.replay import play

logger = logging.getLogger(__name__)


def make_shaping(config: RunConfig) -> LengthShaping | None:
    """Return the run's length shaping, or None."""
    length = config.reward.length
    if length is None:
        return None
    limit = length.limit or config.rollout.max_completion_tokens
    return LengthShaping(CosineLength(limit=limit), start_success=length.start_success)


def make_distill(config: RunConfig, model: Any, tokenizer: Any, suite: Suite) -> DistillStep | None:
    """Return the run's distillation term with a teacher equal to the model as it stands, or None."""
    teacher, guard = config.teacher, config.guard
    if teacher is None:
        return None
    if config.divergence.kind in ("topk", "full"):
        check_plain_head(model)
    limits = [limit for limit in (config.rollout.max_context, context_limit(model)) if limit is not None]
    distillation = Distillation(
        LiveTeacher(
            model,
            decay=teacher.ema_decay,
            update_every=teacher.update_every,
            copy_every=teacher.copy_every,
            space=teacher.space,
            rank_factor=teacher.rank_factor,
            device=teacher.device,
            awaits_shards=sharding() == "fsdp",
        ),
        HintRenderer(tokenizer, {}),
        hint=config.hint,
        turns=config.turns,
        divergence=config.divergence,
        temperature=config.rollout.temperature,
        max_context=min(limits, default=None),
        answer_of=lambda task_id: gold_answer(suite.case(task_id)),
    )
    weight = Lambda(
        config.lambda_.start,
        steps=config.lambda_.steps or config.optim.steps,
        shape=config.lambda_.shape,
        kl_high=guard.kl_high,
        ratchet=guard.ratchet,
        cooldown=guard.cooldown,
    )
    watch = TeacherGuard(
        kl_high=guard.kl_high or float("inf"),
        kl_slope=guard.kl_slope,
        window=guard.window,
        max_age=guard.max_age,
        max_distance=guard.max_distance,
        max_leakage=guard.max_leakage,
    )
    return DistillStep(
        distillation,
        weight,
        watch,
        gate=TeacherGate(teacher.update_when, kl_high=guard.kl_high),
        grad_norm_every=guard.grad_norm_every,
        balance=GradientBalance(config.lambda_.ratio) if config.lambda_.balance == "grad_norm" else None,
        leakage_every=guard.leakage_every,
        sign_clip=config.divergence.ratio_clip if config.divergence.mode == "rl_sign" else None,
        pad_id=tokenizer.pad_token_id,
    )


def make_curriculum(config: RunConfig, task_ids: Sequence[str], suite: Suite) -> TaskChooser | None:
    """Return what chooses the run's tasks as it goes, or None."""
    settings = config.env.curriculum
    if settings is None:
        return None
    return TaskChooser(task_ids, lambda task_id: suite.case(task_id).task, settings, seed=config.seed)


def make_traces(config: RunConfig, model: Any, suite: Suite, source: EpisodeSource) -> CorrectiveTraces | None:
    """Return what a supervised run trains on, or None for reinforcement."""
    if config.supervised is None:
        return None
    limits = [limit for limit in (config.rollout.max_context, context_limit(model)) if limit is not None]
    return CorrectiveTraces(suite, source, max_context=min(limits, default=None))


def gold_answer(case: Case) -> str:
    """Return a task's gold as text, for hints of level `answer`."""
    return ", ".join(f"{name} {field.gold}" for name, field in case.task.criteria.answer.items())


def oracle_lengths(task_ids: Sequence[str], suite: Suite, source: EpisodeSource) -> list[OracleLength]:
    """Return the tokens the oracle takes on each task."""
    plans = [(task_id, _oracle(suite.case(task_id))) for task_id in task_ids]
    return [
        OracleLength(
            trajectory.task_id,
            len(trajectory.prompt_ids),
            len(trajectory.completion_ids),
            max((span.end - span.start for span in trajectory.turns), default=0),
        )
        for trajectory in source.scripted(plans)
    ]


def make_examples(
    settings: WarmStart,
    task_ids: Sequence[str],
    suite: Suite,
    source: EpisodeSource,
    renderer: Callable[[], HintRenderer],
    *,
    level: str,
    seed: int,
) -> list[Example]:
    """Return the warm start's examples: partial-skill traces, and corrective pairs of hint and mended trace.

    Args:
        settings: How many, and with which slips.
        task_ids: Tasks to demonstrate, in turn.
        suite: The tasks.
        source: Turns scripts into tokens.
        renderer: Renders hints; asked only when there are hinted examples.
        level: Level of the hints where the settings name none.
        seed: Seeds every slip.
    """
    rng = np.random.default_rng([seed, 3])
    level = settings.hint_level or level
    cases = [suite.case(task_id) for task_id in task_ids]
    hinted: list[bool] = (rng.random(settings.demonstrations) < settings.hinted_share).tolist()
    plans, hints = [], []
    for index, is_hinted in enumerate(hinted):
        case = cases[int(rng.integers(len(cases)))] if index >= len(cases) else cases[index]
        drawn = LEVELS[int(rng.integers(len(LEVELS)))] if is_hinted and level == "mixed" else level
        script, hint = _plan(case, suite.domains[case.task.domain], cases, rng, settings, drawn if is_hinted else None)
        plans.append((case.task.id, script.turns))
        hints.append(hint)
    render = renderer() if any(hints) else None
    return [
        example_of(trajectory, hint=hint, renderer=render)
        for trajectory, hint in zip(source.scripted(plans), hints, strict=True)
    ]


def _plan(
    case: Case, domain: Domain, cases: Sequence[Case], rng: np.random.Generator, settings: WarmStart, level: str | None
) -> tuple[Script, str | None]:
    script = partial_script(
        case,
        domain,
        cases,
        rng,
        skip=draw_chance(settings.skip_evidence, rng),
        wrong=draw_chance(settings.wrong_answer, rng),
    )
    if level is None:
        return script, None
    grade = play(case, domain, script.turns).grade
    hint = hint_text(grade_facts(grade, gold_answer(case)), level)  # type: ignore[arg-type]
    mended = corrective_script(case, domain, script, grade, lambda turns: play(case, domain, turns).grade)
    return mended, hint


def _oracle(case: Case) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(turn) for turn in case.task.turns_of_solution())
