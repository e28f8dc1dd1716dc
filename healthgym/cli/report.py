"""`healthgym report`: one page about a run, several, or an evaluation; live if wanted, and a verdict for scripts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from healthgym.cli.output import Json, console, print_json
from healthgym.errors import ConfigError

_COLOURS = {"healthy": "green", "warning": "yellow", "collapsed": "red"}


def report(
    run_dirs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN_DIR...", help="Folder of the run, as training printed it, or of an evaluation."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="HTML file to write; RUN_DIR/report.html when absent.")
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Lay several runs beside each other on one page.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Show a page that renews itself while the run goes on.")] = False,
    traces: Annotated[bool, typer.Option("--traces", help="Write a page of the saved episodes instead.")] = False,
    port: Annotated[int, typer.Option("--port", help="Port of --live; 0 takes a free one.")] = 8090,
    as_json: Json = False,
) -> None:
    """Write a run's diagnostics as one HTML page and say whether the run is healthy.

    The folder of an evaluation gets its own page: scores with intervals and floors, and its rows to read. Exit code 0
    for healthy and warning, 3 for collapsed; with --compare, 3 when any of the runs collapsed.

    Example: healthgym report runs/tt_opd --out report.html

    Example: healthgym report --compare runs/grpo runs/tt_opd --out comparison.html
    """
    from healthgym.evaluation.stored import has_begun, is_evaluation

    if begun := [path for path in run_dirs if has_begun(path)]:
        raise ConfigError(
            f"{begun[0]} is an evaluation without a row yet; the healthgym eval that began it goes on with it"
        )
    if any(map(is_evaluation, run_dirs)):
        return _evaluation(run_dirs, out, as_json, others=compare or live or traces)
    if sum((compare, live, traces)) > 1:
        raise ConfigError("--compare, --live and --traces show different pages; give one of them")
    if compare:
        return _compare(run_dirs, out or Path("comparison.html"), as_json)
    if len(run_dirs) != 1:
        raise ConfigError(f"{len(run_dirs)} runs were given; add --compare to lay them beside each other")
    if live:
        return _live(run_dirs[0], port)
    if traces:
        return _traces(run_dirs[0], out, as_json)
    return _report(run_dirs[0], out, as_json)


def _evaluation(folders: Sequence[Path], out: Path | None, as_json: bool, *, others: bool) -> None:
    from healthgym.evaluation.report import write_report
    from healthgym.evaluation.stored import Stored
    from healthgym.evaluation.table import result_table

    if others or len(folders) > 1:
        raise ConfigError(
            f"{folders[0]} is an evaluation: healthgym report shows one at a time, without --compare, --live and --traces. "
            "Compare evaluations with: healthgym compare EVAL_DIR EVAL_DIR"
        )
    page, result = write_report(folders[0], out), Stored.load(folders[0]).result
    if as_json:
        return print_json({"eval_dir": str(folders[0]), "report": str(page), **result})
    if result:
        console.print(result_table(result))
    return console.print(f"wrote {page}", markup=False)


def _report(run_dir: Path, out: Path | None, as_json: bool) -> None:
    from healthgym.diagnostics import verdict, write_report

    page, judged = write_report(run_dir, out), verdict(run_dir)
    if as_json:
        print_json({"run_dir": str(run_dir), "report": str(page), **judged.to_dict()})
    else:
        console.print(f"[{_COLOURS[judged.status]}]{judged.status}[/] after {judged.steps} steps")
        for finding in judged.findings:
            console.print(f"- {finding.severity}: {finding.message} {finding.remedy}", markup=False)
        console.print(f"wrote {page}", markup=False)
    raise typer.Exit(judged.exit_code)


def _compare(run_dirs: Sequence[Path], out: Path, as_json: bool) -> None:
    from healthgym.diagnostics import compare, write_comparison
    from healthgym.evaluation import compare_paired

    def paired(first: Sequence[bool], second: Sequence[bool], tasks: Sequence[str]) -> Mapping[str, Any]:
        return compare_paired(first, second, tasks).to_dict()

    comparison = compare(run_dirs, paired)
    page = write_comparison(comparison, out)
    if as_json:
        print_json({"report": str(page), **comparison.to_dict()})
    else:
        for name, judged in zip(comparison.names, comparison.verdicts, strict=True):
            console.print(f"[{_COLOURS[judged.status]}]{judged.status}[/] {name} after {judged.steps} steps")
        for pair in comparison.pairs:
            low, high = pair["ci"]
            console.print(
                f"held-out success, {pair['second']} less {pair['first']}: {pair['difference']:+.1%} "
                f"({low:+.1%} to {high:+.1%}, n {pair['n']})",
                markup=False,
            )
        console.print(f"wrote {page}", markup=False)
    raise typer.Exit(max(judged.exit_code for judged in comparison.verdicts))


def _live(run_dir: Path, port: int) -> None:
    from healthgym.diagnostics.live import HOST, live_server

    with live_server(run_dir, port) as server:
        console.print(
            f"{run_dir} at http://{HOST}:{server.server_port}/  (Ctrl-C ends the view, not the run)", markup=False
        )
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            console.print("view ended")


def _traces(run_dir: Path, out: Path | None, as_json: bool) -> None:
    from healthgym.diagnostics import write_traces

    page = write_traces(run_dir, out)
    if as_json:
        print_json({"run_dir": str(run_dir), "report": str(page)})
    else:
        console.print(f"wrote {page}", markup=False)
