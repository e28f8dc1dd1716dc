"""`healthgym eval`: runs benchmarks against a checkpoint and prints what came out, with interval, counts and floors."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml

from healthgym.cli.eval_candidate import open_candidate, open_services
from healthgym.cli.eval_output import evaluation_progress, list_benchmarks, show_results
from healthgym.cli.output import Json, errors, print_json, table
from healthgym.errors import ConfigError

if TYPE_CHECKING:
    from healthgym.evaluation.run_settings import RunSettings

Given = dict[str, Any]
"""Settings that were given, by name; those left out are not there."""


def evaluate(
    checkpoint: Annotated[
        str | None,
        typer.Argument(help="Folder of a model, adapter, run or checkpoint; hub name; model at an endpoint."),
    ] = None,
    suites: Annotated[
        list[str] | None, typer.Option("--suite", help="Benchmark; may be repeated, or several with commas.")
    ] = None,
    mode: Annotated[
        str | None, typer.Option("--mode", help="agentic or text; the benchmark's first when absent.")
    ] = None,
    engine: Annotated[str, typer.Option("--engine", help="transformers, vllm or openai.")] = "transformers",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="A fixed sample of this many items.")] = None,
    attempts: Annotated[
        int, typer.Option("--seeds", min=1, help="Attempts at each item, each with a seed of its own.")
    ] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Seeds worlds and sampling.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder; one below it for each suite when there are several.")
    ] = None,
    data: Annotated[Path | None, typer.Option("--data", help="File or folder of the benchmark's data.")] = None,
    split: Annotated[str | None, typer.Option("--split", help="Of the data; test when absent.")] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="Option of the benchmark; may be repeated."),
    ] = None,
    index: Annotated[Path | None, typer.Option("--index", help="Passage index that episodes search.")] = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", min=0.0, help="0 takes the likeliest token.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", min=1, help="Most tokens of an answer or turn.")
    ] = None,
    max_turns: Annotated[int | None, typer.Option("--max-turns", min=1, help="Lowers the tasks' own limit.")] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Prompt of an episode: full, compact or bare.")
    ] = None,
    in_flight: Annotated[int | None, typer.Option("--in-flight", min=1, help="Attempts that advance together.")] = None,
    base: Annotated[str | None, typer.Option("--base", help="Base model of an adapter.")] = None,
    endpoint: Annotated[str | None, typer.Option("--endpoint", help="Address of an OpenAI-compatible server.")] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Set an earlier evaluation in the folder aside.")] = False,
    list_only: Annotated[
        bool, typer.Option("--list", help="List the benchmarks and whether their data is there.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure a checkpoint on benchmarks. The same command after an interruption makes only the rows that are missing.

    A checkpoint of a training run is asked as the run asked it (domains, prompt, budgets, temperature) unless options say
    otherwise. Exit code 0 when done, 1 when rows were lost to errors of ours, 130 when interrupted, 2 for an error.

    Example: healthgym eval runs/quickstart/tt_opd --suite gym --limit 64 --out evals/tt_opd

    Example: healthgym eval --list
    """
    if list_only:
        return _list(as_json)
    if checkpoint is None or not suites:
        raise ConfigError("Give a checkpoint and a --suite; `healthgym eval --list` shows the benchmarks")
    names = [name.strip() for one in suites for name in one.split(",") if name.strip()]
    given = _given(max_tokens=max_tokens, max_turns=max_turns, profile=profile, in_flight=in_flight)
    run = _run_of(checkpoint) if engine in ("transformers", "vllm") else None
    sampling = {**(run.sampling if run else {}), **_given(temperature=temperature)}
    candidate = open_candidate(
        engine,
        checkpoint,
        {**sampling, "base": base, "endpoint": endpoint, "max_rows": in_flight if engine == "transformers" else None},
    )
    records = []
    try:
        for name in names:
            records.append(
                _evaluate(
                    name, candidate, run, given, _options(options or ()), mode=mode, limit=limit, attempts=attempts, seed=seed,
                    folder=_folder(out, checkpoint, name, alone=len(names) == 1), data=data, split=split, index=index,
                    restart=restart, quiet=as_json,
                )
            )  # fmt: skip
    finally:
        candidate.close()
    if as_json:
        print_json(records[0] if len(records) == 1 else records)
    else:
        show_results(records)
    if any(record["partial"] for record in records):
        raise typer.Exit(1)
    return None


def _evaluate(
    name: str,
    candidate: Any,
    run: "RunSettings | None",
    given: Given,
    options: Given,
    *,
    mode: str | None,
    limit: int | None,
    attempts: int,
    seed: int,
    folder: Path,
    data: Path | None,
    split: str | None,
    index: Path | None,
    restart: bool,
    quiet: bool,
) -> dict[str, Any]:
    from healthgym.envs.prompts import check_profile
    from healthgym.evaluation.benchmark import Settings, Source
    from healthgym.evaluation.benchmarks import load_benchmark
    from healthgym.evaluation.runner import evaluate as run_benchmark

    if run is not None and name == "gym":
        options = {**run.gym, **options}
    benchmark = load_benchmark(name, Source(path=data, split=split, options=options))
    values = {**(run.settings if run else {}), **given}
    if "profile" in values:
        values["profile"] = check_profile(values["profile"])
    settings = Settings(mode=mode or benchmark.modes[0], options=options, **values)  # type: ignore[arg-type]
    services = open_services(index) if index is not None or run is None else open_services(run.index, run.exclude)
    with evaluation_progress(errors, name, quiet=quiet) as progress:
        found = run_benchmark(
            benchmark, candidate, settings, folder, attempts=attempts, limit=limit, seed=seed, services=services,
            progress=progress, restart=restart,
        )  # fmt: skip
    return {**found.to_dict(), "folder": str(folder)}


def _run_of(checkpoint: str) -> "RunSettings | None":
    from healthgym.evaluation.checkpoint import find_checkpoint
    from healthgym.evaluation.run_settings import run_settings

    config = find_checkpoint(checkpoint).config()
    return None if config is None else run_settings(config)


def _folder(out: Path | None, checkpoint: str, suite: str, *, alone: bool) -> Path:
    if out is not None:
        return out if alone else out / suite
    return Path("evals") / (checkpoint.strip("/.").replace("/", "--") or "checkpoint") / suite


def _given(**values: Any) -> Given:
    return {name: value for name, value in values.items() if value is not None}


def _options(pairs: Any) -> Given:
    """Return the options among NAME=VALUE texts, values read as YAML."""
    found: Given = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise ConfigError(f"--set {pair!r}: expected NAME=VALUE")
        found[name.strip()] = yaml.safe_load(value)
    return found


def _list(as_json: bool) -> None:
    found = list_benchmarks()
    if as_json:
        return print_json(found)
    return table(
        "Benchmarks",
        ("name", "title", "modes", "data"),
        [[one["name"], one["title"], ", ".join(one["modes"]), one["data"]] for one in found],
    )
