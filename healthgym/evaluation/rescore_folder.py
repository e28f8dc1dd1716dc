"""Scores a stored evaluation again, without inference, into files beside the first ones."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Benchmark, Replayed, Source
from healthgym.evaluation.benchmarks import load_benchmark
from healthgym.evaluation.folder import TRACES, EvaluationFolder
from healthgym.evaluation.items import Item
from healthgym.evaluation.rescoring import Again, Changes, rescore_rows
from healthgym.evaluation.rows import Row
from healthgym.evaluation.summary import summarise_rows
from healthgym.files import read_json, write_whole
from healthgym.rollout.trajectory import Trajectory
from healthgym.world import Services

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Rescored:
    """What scoring again gave: the new rows' file, what changed, and what the new result file holds."""

    rows: Path
    changes: Changes
    record: Mapping[str, Any]


def rescore_folder(
    out_dir: str | Path,
    benchmark: Benchmark | None = None,
    *,
    services: Services | None = None,
    data: Path | None = None,
) -> Rescored:
    """Score the rows of a folder again and write them to `rows_rescored.jsonl` and `result_rescored.json`.

    Earlier files are never touched: a second time the names end in -2, and so on. Episodes are replayed from their
    traces; rows without one stay as they are.

    Args:
        out_dir: Folder of the evaluation.
        benchmark: Scores; None makes the one that the folder names, from the same data.
        services: What episodes share, as in the evaluation.
        data: Where the benchmark's data lies now; None takes where it lay then.

    Raises:
        ConfigError: The folder holds no evaluation or is in use, or the items have changed since.
    """
    folder = EvaluationFolder(out_dir)
    if not folder.path.is_dir():
        raise ConfigError(f"{folder.path} does not exist; give the folder that healthgym eval printed")
    with folder.held():
        identity = folder.identity()
        benchmark = benchmark or load_benchmark(identity["benchmark"], _source(folder, data))
        made, changes = rescore_rows(
            benchmark,
            folder.rows(),
            benchmark.items(),
            digest=identity["items"],
            again=_again(benchmark, folder, services),
        )
        before = folder.result()
        summary = summarise_rows(
            made,
            suite=benchmark.name,
            mode=identity["settings"]["mode"],
            candidate=before.get("candidate", ""),
            floors=benchmark.floors([item for item in benchmark.items() if item.id in {row.id for row in made}]),
            hashes=before.get("hashes") or {},
            scorer=benchmark.scorer,
            engine=identity["candidate"].get("engine", ""),
            sampling=identity["candidate"].get("sampling"),
            settings=identity["settings"],
            machine=before.get("machine") or {},
            expected=before.get("expected"),
        )
        told = {name: value for name, value in changes.to_dict().items() if name != "rows"}
        record = {
            **summary.to_dict(),
            "title": benchmark.title,
            "rescored": {"scorer_before": identity["scorer"], "score_before": before.get("score"), **told},
        }
        name, result = _free_names(folder.path)
        folder.write_result(record, result)  # before the rows, by which others know that it is there
        text = "".join(json.dumps(row.to_record(), ensure_ascii=False) + "\n" for row in made)
        write_whole(name, text.encode("utf-8", "backslashreplace").decode())
    return Rescored(rows=name, changes=changes, record=record)


def _source(folder: EvaluationFolder, data: Path | None) -> Source:
    """Return where the folder's data came from, or where it lies now."""
    told = folder.notes().get("source")
    told = told if isinstance(told, dict) else {}
    path = data or told.get("path")
    return Source(path=None if path is None else Path(path), split=told.get("split"), options=told.get("options") or {})


def _again(benchmark: Benchmark, folder: EvaluationFolder, services: Services | None) -> Again | None:
    """Return what scores a row again from its trace; None for a benchmark that needs none."""
    if not isinstance(benchmark, Replayed):
        return None
    traces, replayed = _Traces(folder.path / TRACES), benchmark
    without = sum(row.status == "answered" and row.key not in traces for row in folder.rows())
    if without:
        logger.warning("%s: %d answered rows have no trace in it and stay as they are", folder.path / TRACES, without)

    def again(row: Row, item: Item) -> Row:
        trajectory = traces.get(row.key)
        return row if trajectory is None else replayed.rescore_episode(row, item, trajectory, services)

    return again


class _Traces:
    """The last trace of each row, read from the file when it is asked for."""

    def __init__(self, path: Path) -> None:
        self.path, self._places = path, dict[tuple[str, int], int]()
        if not path.is_file():
            return
        with path.open("rb") as file:
            place = 0
            for line in file:
                try:
                    named = read_json(line)["extra"]
                    self._places[named["item"], named["attempt"]] = place
                except (ValueError, KeyError, TypeError):
                    pass  # a line that a kill cut short
                place += len(line)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def get(self, key: tuple[str, int]) -> Trajectory | None:
        """Return the trajectory of a row, or None."""
        if key not in self._places:
            return None
        with self.path.open("rb") as file:
            file.seek(self._places[key])
            return Trajectory.from_record(json.loads(file.readline()))


def _free_names(folder: Path) -> tuple[Path, str]:
    """Return names for rows and result that no file has yet."""
    number, mark = 1, ""
    while (folder / f"rows_rescored{mark}.jsonl").exists() or (folder / f"result_rescored{mark}.json").exists():
        number += 1
        mark = f"-{number}"
    return folder / f"rows_rescored{mark}.jsonl", f"result_rescored{mark}.json"
