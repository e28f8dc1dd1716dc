"""Turns the results of the experiment into tables with intervals and paired tests, and into curves."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from design import FILE, Design, Run, config_digest
from figures import draw
from scipy import stats

from healthgym.evaluation.statistics import holm

FOLDER = Path(__file__).parent
Results = Mapping[str, Mapping[int, Mapping[str, Any]]]
"""By arm and seed."""
Contrasts = Mapping[str, Mapping[str, Sequence[str]]]
"""By what is compared: the arms `with` it and, in the same order, their likes `without`."""


def main() -> int:
    """Write `results.md` and the curves of every setting that has results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--design", type=Path, default=FILE)
    parser.add_argument("--results", type=Path, default=FOLDER / "results")
    arguments = parser.parse_args()
    design = Design(arguments.design)
    parts = [f"# Results\n\nMade by `python recipes/ablation/analyse.py` from `results/`. {NOTE}\n"]
    for setting, described in design.content["settings"].items():
        found = load(arguments.results, design, setting)
        if found:
            parts.append(section(setting, described, found, design.content["contrasts"]))
            draw(setting, found, described["reference"], arguments.results)
    (arguments.results / "results.md").write_text("\n".join(parts), encoding="utf-8")
    print(arguments.results / "results.md")
    return 0


PRACTISED = "practised tasks, mean over the first half of the steps"
"""How fast an arm learns. Looked at when all other figures of `collapse` and `four_domains` were known."""
FEWEST = 3
"""Seeds below which neither interval nor test is stated: the t of two seeds is 12.7 where that of many is 2.0."""
NOTE = (
    "A row's figures are means over its seeds. Intervals are 95 % t-intervals over seeds; a difference is paired by seed "
    "(same start, same tasks, same order), its p-value is of the paired t-test, adjusted by Holm's method over the arms of "
    "the table; both are stated from three seeds on. Success is measured on held-out tasks at the training temperature."
)


def load(folder: Path, design: Design, setting: str) -> Results:
    """Return the results of a setting's arms, borrowed ones first, in the order of the design.

    Raises:
        SystemExit: A result is damaged, or was made from another config than the design's.
    """
    described = design.content["settings"][setting]
    homes = {**described.get("borrows", {}), **dict.fromkeys(described["arms"], setting)}
    found: dict[str, dict[int, Mapping[str, Any]]] = {}
    for arm, home in homes.items():
        for seed in described["seeds"]:
            run = Run(home, arm, seed)
            file = folder / f"{run.name}.json"
            if not file.is_file():
                continue
            try:
                record = json.loads(file.read_text(encoding="utf-8"))
            except ValueError as error:
                sys.exit(f"{file} is damaged ({error}): delete it and run it again")
            if record["config"] != config_digest(design.config(run)):
                sys.exit(f"{file} was made from another config than experiment.yaml gives: delete it and run it again")
            found.setdefault(arm, {})[seed] = {**record, PRACTISED: early(record["curve"])}
    return found


def early(curve: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean success of the episodes of the first half of the steps."""
    return {"success": fmean(row["success"] for row in curve[: (len(curve) + 1) // 2])}


def section(setting: str, described: Mapping[str, Any], found: Results, contrasts: Contrasts) -> str:
    """Return a setting's tables."""
    reference = described["reference"]
    lines = [f"## {setting}", "", described["question"], ""]
    for split in design_splits(found):
        lines += [f"### Success on {split}", "", *success_table(found, split, reference), ""]
        lines += [*contrast_table(found, split, contrasts), ""]
    lines += [
        "### What the episodes of the last ten steps and the held-out ones look like",
        "",
        *behaviour_table(found),
        "",
    ]
    return "\n".join(lines)


def design_splits(found: Results) -> list[str]:
    """Return the task sets that were measured."""
    record = next(iter(next(iter(found.values())).values()))
    return [name for name in ("fresh", "test", "test_ood", PRACTISED) if name in record]


def success_table(found: Results, split: str, reference: str) -> list[str]:
    """Return the rows of one split: success, its interval, and the paired difference from the reference arm."""
    rows, p_values = [], []
    for arm, by_seed in found.items():
        values = [record[split]["success"] for record in by_seed.values()]
        shared = sorted(set(by_seed) & set(found.get(reference, {})))
        pairs = [(by_seed[s][split]["success"], found[reference][s][split]["success"]) for s in shared]
        difference = None if arm == reference or len(pairs) < FEWEST else [a - b for a, b in pairs]
        if difference is not None:
            p_values.append(p_value(difference))
        rows.append((arm, values, difference))
    adjusted = iter(holm(p_values))
    starts = [
        record["start"][split]["success"]
        for record in found.get(reference, {}).values()
        if split in (record.get("start") or {})
    ]
    if starts:
        rows.insert(0, ("", starts, None))
    lines = [f"| arm | seeds | success | less `{reference}` | p (Holm) | by seed |", "|---|---|---|---|---|---|"]
    for arm, values, difference in rows:
        gap, p = ("", "") if difference is None else (with_interval(difference, signed=True), f"{next(adjusted):.3f}")
        seeds = " ".join(f"{value:.2f}" for value in values)
        label = f"`{arm}`" if arm else "before the runs"
        lines.append(f"| {label} | {len(values)} | {with_interval(values)} | {gap} | {p} | {seeds} |")
    return lines


def contrast_table(found: Results, split: str, contrasts: Contrasts) -> list[str]:
    """Return what each part of the method adds: the difference between arms that differ in nothing else, paired by seed."""
    rows = []
    for name, sides in contrasts.items():
        arms = [*sides["with"], *sides["without"]]
        seeds = sorted(set.intersection(*(set(found.get(arm, ())) for arm in arms)))
        if len(seeds) < FEWEST:
            continue
        mean = {
            side: [fmean(found[arm][seed][split]["success"] for arm in sides[side]) for seed in seeds]
            for side in ("with", "without")
        }
        rows.append((name, sides, [a - b for a, b in zip(mean["with"], mean["without"], strict=True)]))
    if not rows:
        return []
    adjusted = holm([p_value(gaps) for *_, gaps in rows])
    lines = ["| part | with | without | seeds | adds | p (Holm) | by seed |", "|---|---|---|---|---|---|---|"]
    for (name, sides, gaps), p in zip(rows, adjusted, strict=True):
        names = (", ".join(f"`{arm}`" for arm in sides[side]) for side in ("with", "without"))
        by_seed = " ".join(f"{gap:+.2f}" for gap in gaps)
        lines.append(
            f"| {name} | {' | '.join(names)} | {len(gaps)} | {with_interval(gaps, signed=True)} | {p:.3f} | {by_seed} |"
        )
    return lines


def p_value(differences: Sequence[float]) -> float:
    """Return the two-sided p of the paired t-test, 1 where nothing differs."""
    return float(stats.ttest_1samp(differences, 0.0).pvalue) if any(differences) else 1.0


def behaviour_table(found: Results) -> list[str]:
    """Return tokens, turns, calls, hazards, clipped share, divergence and time a step by arm."""
    head = (
        "arm",
        "tokens",
        "turns",
        "tool calls",
        "hazards",
        "clipped",
        "dead groups",
        "KL",
        "CPU s a step",
        "verdicts",
    )
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for arm, by_seed in found.items():
        tests = [record["test"] for record in by_seed.values()]
        curves = [record["curve"] for record in by_seed.values()]
        counted = Counter(record["verdict"]["status"] for record in by_seed.values())
        verdicts = ", ".join(f"{count} {status}" for status, count in counted.most_common())
        cells = [
            *(f"{fmean(test[name] for test in tests):.3g}" for name in ("mean_tokens", "mean_turns", "mean_tool_calls", "hazards")),
            *(late(curves, name) for name in ("clip_share", "dead_group_share", "kl")),
            f"{fmean(row['cpu_seconds'] for curve in curves for row in curve if 'cpu_seconds' in row):.2f}",
            verdicts,
        ]  # fmt: skip
        lines.append(f"| `{arm}` | {' | '.join(cells)} |")
    return lines


def late(curves: Sequence[Sequence[Mapping[str, float]]], name: str, steps: int = 10) -> str:
    """Return the mean of a step metric over the last steps of all seeds; a dash where it was not logged."""
    values = [row[name] for curve in curves for row in curve[-steps:] if name in row]
    return f"{fmean(values):.3g}" if values else "-"


def with_interval(values: Sequence[float], *, signed: bool = False) -> str:
    """Return a mean over seeds with its 95 % t-interval, or the mean alone where seeds are fewer than `FEWEST`."""
    mean, sign = fmean(values), "+" if signed else ""
    if len(values) < FEWEST:
        return f"{mean:{sign}.3f}"
    half = float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))
    return f"{mean:{sign}.3f} ({mean - half:{sign}.3f} to {mean + half:{sign}.3f})"


if __name__ == "__main__":
    sys.exit(main())
