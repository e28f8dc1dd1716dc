"""The blind floor: what the same candidate scored on the same questions without their images, in a run of its own."""

import json
from collections.abc import Sequence
from pathlib import Path

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Floor
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.items import Item
from healthgym.evaluation.rows import Row, read_rows

FIRST = "Measure it first with --set images=no --out FOLDER, then give --set blind_run=FOLDER"


def blind_floor(folder: Path | None, items: Sequence[Item]) -> Floor:
    """Return the mean of a run without images over its answered rows of these items; unknown without a folder.

    Raises:
        HealthgymError: The folder has no rows, showed images, or shares no question with these items.
    """
    if folder is None:
        return Floor(name="blind", score=None, how=f"the same candidate without the images. {FIRST}")
    scores = [row.score for row in _rows(folder, items) if row.score is not None]
    how = f"the same candidate without the images, {len(scores)} answered rows of {len(items)} questions"
    return Floor(name="blind", score=sum(scores) / len(scores) if scores else None, how=how)


def check_blind(folder: Path | None, items: Sequence[Item], candidate: Candidate) -> None:
    """Refuse a folder that is no blind run of these items with this candidate.

    Raises:
        HealthgymError: As `blind_floor`; or another candidate was measured there.
    """
    if folder is None:
        return
    _rows(folder, items)
    run = folder / "run.json"
    if not run.is_file():
        return
    try:
        measured = json.loads(run.read_text(encoding="utf-8"))["identity"]["candidate"]["hashes"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{run} is damaged: {error}. {FIRST}") from error
    if measured != dict(candidate.hashes):
        raise ConfigError(f"{folder} was measured with another candidate than {candidate.name}. {FIRST}")


def _rows(folder: Path, items: Sequence[Item]) -> list[Row]:
    ids = {item.id for item in items}
    rows = [row for row in read_rows(folder / "rows.jsonl") if row.id in ids]
    if not rows:
        raise ConfigError(f"{folder} has no row for these questions; blind_run needs a run of the same benchmark")
    if any(row.detail.get("images") is not False for row in rows):
        raise ConfigError(f"{folder} was measured with images. {FIRST}")
    return rows
