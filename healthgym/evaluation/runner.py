"""Runs a benchmark against a candidate: makes the rows that are missing, and sums up those that are there."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError, HealthgymError, RunStopped, nearest
from healthgym.evaluation.benchmark import Benchmark, Detailed, Settings
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.folder import IDENTITY, EvaluationFolder
from healthgym.evaluation.identity import differences, identity_of, machine
from healthgym.evaluation.items import Attempt, Item, attempts_at
from healthgym.evaluation.report import write_report
from healthgym.evaluation.rows import LOST, Row
from healthgym.evaluation.sampling import sample_items
from healthgym.evaluation.summary import summarise_rows
from healthgym.files import FULL
from healthgym.rollout.trajectory import Trajectory
from healthgym.terminated import Terminated, exit_code
from healthgym.world import Services

Progress = Callable[[int, int, Row | None], None]
"""Told (rows done, rows asked for, the row just made), first with no row."""

REMEDY = (
    "The rows before are whole. Lower --max-tokens or, with --engine-set, max_context, or take a smaller model or another "
    "device."
)
"""What to do when a single attempt does not fit into memory."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What an evaluation left: its folder, its rows in the order asked for, and what `result.json` holds."""

    folder: Path
    rows: tuple[Row, ...]
    record: Mapping[str, Any]

    @property
    def is_partial(self) -> bool:
        """Whether rows are missing or were lost to an error of ours."""
        return bool(self.record["partial"])

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON-like data."""
        return dict(self.record)


def evaluate(
    benchmark: Benchmark,
    candidate: Candidate,
    settings: Settings,
    out_dir: str | Path,
    *,
    attempts: int = 1,
    limit: int | None = None,
    seed: int = 0,
    services: Services | None = None,
    progress: Progress | None = None,
    restart: bool = False,
    notes: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Measure a candidate on a benchmark into a folder, which the same call continues after any interruption.

    Rows are appended as attempts finish; only those that are missing, or were lost to an error of ours, are made. The
    folder receives `run.json` (what its rows depend on), `rows.jsonl`, `traces.jsonl` (episodes), `result.json`
    and `report.html` with the items it shows.

    Args:
        benchmark: What is asked.
        candidate: What is measured.
        settings: How it is asked.
        out_dir: The folder.
        attempts: Attempts at each item; raising it keeps the rows there are.
        limit: A fixed sample of this many items, see `sample_items`; raising it keeps the rows there are.
        seed: Seeds worlds and sampling.
        services: What episodes share.
        progress: Told as rows are made.
        restart: Set an earlier evaluation in the folder aside and begin anew.
        notes: More to write into `run.json`, such as where the data was taken from; no part of what rows depend on.

    Raises:
        ConfigError: A setting cannot be used, the folder is in use, or its rows were made otherwise; names what differs.
        RunStopped: Interrupted; the rows so far are whole and summed up.
        HealthgymError: The disk is full, an endpoint has changed its model on the way, or the benchmark broke the rule of one
            row an attempt.
    """
    if settings.mode not in benchmark.modes:
        raise ConfigError(f"{benchmark.name} has no mode {settings.mode!r}.{nearest(settings.mode, benchmark.modes)}")
    items = benchmark.items()
    chosen = sample_items(items, limit)
    wanted = attempts_at(chosen, attempts, seed=seed)
    identity = identity_of(benchmark, items, candidate, settings, seed=seed, services=services)
    folder = EvaluationFolder(out_dir)
    with folder.set_aside() if restart else folder.held():
        folder.claim(identity, notes)
        run = _Run(benchmark, candidate, settings, folder, chosen, wanted, identity, progress)
        run.make_missing(services)
        return run.finish()


def stored_rows(
    benchmark: Benchmark,
    settings: Settings,
    out_dir: str | Path,
    *,
    attempts: int = 1,
    limit: int | None = None,
    seed: int = 0,
    services: Services | None = None,
    engine: str = "",
    sampling: Mapping[str, Any] | None = None,
    max_context: int | None = None,
) -> list[Row] | None:
    """Return the rows that `evaluate` would be asked for if all are in the folder, made as they would be now; else None.

    No candidate is needed: whoever asks knows which one the folder is of.

    Args:
        benchmark: As for `evaluate`, and so are the others.
        engine: What the name of the candidate's engine had to begin with.
        sampling: Values that the candidate's sampling had to have.
        max_context: Most positions that it was to have; None says nothing of them.
    """
    folder = EvaluationFolder(out_dir)
    if not (folder.path / IDENTITY).is_file():
        return None
    items, before = benchmark.items(), folder.identity()
    made_by = before.pop("candidate", None) or {}
    now = identity_of(benchmark, items, None, settings, seed=seed, services=services)
    del now["candidate"]
    if differences(before, now) or not _was_made_by(made_by, engine, sampling or {}, max_context):
        return None
    rows = {row.key: row for row in folder.rows() if row.status not in LOST}
    wanted = attempts_at(sample_items(items, limit), attempts, seed=seed)
    return [rows[one.key] for one in wanted] if all(one.key in rows for one in wanted) else None


def _was_made_by(
    candidate: Mapping[str, Any], engine: str, sampling: Mapping[str, Any], max_context: int | None
) -> bool:
    """Say whether a stored candidate was asked for as one is now, as far as that shows without loading it."""
    known, positions = candidate.get("sampling") or {}, candidate.get("max_context")
    return (
        str(candidate.get("engine", "")).startswith(engine)
        and all(known.get(name) == value for name, value in sampling.items())
        and (max_context is None or positions is None or positions <= max_context)
    )


class _Run:
    """One call's share of an evaluation."""

    def __init__(
        self,
        benchmark: Benchmark,
        candidate: Candidate,
        settings: Settings,
        folder: EvaluationFolder,
        items: Sequence[Item],
        wanted: Sequence[Attempt],
        identity: Mapping[str, Any],
        progress: Progress | None,
    ) -> None:
        self.benchmark, self.candidate, self.settings, self.folder = benchmark, candidate, settings, folder
        self.items, self.wanted, self.identity, self.progress = items, wanted, identity, progress
        self.rows = {row.key: row for row in folder.rows()}
        missing = [one for one in wanted if not self._is_made(one.key)]
        self.missing = {one.key: one for one in missing}
        self.made = 0
        self.served: dict[str, str] = self.folder.result().get("served", {})
        self.started = time.monotonic()

    def make_missing(self, services: Services | None) -> None:
        """Make the missing rows; what an interruption or a full disk leaves is summed up as it is."""
        self._tell(None)
        try:
            if self.missing:
                self._measure(services)
        except KeyboardInterrupt as stop:
            self.folder.write_result(self.record())
            how = "Stopped by SIGTERM" if isinstance(stop, Terminated) else "Interrupted"
            raise RunStopped(
                f"{how} with {self._done()} of {len(self.wanted)} rows in {self.folder.path}. They are whole; the same "
                "command makes the others.",
                exit_code=exit_code(stop),
            ) from None
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise HealthgymError(
                f"The disk is full: {error}. {self._done()} of {len(self.wanted)} rows are in {self.folder.path}, whole. "
                "Free space; the same command makes the others."
            ) from error
        if self.missing:
            first = next(iter(self.missing))
            raise HealthgymError(
                f"{self.benchmark.name} gave no row for {len(self.missing)} attempts, {first} among them; a benchmark "
                "keeps exactly one row for each attempt it is given"
            )
        if self.made:
            self._verify()

    def _measure(self, services: Services | None) -> None:
        """Have every missing row made; where this process runs out of memory, those still missing with fewer in flight."""

        def measure(in_flight: int) -> None:
            settings = replace(self.settings, in_flight=in_flight)
            self.benchmark.measure(list(self.missing.values()), self.candidate, settings, services, self._keep)

        if "torch" not in sys.modules:
            return measure(self.settings.in_flight)
        from healthgym.rollout.memory import with_fewer

        return with_fewer(measure, min(self.settings.in_flight, len(self.missing)), remedy=REMEDY)

    def _verify(self) -> None:
        """Have the candidate looked at again: rows that another model may have written are not gone on with."""
        try:
            self.served = dict(self.candidate.verify())
        except HealthgymError as error:
            self.folder.distrust(str(error))
            raise

    def finish(self) -> Evaluation:
        """Sum up, and write result and report."""
        record = self.record()
        self.folder.write_result(record)
        write_report(self.folder.path, items=self.items)
        return Evaluation(folder=self.folder.path, rows=tuple(self._asked_for()), record=record)

    def record(self) -> dict[str, Any]:
        """Return what `result.json` is to hold."""
        before = self.folder.result().get("seconds", 0.0)
        summary = summarise_rows(
            self._asked_for(),
            suite=self.benchmark.name,
            mode=self.settings.mode,
            candidate=self.candidate.name,
            floors=self.benchmark.floors(self.items),
            hashes={
                **self.candidate.hashes, "items": self.identity["items"], **self.identity["hashes"],
            },
            scorer=self.benchmark.scorer,
            engine=self.candidate.engine,
            sampling=dict(self.candidate.sampling),
            settings=asdict(self.settings),
            machine=machine(),
            expected=len(self.wanted),
        )  # fmt: skip
        return {
            **summary.to_dict(),
            "title": self.benchmark.title,
            "index": self.identity["index"],
            "healthgym": self.identity["healthgym"],
            "served": self.served,
            "seconds": round(before + time.monotonic() - self.started, 3),
            **({"details": self.benchmark.details(self._asked_for())} if isinstance(self.benchmark, Detailed) else {}),
        }

    def _keep(self, row: Row, trajectory: Trajectory | None = None, /) -> None:
        if row.key not in self.missing:
            raise HealthgymError(
                f"{self.benchmark.name} kept a row for {row.key}, which was not asked for or is there already"
            )
        self.folder.keep(row, trajectory)
        del self.missing[row.key]
        self.made += 1
        self.rows[row.key] = row
        self._tell(row)

    def _is_made(self, key: tuple[str, int]) -> bool:
        return key in self.rows and self.rows[key].status not in LOST

    def _asked_for(self) -> list[Row]:
        return [self.rows[one.key] for one in self.wanted if one.key in self.rows]

    def _done(self) -> int:
        return sum(self._is_made(one.key) for one in self.wanted)

    def _tell(self, row: Row | None) -> None:
        if self.progress is not None:
            self.progress(len(self.wanted) - len(self.missing), len(self.wanted), row)
