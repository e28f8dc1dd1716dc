"""`healthgym quickstart`: the main job, end to end, on a CPU."""

from pathlib import Path
from typing import Annotated, Any

import typer

from healthgym.cli.output import Json, console, errors, print_json, table


def quickstart(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the runs.")] = Path("runs/quickstart"),
    seed: Annotated[int, typer.Option(help="Seeds model, demonstrations, tasks and sampling.")] = 0,
    as_json: Json = False,
) -> None:
    """Train a small model from scratch on triage tasks, with GRPO and with TT-OPD, and measure both.

    Nothing is downloaded. It takes some minutes on two cores; interrupted, the same command goes on where it stopped.

    Example: healthgym quickstart --seed 1 --out runs/second
    """
    from healthgym.quickstart import quickstart as run

    folder = out if seed == 0 else out.with_name(f"{out.name}-seed{seed}") if out == Path("runs/quickstart") else out
    results = run(folder, seed=seed, tell=lambda line: errors.print(line, markup=False))
    if as_json:
        return print_json(results)
    names = ("warm_start", "grpo_cosine", "tt_opd")
    columns = zip(*(_column(results[name]) for name in names), strict=True)
    rows = [[measure, *cells] for measure, cells in zip(_MEASURES, columns, strict=True)]
    table("Held-out tasks, sampled at temperature 1", ["", *names], rows)
    console.print(f"{results['seconds']:.0f} s. Report: {results['report']}", soft_wrap=True)
    return None


_MEASURES = (
    "success", "95 % interval", "n", "tokens", "turns", "tool calls", "hazards", "hints fired", "teacher updates",
)  # fmt: skip


def _column(result: dict[str, Any]) -> list[str]:
    low, high = result["ci"]
    return [
        f"{result['success']:.3f}",
        f"{low:.3f} to {high:.3f}",
        str(result["n"]),
        f"{result['mean_tokens']:.1f}",
        f"{result['mean_turns']:.2f}",
        f"{result['mean_tool_calls']:.2f}",
        f"{result['hazards']:.3f}",
        str(result["hints_fired"]),
        str(result["teacher_updates"]),
    ]
