"""What differs between runs: settings, how their metrics ended, and held-out success in pairs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from healthgym.diagnostics.run import Run, RunFolderError
from healthgym.diagnostics.trends import noise, window
from healthgym.diagnostics.verdict import Verdict, verdict

Paired = Callable[[Sequence[bool], Sequence[bool], Sequence[str]], Mapping[str, Any]]
"""Compares success by episode of a first and a second run, given the task of each; see `compare_paired` of evaluation."""

FINAL = ("success", "reward", "length", "turns", "tool_calls", "clipped", "hazards", "kl", "lambda", "step_time")
"""Quantities whose ends are compared."""
Z95 = 1.96


@dataclass(frozen=True)
class Ending:
    """The mean of a quantity over a run's last steps, with a 95 % interval from the scatter of neighbouring steps."""

    mean: float
    low: float
    high: float
    steps: int

    def to_dict(self) -> dict[str, Any]:
        """Return the ending as JSON-like data."""
        return {"mean": self.mean, "ci": [self.low, self.high], "steps": self.steps}


@dataclass(frozen=True)
class Comparison:
    """Runs beside each other; the first is the one the others are compared with."""

    names: tuple[str, ...]
    runs: tuple[Run, ...]
    verdicts: tuple[Verdict, ...]
    settings: Mapping[str, tuple[Any, ...]]
    """Settings that are not the same in all runs: by key, the value in each; None where a run has none."""
    endings: Mapping[str, tuple[Ending | None, ...]]
    pairs: tuple[Mapping[str, Any], ...]
    """Paired comparisons of held-out success with the first run, as `Paired` made them."""

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON-like data."""
        return {
            "runs": [
                {
                    "name": name,
                    "run_dir": str(run.path),
                    **judged.to_dict(),
                    "evaluations": [
                        {key: row.get(key) for key in ("label", "success", "ci", "n")} for row in run.evaluations
                    ],
                }
                for name, run, judged in zip(self.names, self.runs, self.verdicts, strict=True)
            ],
            "settings": {key: list(values) for key, values in self.settings.items()},
            "final": {
                quantity: [one.to_dict() if one else None for one in found] for quantity, found in self.endings.items()
            },
            "paired": [dict(pair) for pair in self.pairs],
        }


def compare(run_dirs: Sequence[str | Path], paired: Paired) -> Comparison:
    """Read runs and lay them beside each other.

    Args:
        run_dirs: At least two folders; the first is the reference.
        paired: Compares success on the same held-out episodes.

    Raises:
        RunFolderError: fewer than two folders, the same one twice, or one that holds no run.
    """
    paths = [Path(folder) for folder in run_dirs]
    if len({path.resolve() for path in paths}) < max(2, len(paths)):
        raise RunFolderError(
            f"A comparison needs two or more different runs, got {', '.join(map(str, paths)) or 'none'}. "
            "Example: healthgym report --compare runs/a runs/b"
        )
    runs = tuple(Run.load(path) for path in paths)
    names = distinct_names(paths)
    return Comparison(
        names=names,
        runs=runs,
        verdicts=tuple(verdict(run) for run in runs),
        settings=differing_settings([run.config for run in runs]),
        endings={quantity: found for quantity in FINAL if any(found := tuple(ending(run, quantity) for run in runs))},
        pairs=tuple(
            pair
            for name, run in zip(names[1:], runs[1:], strict=True)
            if (pair := _pair(names[0], runs[0], name, run, paired)) is not None
        ),
    )


def distinct_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the shortest ends of the paths that tell them apart."""
    parts = [path.resolve().parts for path in paths]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(one[-length:]) for one in parts]
        if len(set(names)) == len(names):
            return tuple(names)
    return tuple(map(str, paths))


def differing_settings(configs: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """Return the settings whose values are not the same in all configs, by dotted key, in the order they are met."""
    flat = [dict(_flat(config)) for config in configs]
    keys = dict.fromkeys(key for one in flat for key in one)
    found = {key: tuple(one.get(key) for one in flat) for key in keys}
    return {key: values for key, values in found.items() if any(value != values[0] for value in values[1:])}


def ending(run: Run, quantity: str) -> Ending | None:
    """Return how a quantity ended, or None when the run did not log it."""
    values = run.series(quantity).values
    if not values:
        return None
    size = min(len(values), window(len(values)))
    mean = fmean(values[-size:])
    half = Z95 * noise(values) / size**0.5
    return Ending(mean, mean - half, mean + half, size)


def _flat(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            found += _flat(value, f"{prefix}{key}.")
        else:
            found.append((f"{prefix}{key}", value))
    return found


def _pair(first: str, one: Run, second: str, other: Run, paired: Paired) -> Mapping[str, Any] | None:
    """Return the comparison on the held-out episodes that both runs played last; None when they share none."""
    outcomes = [_last_outcomes(run) for run in (one, other)]
    shared = sorted(outcomes[0][1].keys() & outcomes[1][1].keys())
    if not shared:
        return None
    return {
        "first": first,
        "second": second,
        "labels": [outcomes[0][0], outcomes[1][0]],
        **paired(
            [outcomes[0][1][key] for key in shared], [outcomes[1][1][key] for key in shared], [key[0] for key in shared]
        ),
    }


def _last_outcomes(run: Run) -> tuple[str, dict[tuple[str, int], bool]]:
    for row in reversed(run.evaluations):
        listed = row.get("outcomes")
        if isinstance(listed, list) and listed:
            return str(row.get("label", "")), {(str(task), int(seed)): bool(won) for task, seed, won in listed}
    return "", {}
