"""Prompts that ought to be refused or answered: read from JSON lines, or from the CSV files of two public sets."""

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError, ContentError
from healthgym.evaluation.items import Item
from healthgym.retrieval.passages import decode_row, read_lines

OWN = Path(__file__).parent / "data" / "safety_prompts.jsonl"
"""Twenty requests that clearly ought to be refused and twenty on the same subjects that clearly ought to be answered."""

EXPECTED = ("refuse", "comply")
MEDSAFETYBENCH = "harmful_medical_request"
"""Its column of requests. Source: Han et al., MedSafetyBench, NeurIPS 2024, arXiv:2403.03744; a file for each of the nine
principles of the AMA's code, every request harmful."""

XSTEST = ("prompt", "type", "label")
"""Its columns; label is safe or unsafe. Source: Roettger et al., XSTest, NAACL 2024, arXiv:2308.01263."""


def read_safety_prompts(path: Path) -> list[Item]:
    """Return the items of a file, or of every .jsonl, .jsonl.gz and .csv file of a folder and below.

    JSON lines have `prompt` and `expected` (refuse or comply), and perhaps `id` and `category`. CSV files are told apart by
    their columns.

    Raises:
        ConfigError: There is no such file, or none in the folder, or two items share an id.
        ContentError: A row lacks something; names file and line.
    """
    items: dict[str, Item] = {}
    for file, name in _files(path):
        for item in _read_csv(file, name) if file.suffix == ".csv" else _read_json_lines(file, name):
            if item.id in items:
                raise ConfigError(f"{file}: two prompts have the id {item.id!r}; ids must be unique")
            items[item.id] = item
    if not items:
        raise ConfigError(f"{path} holds no prompt; expected rows with prompt and expected (refuse or comply)")
    return list(items.values())


def _files(path: Path) -> list[tuple[Path, str]]:
    """Return the files with the name that their items' ids begin with."""
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.name.endswith((".jsonl", ".jsonl.gz", ".csv")))
        if not found:
            raise ConfigError(f"{path} holds no .jsonl, .jsonl.gz or .csv file")
        return [(file, file.relative_to(path).with_suffix("").as_posix()) for file in found]
    if not path.is_file():
        raise ConfigError(
            f"There is no file {path}. Safety prompts are JSON lines with prompt and expected (refuse or comply), or the CSV "
            "files of MedSafetyBench or XSTest; without --data the small set that comes along is asked."
        )
    return [(path, path.name.split(".")[0])]


def _read_json_lines(file: Path, name: str) -> Iterator[Item]:
    for number, (where, line) in enumerate(read_lines(file)):
        row = decode_row(where, line)
        if not isinstance(row, dict):
            raise ContentError(f"{where}: expected an object with prompt and expected, got {type(row).__name__}")
        yield _item(
            where, row.get("id") or f"{name}-{number}", row.get("prompt"), row.get("category"), row.get("expected")
        )


def _read_csv(file: Path, name: str) -> Iterator[Item]:
    with file.open(newline="", encoding="utf-8-sig") as stream:
        reader = csv.DictReader(stream)
        read = _reader_of(file, reader.fieldnames or ())
        for number, row in enumerate(reader):
            yield read(f"{file}, line {reader.line_num}", name, number, row)


CsvRow = Mapping[str, Any]


def _reader_of(file: Path, columns: Any) -> Callable[[str, str, int, CsvRow], Item]:
    if MEDSAFETYBENCH in columns:
        return _medsafetybench
    if all(column in columns for column in XSTEST):
        return _xstest
    raise ConfigError(
        f"{file} has the columns {', '.join(map(str, columns)) or 'none'}; expected {MEDSAFETYBENCH} (MedSafetyBench), or "
        f"{', '.join(XSTEST)} (XSTest)"
    )


def _medsafetybench(where: str, name: str, number: int, row: CsvRow) -> Item:
    _, marked, principle = name.rpartition("category_")
    category = f"principle {principle}" if marked else ""
    return _item(where, f"{name}-{number}", row.get(MEDSAFETYBENCH), category, "refuse")


def _xstest(where: str, name: str, number: int, row: CsvRow) -> Item:
    expected = {"safe": "comply", "unsafe": "refuse"}.get(str(row["label"]).strip().lower())
    if expected is None:
        raise ContentError(f"{where}: label must be safe or unsafe, got {row['label']!r}")
    return _item(where, row.get("id") or f"{name}-{number}", row["prompt"], row["type"], expected)


def _item(where: str, name: Any, prompt: Any, category: Any, expected: Any) -> Item:
    if not isinstance(prompt, str) or not prompt.strip():
        raise ContentError(f"{where}: prompt must be text, got {prompt!r}")
    if expected not in EXPECTED:
        raise ContentError(f"{where}: expected must be refuse or comply, got {expected!r}")
    kind = str(category or "uncategorised")
    content = {"prompt": prompt, "category": kind, "expected": expected}
    return Item(id=str(name), content=content, strata={"expected": expected, "category": kind})
