"""One run from config to trained model; the same command after a kill continues it to the same weights."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from accelerate import PartialState

from healthgym.rollout import Trajectory
from healthgym.seeds import mix_seed
from healthgym.tasks import Suite, load_suite
from healthgym.training.arguments import rows_needed, trl_arguments
from healthgym.training.assembly import (
    make_curriculum,
    make_distill,
    make_examples,
    make_shaping,
    make_traces,
    oracle_lengths,
)
from healthgym.training.callbacks import Evaluate, Metrics, StepLog, held_out
from healthgym.training.checkpoints import latest_checkpoint
from healthgym.training.collapse_stop import CollapseStop
from healthgym.training.config import RunConfig
from healthgym.training.corpus import tokenizer_texts
from healthgym.training.distill_step import DistillStep
from healthgym.training.hint_switch import HintSwitch
from healthgym.training.keep_best import KeepBest
from healthgym.training.models import context_limit, load_model, load_saved, save_model
from healthgym.training.policy_source import max_context, source_from
from healthgym.training.processes import fsdp_version, join_processes, sharding
from healthgym.training.replica import make_replica
from healthgym.training.reporting import check_reporters, reporters
from healthgym.training.rollout_memory import ShrinkingSource
from healthgym.training.rows import EpisodeRow, choose_tasks, plan_rows
from healthgym.training.run_folder import RunFolder
from healthgym.training.run_lock import run_lock
from healthgym.training.saving import check_finite, whole_or_nothing
from healthgym.training.shards import whole_state
from healthgym.training.source import OnEpisode, SourceFactory
from healthgym.training.startup import check_distribution, check_evaluation, check_lengths, check_settings
from healthgym.training.stopping import StopOnSignal
from healthgym.training.teacher_context import HintRenderer
from healthgym.training.trainer import EpisodeTrainer
from healthgym.training.warm_start import OnLoss, restore_forward, warm_start

ORACLE_SAMPLE = 16
"""Tasks whose oracle is measured before training."""


@dataclass(frozen=True)
class TrainResult:
    """What a run left behind."""

    run_dir: Path
    steps: int
    metrics: Mapping[str, Any]
    """The last step's row."""
    model: Any
    tokenizer: Any
    findings: list[str] = field(default_factory=list)
    """What guards and probes warned of."""


def train(
    config: RunConfig,
    *,
    run_dir: Path,
    make_source: SourceFactory | None = None,
    evaluate: Evaluate | None = None,
    on_step: Callable[[int, Metrics], None] | None = None,
    on_warm_start: OnLoss | None = None,
    on_episode: OnEpisode | None = None,
) -> TrainResult:
    """Run a config to its end in `run_dir`, continuing what is there.

    The folder receives `config.yaml`, `metrics.jsonl` (one object a step), `traces/`, `checkpoints/`, `start/` (the
    model before reinforcement learning), `model/` (after it) and `best/` (the best on held-out tasks).

    Args:
        config: The run.
        run_dir: Its folder; a folder that holds another config is refused.
        make_source: Builds what makes the episodes; None samples with the engine that `rollout.engine` names.
        evaluate: Held-out measurement, called every `eval.every` steps.
        on_step: Called with each step's row.
        on_warm_start: Called after each supervised step.
        on_episode: Called as the episodes of a step finish.

    Raises:
        ConfigError: A start-up check refuses, or the folder belongs to another run, or to one that is going on.
        RunStopped: A signal ended the run; its last step is saved.
        TrainingDiverged, OutOfMemory, SaveError: See `bad_steps`, `retrying` and `saving`.
    """
    check_settings(config)
    check_evaluation(config, evaluate is not None)
    check_reporters(config)
    processes = join_processes()
    check_distribution(config, sharding(), fsdp_version=fsdp_version())
    with run_lock(Path(run_dir), processes):
        return _train(
            config, Path(run_dir), make_source or source_from(), processes, evaluate, on_step, on_warm_start, on_episode
        )


def _train(
    config: RunConfig,
    run_dir: Path,
    make_source: SourceFactory,
    processes: PartialState,
    evaluate: Evaluate | None,
    on_step: Callable[[int, Metrics], None] | None,
    on_warm_start: OnLoss | None,
    on_episode: OnEpisode | None,
) -> TrainResult:
    folder = RunFolder(run_dir, writes=processes.is_main_process)
    folder.claim(config)
    processes.wait_for_everyone()

    suite = load_suite(*config.env.domains, per_family=config.env.per_family)
    task_ids = run_tasks(config, suite)
    model, tokenizer = _starting_model(config, folder, suite, task_ids, make_source, on_warm_start)
    checkpoint = latest_checkpoint(folder.checkpoints) if processes.is_main_process else None
    checkpoint = _shared(checkpoint, processes)
    replica = make_replica(config, model, processes.device)
    source = ShrinkingSource(
        make_source(config, model if replica is None else replica.model, tokenizer, suite),
        refresh=None if replica is None else replica.refresh,
    )
    distill = make_distill(config, model, tokenizer, suite)
    switch = None
    if distill is not None and config.hint is not None:
        switch = HintSwitch(config.hint, distill.distillation, source, seed=config.seed)
    probe: Callable[[], None] | None = None
    if checkpoint is None:
        sample = choose_tasks(task_ids, ORACLE_SAMPLE, seed=config.seed)
        check_lengths(config, oracle_lengths(sample, suite, source), model_limit=context_limit(model))
        if switch is not None and switch.hint.probe_tasks:
            rows = plan_rows(task_ids, switch.hint.probe_tasks, seed=mix_seed(config.seed, "probe rows", bits=31))
            report = folder.path / "hint_probe.json" if folder.writes else None
            probe = partial(switch.before_training, rows, report)
            if sharding() == "none":
                probe()
    trainer, log = _trainer(
        config, folder, model, tokenizer, source, distill, task_ids, on_step, on_episode, processes, suite
    )
    if probe is not None and sharding() != "none":
        trainer.at_start.append(probe)  # until then the model may be too large for one device
    if evaluate is not None and config.eval.every:
        current = (lambda: model) if replica is None else replica.refresh
        log.measures.append(held_out(evaluate, current, tokenizer, config.eval.every, distill))
    collapse = CollapseStop(
        folder, config.model_dump(by_alias=True, mode="json"), num_iterations=config.optim.num_iterations
    )
    if config.guard.stop_on_collapse:
        trainer.add_callback(collapse)
    if switch is not None:
        log.measures.append(lambda step: switch.measure(step, trainer.latest_episodes()))
    folder.rewind(0 if checkpoint is None else int(checkpoint.name.rsplit("-", 1)[-1]))
    stop = StopOnSignal(processes=processes.num_processes, num_iterations=config.optim.num_iterations)
    trainer.add_callback(stop)
    with stop.listening(folder.checkpoints):
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    restore_forward(model)
    _save_whole(model, tokenizer, folder.path / "model", config)
    processes.wait_for_everyone()
    findings = [*collapse.findings, *(switch.findings if switch is not None else [])]
    if distill is not None:
        findings += [f"step {finding.step}: {finding.message}" for finding in distill.findings]
    findings += [f"step {finding.step}: {finding.message}" for finding in trainer.dead_groups.findings]
    logged = folder.metrics()
    return TrainResult(
        run_dir=folder.path,
        steps=trainer.state.global_step,
        metrics=log.last or (logged[-1] if logged else {}),
        model=model,
        tokenizer=tokenizer,
        findings=findings,
    )


def prepare(config: RunConfig, run_dir: Path, make_source: SourceFactory, on_warm_start: OnLoss | None = None) -> Path:
    """Make the model that reinforcement learning starts from, unless it is there, and return its folder.

    `train` does this by itself; runs that must begin alike copy the folder into each other before they start.
    """
    check_settings(config)
    processes = join_processes()
    with run_lock(Path(run_dir), processes):
        folder = RunFolder(Path(run_dir), writes=processes.is_main_process)
        folder.claim(config)
        suite = load_suite(*config.env.domains, per_family=config.env.per_family)
        _starting_model(config, folder, suite, run_tasks(config, suite), make_source, on_warm_start)
    return folder.path / "start"


def run_tasks(config: RunConfig, suite: Suite) -> list[str]:
    """Return the ids of the tasks a run practises."""
    ids = [i for domain in suite.domains for i in suite.ids(domain, config.env.split, config.env.families)]
    return choose_tasks(ids, config.env.tasks, seed=config.seed)


def _starting_model(
    config: RunConfig,
    folder: RunFolder,
    suite: Suite,
    task_ids: list[str],
    make_source: SourceFactory,
    on_warm_start: OnLoss | None,
) -> tuple[Any, Any]:
    """Return the model reinforcement learning starts from, warm-started and saved whole the first time."""
    start = folder.path / "start"
    if start.is_dir():
        return load_saved(start, config.model)
    model, tokenizer = load_model(config.model, lambda: tokenizer_texts(config, suite, task_ids), seed=config.seed)
    done: dict[str, float] = {}
    settings = config.warm_start
    if settings is not None:
        source = make_source(config, model, tokenizer, suite)
        examples = make_examples(
            settings,
            task_ids,
            suite,
            source,
            lambda: HintRenderer(tokenizer, {}),
            level=config.hint.level if config.hint else "process",
            seed=config.seed,
        )
        done = warm_start(
            model,
            tokenizer,
            examples,
            steps=settings.steps,
            learning_rate=settings.learning_rate,
            batch_size=settings.batch_size,
            output_dir=folder.path / ".warm_start",
            seed=config.seed,
            bf16=config.model.dtype == "bfloat16",
            max_length=max_context(config, model),
            on_step=on_warm_start if PartialState().is_main_process else None,
        )
        shutil.rmtree(folder.path / ".warm_start", ignore_errors=True)
    if settings is None and config.model.tiny is None and config.model.lora is None:
        return model, tokenizer  # the path itself is the start; no second copy of it
    PartialState().wait_for_everyone()
    _save_whole(model, tokenizer, start, config, note=done)
    PartialState().wait_for_everyone()
    return load_saved(start, config.model)


def _trainer(
    config: RunConfig,
    folder: RunFolder,
    model: Any,
    tokenizer: Any,
    source: ShrinkingSource,
    distill: DistillStep | None,
    task_ids: list[str],
    on_step: Callable[[int, Metrics], None] | None,
    on_episode: OnEpisode | None,
    processes: PartialState,
    suite: Suite,
) -> tuple[EpisodeTrainer, StepLog]:
    every = config.rollout.trace_every

    def keep_traces(step: int, episodes: Sequence[Trajectory]) -> None:
        if folder.writes and every and step % every == 0:
            folder.save_traces(f"step-{step + 1:06d}", episodes)

    def collect(rows: Sequence[EpisodeRow], step: int) -> list[Trajectory | None]:
        with source.telling(on_episode, len(rows)):
            return source.sample(rows, seed=mix_seed(config.seed, "train", step, processes.process_index, bits=31))

    log = StepLog(folder, [lambda step: source.metrics()], on_step)
    rule, passes = config.checkpoint.best, config.optim.num_iterations
    best = KeepBest(rule, folder, num_iterations=passes, processes=processes.num_processes) if rule else None
    trainer = EpisodeTrainer(
        model=model,
        args=trl_arguments(config, folder.checkpoints, processes=processes.num_processes),
        tokenizer=tokenizer,
        rows=plan_rows(task_ids, rows_needed(config), seed=config.seed),
        collect=collect,
        curriculum=make_curriculum(config, task_ids, suite),
        traces=make_traces(config, model, suite, source),
        shaping=make_shaping(config),
        distill=distill,
        on_episodes=keep_traces,
        callbacks=[log, *([best] if best else []), *(reporters(config, folder.path) if folder.writes else [])],
        keep=config.checkpoint.keep,
        spared=lambda: best.spared if best else (),
        robust=config.robust,
        corrects_engine=config.rollout.engine == "vllm" and config.supervised is None,
        by_length=config.optim.bucket_by_length,
    )
    return trainer, log


def _save_whole(model: Any, tokenizer: Any, target: Path, config: RunConfig, note: Metrics | None = None) -> None:
    """Save the model from the main process; all must call this, since they may have to gather it."""
    check_finite(model, f"{target.name}/")
    writes = PartialState().is_main_process
    weights = whole_state(model, keep=writes)
    if not writes:
        return
    aside = target.with_name(f".{target.name}.writing")
    shutil.rmtree(aside, ignore_errors=True)
    with whole_or_nothing(aside, f"{target.name}/", target.with_name("checkpoints")):
        save_model(model, tokenizer, aside, config.model, weights)
        if note:
            (aside / "warm_start.json").write_text(json.dumps(note, indent=1), encoding="utf-8")
    shutil.rmtree(target, ignore_errors=True)
    aside.replace(target)


def _shared(checkpoint: Path | None, processes: PartialState) -> Path | None:
    """Return the main process's choice on every process."""
    if processes.num_processes == 1:
        return checkpoint
    from accelerate.utils import broadcast_object_list

    return broadcast_object_list([checkpoint])[0]
