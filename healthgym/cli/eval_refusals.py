"""Options of `healthgym eval` that would change nothing: each is refused with the reason, none is passed over."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from healthgym.errors import ConfigError

if TYPE_CHECKING:
    from healthgym.cli.eval_request import Request
    from healthgym.evaluation.about import About
    from healthgym.evaluation.benchmark import Benchmark, Settings

HERE = ("transformers", "vllm")
"""Engines whose checkpoints lie on this machine and may belong to a run."""
TAKES: Mapping[str, tuple[str, ...]] = {
    "list_only": ("suites", "as_json"),
    "rescore": ("data", "index", "encoder", "as_json"),
}
"""What goes along with the ways of calling that evaluate nothing."""
OF_EPISODES = ("max_turns", "profile", "index", "encoder")
"""Options that text mode, in which nothing is played, has no use for."""
NARROWS = ("top_p", "top_k")
"""Options that shape what is drawn from, where something is drawn."""


def refuse_beside(context: typer.Context) -> None:
    """Refuse options that do not go along with --list, --rescore, --run, or with a checkpoint.

    Raises:
        ConfigError: Names those that would go unused.
    """
    flags = {one.name: max(one.opts, key=len) for one in context.command.params if one.name}
    flags["checkpoint"] = "CHECKPOINT"
    given = {name: flag for name, flag in flags.items() if _is_given(context, name)}
    for way, along in TAKES.items():
        if way in given:
            unused = [flag for name, flag in given.items() if name not in (way, *along)]
            _refuse(unused, f"{given[way]} takes {', '.join(flags[name] for name in along)} alone")
    if "run_dir" not in given:
        unused = [given[name] for name in ("every", "follow") if name in given]
        _refuse(unused, "--every and --follow go with --run RUN, which evaluates the checkpoints of a run")
    elif context.params["engine"] not in HERE:
        raise ConfigError(
            f"--run evaluates the checkpoints of a run with --engine {' or '.join(HERE)}, not {context.params['engine']}"
        )


def refuse_twice(flags: Mapping[str, object], engine_options: Mapping[str, object]) -> None:
    """Refuse what was given both by an option of its own and by --engine-set. Raises ConfigError."""
    for name in flags:
        if name in engine_options:
            raise ConfigError(f"{_flag(name)} and --engine-set {name}=... were both given; leave one out")


def refuse_idle(
    request: "Request",
    plans: "Sequence[tuple[Benchmark, Settings]]",
    *,
    temperature: float,
    has_index: bool,
) -> None:
    """Refuse options that would change nothing of what is asked for.

    An option of the command may concern some of several benchmarks; one of --set has to concern every one.

    Args:
        request: What was asked for.
        plans: Each benchmark with how it is put.
        temperature: Of the sampling, whoever set it.
        has_index: Whether there is an index to search.

    Raises:
        ConfigError: Names the option and why it would go unused.
    """
    idle = [_indifferent(benchmark, settings) for benchmark, settings in plans]
    for (benchmark, _), whys in zip(plans, idle, strict=True):
        for name in request.options:
            if name in whys:
                raise ConfigError(f"--set {name} would change nothing in {benchmark.name}: {whys[name]}")
    for name in _given(request):
        if all(name in whys for whys in idle):
            _refuse([_flag(name)], f"{plans[0][0].name}: {idle[0][name]}")
    if request.encoder is not None and not has_index:
        _refuse(["--encoder"], "it names the encoder of an index; give --index DIR")
    if temperature == 0:
        _refuse([_flag(name) for name in NARROWS if name in request.sampling], "at temperature 0 nothing is drawn")


def refuse_split(name: str, told: "About | None", split: str | None, data: Path | None) -> None:
    """Refuse a split of data that is one file, where a split is a file. Raises ConfigError."""
    if split is None or data is None or told is None or not told.splits or told.splits_files:
        return
    if data.is_file():
        _refuse(["--split"], f"of {name} a split is a file, and {data} is one already")


def _is_given(context: typer.Context, name: str) -> bool:
    """Say whether a parameter stands in the command line. By name: typer may come with a click of its own."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _indifferent(benchmark: "Benchmark", settings: "Settings") -> dict[str, str]:
    from healthgym.evaluation.benchmark import Indifferent

    found = dict.fromkeys(OF_EPISODES, "nothing is played in text mode") if settings.mode == "text" else {}
    return {**found, **(benchmark.indifferent_to(settings) if isinstance(benchmark, Indifferent) else {})}


def _given(request: "Request") -> list[str]:
    """Return the options that were given and that some benchmarks have no use for, by name."""
    found = [*request.given, *request.sampling]
    found += [name for name in ("index", "encoder", "cache") if getattr(request, name) is not None]
    return [*found, *(["attempts"] if request.attempts > 1 else [])]


def _flag(name: str) -> str:
    if name in NARROWS:
        return f"--engine-set {name}"
    return {"attempts": "--seeds", "has_vision": "--images", "max_rows": "--in-flight"}.get(
        name, f"--{name.replace('_', '-')}"
    )


def _refuse(flags: Sequence[str], why: str) -> None:
    if flags:
        raise ConfigError(
            f"{', '.join(flags)} would change nothing: {why}. Leave {'it' if len(flags) == 1 else 'them'} out"
        )
