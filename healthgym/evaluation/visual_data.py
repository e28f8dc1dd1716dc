"""Questions about images as datasets hold them: where files lie, what kind a question is, what may be answered."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.closed_set import read_yes_no
from healthgym.evaluation.columnar import parquet_rows
from healthgym.evaluation.records import Table, find_file, hub_table, read_table
from healthgym.evaluation.text_overlap import words

Kind = Literal["yes_no", "choice", "letter", "open"]
"""yes_no and choice are closed; letter is multiple choice; open is free text."""
IMAGE_SUFFIXES = ("", ".jpg", ".png", ".jpeg")


@dataclass(frozen=True)
class ImageFile:
    """An image of a dataset: what it is called, and its bytes when asked for. `load` returns None where it is missing."""

    name: str
    load: Callable[[], bytes | None]


@dataclass(frozen=True, kw_only=True)
class VisualQuestion:
    """One question about one image.

    answers: right ones; for kind "letter" the letter.
    choices: what may be answered, for kind "choice".
    options: text by letter, for kind "letter".
    """

    id: str
    question: str
    answers: tuple[str, ...]
    kind: Kind
    image: ImageFile
    choices: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    strata: Mapping[str, str] = field(default_factory=dict)


def closed_answer(answer: str) -> tuple[Kind, str]:
    """Return kind and answer of a closed question: yes_no where the answer commits to one, choice otherwise."""
    said = read_yes_no(answer)
    return ("choice", answer) if said is None else ("yes_no", said)


def with_choices(questions: Sequence[VisualQuestion]) -> list[VisualQuestion]:
    """Return the questions, those of kind "choice" with what may be answered.

    That is the known answers (of all of them) that a question names, its own among them; where it names fewer than two,
    all known answers.
    """
    known = {
        answer: f" {' '.join(words(answer))} " for each in questions if each.kind == "choice" for answer in each.answers
    }
    done = []
    for question in questions:
        if question.kind == "choice":
            asked = f" {' '.join(words(question.question))} "
            named = {answer for answer, spelt in known.items() if spelt in asked}
            allowed = {*(named if len(named) > 1 else known), *question.answers}
            question = replace(question, choices=tuple(sorted(allowed)))
        done.append(question)
    return done


def table_of(source: Source, *patterns: str, hub: str | None, split: str, how: str) -> Table:
    """Return a dataset's records from the source's path, else from the hub.

    Args:
        source: Where the user has it.
        patterns: Names of the file in a folder; a folder with none of them may hold parquet files.
        hub: Its name on the hub; None where the hub does not have it with images.
        split: To load from the hub.
        how: How to get the data, for messages.

    Raises:
        ConfigError: There is neither; or it cannot be read.
    """
    if source.path is None:
        if hub is None:
            raise ConfigError(f"No data. {how}")
        return hub_table(hub, split, how=how)
    path = source.path
    if path.is_dir() and not any(next(path.rglob(pattern), None) for pattern in patterns):
        files = sorted(path.rglob("*.parquet"))
        of_split = [file for file in files if file.name.startswith(split)]
        if files and not of_split:
            names = ", ".join(file.name for file in files[:9])
            raise ConfigError(f"{path} holds no parquet file of the split {split!r}; it has {names}")
        if files:
            return Table(str(path), parquet_rows(of_split, path))
    return read_table(find_file(path, *patterns))


def image_in(folders: Sequence[Path], name: str) -> ImageFile:
    """Return the image of that name, its suffix left out or not, in the first folder that has it."""

    def load() -> bytes | None:
        places = (folder / f"{name}{suffix}" for folder in folders for suffix in IMAGE_SUFFIXES)
        file = next((place for place in places if place.is_file()), None)
        return None if file is None else file.read_bytes()

    return ImageFile(name, load)


def image_folders(source: Source, table: Table, *names: str) -> list[Path]:
    """Return where images may lie: the folder of --set image_folder=..., else `names` beside the file or above it.

    Raises:
        ConfigError: The folder that was given is not there.
    """
    given = source.options.get("image_folder")
    if given is not None:
        if not Path(str(given)).is_dir():
            raise ConfigError(f"image_folder: no folder {given}")
        return [Path(str(given))]
    beside = Path(table.where).parent
    return [root / name for root in (beside, beside.parent, beside.parent.parent) for name in (*names, ".")]


def packed_image(records: Sequence[Mapping[str, Any]], index: int, column: str) -> ImageFile:
    """Return the image that a hub row carries, named by the digest of its bytes: equal images are one cluster."""

    def load() -> bytes | None:
        value = records[index][column]
        return value.get("bytes") if isinstance(value, Mapping) else None

    data = load()
    return ImageFile(sha256(data).hexdigest()[:16] if data else f"of row {index}", load)


def is_packed(table: Table) -> bool:
    """Say whether the records carry their images, as hub rows do."""
    column = table.find("image")
    return column is not None and bool(len(table.records)) and isinstance(table.records[0][column], Mapping)


def short_answer_question(
    *, id: str, question: str, answer: str, is_closed: bool, image: ImageFile, strata: Mapping[str, str]
) -> VisualQuestion:
    """Return a question with one short answer, closed or open; empty strata are left out."""
    kind, right = closed_answer(answer) if is_closed else ("open", answer)
    kept = {name: value for name, value in strata.items() if value}
    return VisualQuestion(id=id, question=question, answers=(right,), kind=kind, image=image, strata=kept)
