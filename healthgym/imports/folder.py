"""The domain folder of an import: written aside and renamed, read back when it is played."""

import errno
import json
import keyword
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from healthgym.errors import ContentError, TaskError
from healthgym.tasks.families import Draw, Generate, task_family

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_OF_TEN = {4: "test", 7: "val", 9: "test"}
"""Places of ten cases that go to other splits than train."""


@dataclass(frozen=True, kw_only=True)
class Converted:
    """What a format makes of its sources: data files, families and the words of the domain."""

    package: str
    """Module of the framework that holds the format's `toolkit` and `tasks`."""
    toolkit: str
    """Class of the toolkit in it."""
    families: Mapping[str, Mapping[str, int]]
    """Tasks by family and split."""
    data: Mapping[str, str]
    """Text of each data file by name."""
    title: str
    description: str
    guideline: str
    reads_data: bool = False
    """Whether the toolkit looks things up in the domain's own `data/`."""
    budget: Mapping[str, int] = field(default_factory=lambda: {"turns": 20, "tool_calls": 60})


def deal(index: int) -> str:
    """Return the split of the case in this place: of ten, seven train, one val, two test, so few cases all train."""
    return _OF_TEN.get(index % 10, "train")


def as_lines(items: Iterable[Mapping[str, Any]]) -> str:
    """Return JSON lines whose bytes depend on the content alone."""
    return "".join(json.dumps(item, ensure_ascii=False, sort_keys=True) + "\n" for item in items)


def check_out(out: Path) -> str:
    """Return the domain's name. Raises ContentError when `out` is taken or its last part cannot name a domain."""
    name = out.resolve().name
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ContentError(
            f"--out {out}: {name!r} cannot name a domain; use lower-case letters, digits and _, for example my_cases"
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ContentError(f"--out {out} already exists; choose a new folder, nothing was written")
    return name


def write_folder(out: Path, converted: Converted, source: Mapping[str, Any]) -> None:
    """Write the domain folder beside its place and rename it there, so that a killed import leaves no half domain."""
    name = check_out(out)
    out = out.resolve()
    aside = out.with_name(f".{out.name}.{os.getpid()}.writing")
    shutil.rmtree(aside, ignore_errors=True)
    values = {"name": name, "converted": converted, "source": source, "families": list(converted.families)}
    texts = {
        **{file: _render(file, values) for file in ("domain.yaml", "toolkit.py", "tasks.py", "README.md")},
        "guideline.md": converted.guideline.strip() + "\n",
        "source.json": json.dumps(source, ensure_ascii=False, indent=1, sort_keys=True) + "\n",
        **{f"data/{file}": text for file, text in converted.data.items()},
    }
    try:
        (aside / "data").mkdir(parents=True)
        for file, text in texts.items():
            (aside / file).write_text(text, encoding="utf-8", errors="replace")  # half a surrogate pair is no text
        aside.replace(out)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise ContentError(f"--out {out} was made by someone else meanwhile; choose a new folder") from None
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _render(file: str, values: Mapping[str, Any]) -> str:
    template = files("healthgym.imports").joinpath("templates", f"{file}.j2").read_text(encoding="utf-8")
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    environment.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)
    return environment.from_string(template).render(**values)


@lru_cache(maxsize=64)
def read_lines(path: Path) -> tuple[dict[str, Any], ...]:
    """Return the rows of a JSON lines file of an imported domain, read once. Raises ContentError naming the line."""
    if not path.is_file():
        raise ContentError(f"{path}: missing; import the cases again with: healthgym tasks import")
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise ContentError(f"{path}, line {number}: not valid JSON ({error.msg}); import the cases again") from None
    return tuple(found)


def count_splits(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many rows each split has."""
    counts = Counter(row["split"] for row in rows)
    return {split: counts[split] for split in ("train", "val", "test") if counts[split]}


def row_of(rows: Sequence[Mapping[str, Any]], draw: Draw) -> Mapping[str, Any]:
    """Return the row of a draw. Raises TaskError past the last: imported cases are as many as were imported."""
    own = [row for row in rows if row["split"] == draw.split]
    if draw.index >= len(own):
        raise TaskError(
            f"{draw.domain}/{draw.family} holds {len(own)} imported cases in {draw.split!r}, and number {draw.index} was "
            "asked for; ask for fewer: imported cases cannot be drawn anew"
        )
    return own[draw.index]


def declare(generate: Generate, name: str, counts: Mapping[str, int], doc: str) -> Generate:
    """Mark a generator of an imported domain as one of its task families."""
    generate.__doc__ = doc
    return task_family(counts=counts, name=name)(generate)
