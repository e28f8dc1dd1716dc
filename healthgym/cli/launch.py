"""Starts a training run from a recipe: what `healthgym train` and `accelerate launch recipes/train.py` share."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from healthgym.errors import ConfigError, MissingDependency

if TYPE_CHECKING:
    from healthgym.cli.training_progress import TrainingProgress
    from healthgym.evaluation import EvalResult
    from healthgym.rollout import Policy
    from healthgym.tasks import Suite
    from healthgym.training.config import RunConfig
    from healthgym.training.run import Evaluate, TrainResult
    from healthgym.world import Services

OnStep = Callable[[int, Mapping[str, float]], None]
OnLoss = Callable[[int, float], None]
OnEpisode = Callable[[int, int], None]
EVAL_SPLIT, EVAL_TASKS = "val", 64
"""Held-out measurement during a run: at most this many tasks, the same ones each time."""


def run_recipe(
    recipe: Path,
    overrides: Sequence[str] = (),
    run_dir: Path | None = None,
    *,
    progress: "TrainingProgress | None" = None,
) -> dict[str, Any] | None:
    """Train a recipe and return {run_dir, steps, metrics}, or None on processes other than the main one.

    Args:
        recipe: YAML file.
        overrides: `a.b=c` settings laid over it.
        run_dir: Folder of the run; runs/RECIPE when None. A folder that holds the same run continues it.
        progress: Told how the run goes, on the main process alone.

    Raises:
        ConfigError: the recipe cannot be used; says where and why.
        MissingDependency: the 'train' extra is not installed.
    """
    from healthgym.training.loading import load_config

    config = load_config(recipe, overrides)
    folder = run_dir if run_dir is not None else Path("runs") / recipe.stem
    result = launch(
        config,
        folder,
        on_step=progress.on_step if progress else None,
        on_warm_start=progress.on_warm_start if progress else None,
        on_episode=progress.on_episode if progress else None,
    )
    from accelerate import PartialState

    processes = PartialState()
    is_main = processes.is_main_process
    processes.destroy_process_group()  # gloo aborts a process whose peer has gone
    if not is_main:
        return None
    return {"run_dir": str(result.run_dir), "steps": result.steps, "metrics": dict(result.metrics)}


def launch(
    config: "RunConfig",
    run_dir: Path,
    *,
    on_step: OnStep | None = None,
    on_warm_start: OnLoss | None = None,
    on_episode: OnEpisode | None = None,
) -> "TrainResult":
    """Run a config in this process, measuring held-out tasks where it asks for that."""
    try:
        from healthgym.training.processes import join_processes
        from healthgym.training.run import train
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("healthgym"):
            raise
        raise MissingDependency.extra("training", "train") from error
    from healthgym.diagnostics import save_versions

    is_main = join_processes().is_main_process
    if is_main:
        try:
            run_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"The run folder {run_dir} cannot be used: {error.strerror}. Give another one with --run-dir."
            ) from None
        save_versions(run_dir)
    return train(
        config,
        run_dir=run_dir,
        evaluate=evaluator(config, run_dir if is_main else None) if config.eval.every else None,
        on_step=on_step if is_main else None,
        on_warm_start=on_warm_start,
        on_episode=on_episode if is_main else None,
    )


def make_policy(config: "RunConfig", model: Any, tokenizer: Any) -> "Policy":
    """Return the engine that measurements sample with: a run's own model in this process, whatever trains it."""
    from healthgym.training.policy_source import transformers_policy

    return transformers_policy(config, model, tokenizer)


def measure(
    config: "RunConfig",
    model: Any,
    tokenizer: Any,
    suite: "Suite",
    task_ids: Sequence[str],
    services: "Services | None",
) -> "EvalResult":
    """Measure a run's model on tasks with the training's own loop, budgets, reward and temperature.

    Args:
        config: The run.
        model: Model of the run, at any point of it.
        tokenizer: Its tokenizer.
        suite: Holds the tasks.
        task_ids: Tasks to play, once each.
        services: What episodes share; see `run_services`.
    """
    from healthgym.evaluation import evaluate_policy
    from healthgym.rollout import ChatTemplate
    from healthgym.rollout.memory import with_fewer
    from healthgym.training.policy_source import max_context, reward_config

    def play(in_flight: int) -> "EvalResult":
        return evaluate_policy(
            make_policy(config, model, tokenizer),
            suite,
            task_ids,
            template=ChatTemplate(tokenizer),
            profile=config.env.prompt_profile,
            max_turns=config.env.max_turns,
            max_tokens_per_turn=config.rollout.max_tokens_per_turn,
            max_completion_tokens=config.rollout.max_completion_tokens,
            max_context=max_context(config, model),
            in_flight=in_flight,
            reward=reward_config(config),
            services=services,
        )

    return with_fewer(play, min(config.rollout.in_flight, max(1, len(task_ids))))


def evaluator(config: "RunConfig", run_dir: Path | None) -> "Evaluate":
    """Return the held-out measurement of a run: sampled as in training, on the same validation tasks each time.

    Args:
        config: The run.
        run_dir: Receives one evaluation per measurement; None writes nothing.

    Raises:
        ConfigError: There are no validation tasks, or the run practises them.
    """
    from healthgym.diagnostics import append_evaluation
    from healthgym.tasks import load_suite
    from healthgym.training.policy_source import run_services
    from healthgym.training.rows import choose_tasks

    suite = load_suite(*config.env.domains, per_family=config.env.per_family)
    ids = [task_id for domain in suite.domains for task_id in suite.ids(domain, EVAL_SPLIT, config.env.families)]
    if config.env.split == EVAL_SPLIT:
        raise ConfigError(
            f"env.split {EVAL_SPLIT} would be measured on the tasks it practises: eval.every plays the {EVAL_SPLIT} split. "
            "Set env.split: train, or eval.every: 0."
        )
    if not ids:
        raise ConfigError(
            f"eval.every {config.eval.every} needs {EVAL_SPLIT} tasks, and env.domains with env.families have none. "
            f"Set eval.every: 0, or env.per_family: {{{EVAL_SPLIT}: 8}}."
        )
    task_ids = choose_tasks(ids, EVAL_TASKS, seed=config.seed)
    services = run_services(config)

    def evaluate(model: Any, tokenizer: Any, step: int) -> dict[str, float]:
        result = measure(config, model, tokenizer, suite, task_ids, services)
        if run_dir is not None:
            append_evaluation(run_dir, f"after step {step}", {**result.to_dict(), "outcomes": result.outcomes()})
        low, high = result.ci
        n = max(1, result.n)
        return {
            "eval/success": result.success,
            "eval/success_low": low,
            "eval/success_high": high,
            "eval/n": float(result.n),
            "eval/reward": result.mean_reward,
            "eval/clipped": sum(row["clipped"] for row in result.rows) / n,
            "eval/degenerate": result.counts["degenerate"] / n,
            "eval/single_turn": sum(row["turns"] <= 1 for row in result.rows) / n,
        }

    return evaluate
