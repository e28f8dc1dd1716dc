"""`healthgym eval`: runs benchmarks against a checkpoint and prints what came out, with interval, counts and floors."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from healthgym.cli.eval_output import list_benchmarks, show_benchmark, show_list, show_results
from healthgym.cli.eval_refusals import HERE, refuse_beside, refuse_twice
from healthgym.cli.eval_request import Given, Request, run_of
from healthgym.cli.output import Json, console, print_json
from healthgym.errors import ConfigError

ITEMS, ASKING, ENGINE, OTHER = "What is asked", "How it is asked", "The model", "Instead of one checkpoint"
"""Headings of the help."""


def evaluate(
    context: typer.Context,
    checkpoint: Annotated[
        str | None,
        typer.Argument(help="Folder of a model, adapter, run or checkpoint; hub name; model at an endpoint."),
    ] = None,
    suites: Annotated[
        list[str] | None,
        typer.Option("--suite", metavar="NAME", help="Benchmark; may be repeated, or several with commas."),
    ] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="List the benchmarks; with --suite, all there is to know of one.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", show_default="evals/CHECKPOINT/SUITE",
            help="Folder to write; one below it for each suite when there are several.",
        ),
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Set an earlier evaluation in the folder aside.")] = False,
    as_json: Json = False,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="A fixed sample of N items.", rich_help_panel=ITEMS)
    ] = None,
    attempts: Annotated[
        int,
        typer.Option(
            "--seeds", metavar="K", min=1, help="Attempts at each item, each with a seed of its own.",
            rich_help_panel=ITEMS,
        ),
    ] = 1,
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", help="Seeds worlds and sampling.", rich_help_panel=ITEMS)
    ] = 0,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="PATH", help="File or folder of the benchmark's data.", rich_help_panel=ITEMS),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            "--split", metavar="NAME", rich_help_panel=ITEMS,
            help="Part of the data; --list --suite NAME shows which there are, and the default.",
        ),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--set", "-s", metavar="NAME=VALUE", rich_help_panel=ITEMS,
            help="Option of the benchmark (see --list --suite NAME); may be repeated.",
        ),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode", metavar="MODE", rich_help_panel=ASKING,
            help="agentic (an episode with tools) or text (one answer); the benchmark's first when absent.",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens", metavar="N", min=1, help="Most tokens of an answer or turn.", show_default="512",
            rich_help_panel=ASKING,
        ),
    ] = None,
    max_turns: Annotated[
        int | None,
        typer.Option(
            "--max-turns", metavar="N", min=1, help="Lowers the tasks' own limit.", rich_help_panel=ASKING
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", metavar="NAME", help="Prompt of an episode: full, compact or bare.", show_default="full",
            rich_help_panel=ASKING,
        ),
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option("--index", metavar="DIR", help="Passage index that episodes search.", rich_help_panel=ASKING),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder", metavar="NAME", help="Of that index, when its own name does not find it here.",
            rich_help_panel=ASKING,
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            "--temperature", metavar="T", min=0.0, help="0 takes the likeliest token.", show_default="0",
            rich_help_panel=ASKING,
        ),
    ] = None,
    in_flight: Annotated[
        int | None,
        typer.Option(
            "--in-flight", metavar="N", min=1, help="Attempts that advance together.", rich_help_panel=ASKING
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            "--engine", metavar="NAME", rich_help_panel=ENGINE,
            help="transformers, vision (transformers with images), vllm, or openai (an endpoint).",
        ),
    ] = "transformers",
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="MODEL", help="Base model of an adapter.", rich_help_panel=ENGINE),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            "--endpoint", metavar="URL", help="Address of an OpenAI-compatible server.", rich_help_panel=ENGINE
        ),
    ] = None,
    images: Annotated[
        bool, typer.Option("--images", help="The model at the endpoint takes images.", rich_help_panel=ENGINE)
    ] = False,
    engine_options: Annotated[
        list[str] | None,
        typer.Option(
            "--engine-set", metavar="NAME=VALUE", rich_help_panel=ENGINE,
            help="Option of the engine, such as dtype; may be repeated.",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache", metavar="DIR", rich_help_panel=ENGINE,
            help="Keep the model's answers here and never ask the same twice.",
        ),
    ] = None,
    run_dir: Annotated[
        Path | None,
        typer.Option(
            "--run", metavar="RUN", help="Evaluate a run's checkpoints and choose the best.", rich_help_panel=OTHER
        ),
    ] = None,
    every: Annotated[
        int,
        typer.Option(
            "--every", metavar="K", min=1, help="With --run: only steps divisible by K.", rich_help_panel=OTHER
        ),
    ] = 1,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="With --run: wait for more while the run is alive.", rich_help_panel=OTHER),
    ] = False,
    rescore: Annotated[
        Path | None,
        typer.Option(
            "--rescore", metavar="DIR", rich_help_panel=OTHER,
            help="Score a stored evaluation again; no model is needed.",
        ),
    ] = None,
) -> None:  # fmt: skip
    """Measure a checkpoint on benchmarks. The same command after an interruption makes only the rows that are missing.

    A checkpoint of a training run is asked as the run asked it (domains, prompt, budgets, temperature) unless options say
    otherwise; of a run the best checkpoint is taken. Exit code 0 when done, 1 when rows were lost to errors of ours, 130
    when interrupted (143 by SIGTERM), 2 for an error.

    With --run the checkpoints of a run are evaluated on its val tasks, and chosen from by checkpoint.best of its config.

    Examples:

    healthgym eval --list

    healthgym eval runs/quickstart/tt_opd --suite gym --limit 64 --out evals/tt_opd

    healthgym eval MODEL --suite medqa --data medqa_us_test.jsonl.gz --set blind=yes

    healthgym eval --run runs/mine --every 20 --suite gym --follow

    healthgym eval --rescore evals/tt_opd
    """
    refuse_beside(context)
    names = [name.strip() for one in suites or () for name in one.split(",") if name.strip()]
    if list_only:
        return _list(names, as_json)
    if rescore is not None:
        return _rescore(rescore, index, encoder, data, as_json)
    if run_dir is not None and not names:
        names = ["gym"]
    if (not checkpoint) == (run_dir is None) or not names:
        raise ConfigError(
            "Give a checkpoint (or --run RUN) and a --suite; `healthgym eval --list` shows the benchmarks"
        )
    if run_dir is not None and out is not None:
        raise ConfigError(f"--run writes into the folder of the run, {run_dir}; leave --out out")
    if images and engine != "openai":
        raise ConfigError(f"--images goes with --engine openai; the engine here is {engine}")
    flags = {
        **_given(temperature=temperature, base=base, endpoint=endpoint),
        **_given(
            has_vision=images or None, max_rows=in_flight if engine in ("transformers", "vision") else None
        ),
    }  # fmt: skip
    of_engine = _options(engine_options or (), "--engine-set")
    refuse_twice(flags, of_engine)
    request = Request(
        suites=names, engine=engine, mode=mode, limit=limit, attempts=attempts, seed=seed, data=data, split=split,
        index=index, encoder=encoder, cache=cache, restart=restart, quiet=as_json, options=_options(options or ()),
        given=_given(max_tokens=max_tokens, max_turns=max_turns, profile=profile, in_flight=in_flight),
        sampling={**of_engine, **flags},
    )  # fmt: skip
    if run_dir is not None:
        from healthgym.cli.eval_run import select

        return select(run_dir, every, request, follow=follow, as_json=as_json)
    assert checkpoint is not None
    records = _evaluate(checkpoint, request, out, base)
    if as_json:
        print_json(records[0] if len(records) == 1 else records)
    else:
        show_results(records)
    if any(record["partial"] for record in records):
        raise typer.Exit(1)
    return None


def _evaluate(checkpoint: str, request: Request, out: Path | None, base: str | None) -> list[dict[str, Any]]:
    """Run every suite against one checkpoint."""
    run = run_of(checkpoint, base) if request.engine in HERE else None
    request.check(run)
    services = request.services(run)
    candidate = request.open(checkpoint, run)
    try:
        return [
            request.evaluate(name, candidate, run, services, _folder(out, checkpoint, name, request.suites))
            for name in request.suites
        ]
    finally:
        candidate.close()


def _folder(out: Path | None, checkpoint: str, suite: str, suites: Sequence[str]) -> Path:
    if out is not None:
        return out if len(suites) == 1 else out / suite
    return Path("evals") / (checkpoint.strip("/.").replace("/", "--") or "checkpoint") / suite


def _given(**values: Any) -> Given:
    return {name: value for name, value in values.items() if value is not None}


def _options(pairs: Iterable[str], flag: str = "--set") -> Given:
    """Return the options among NAME=VALUE texts, values read as YAML."""
    found: Given = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name.strip() or not equals:
            raise ConfigError(f"{flag} {pair!r}: expected NAME=VALUE")
        try:
            found[name.strip()] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise ConfigError(f"{flag} {pair!r}: the value is no YAML ({str(error).splitlines()[0]})") from None
    return found


def _rescore(folder: Path, index: Path | None, encoder: str | None, data: Path | None, as_json: bool) -> None:
    from healthgym.cli.eval_candidate import open_services
    from healthgym.evaluation.rescore_folder import rescore_folder

    found = rescore_folder(folder, services=open_services(index, encoder=encoder), data=data)
    if as_json:
        return print_json({**found.record, "rows": str(found.rows), "changes": found.changes.to_dict()})
    show_results([found.record])
    console.print(f"{found.changes}. Rows: {found.rows}", markup=False, soft_wrap=True)
    return None


def _list(names: Sequence[str], as_json: bool) -> None:
    found = list_benchmarks(names)
    if as_json:
        return print_json(found)
    if not names:
        return show_list(found)
    for one in found:
        show_benchmark(one)
    return None
