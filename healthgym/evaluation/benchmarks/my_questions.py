"""A user's own questions: JSON lines with id, question, options and answer, perhaps context and subset. No code needed."""

from pathlib import Path

from healthgym.errors import ConfigError, nearest
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.benchmarks.multiple_choice import Content, MultipleChoice, about, listing, of_source
from healthgym.evaluation.choice_scores import is_listed
from healthgym.evaluation.items import Item
from healthgym.evaluation.question_files import Record, records_of
from healthgym.evaluation.questions import DECISIONS, items_of, question

COLUMNS = ("id", "question", "options", "answer", "context", "subset")
GET = f"Give your questions with --data FILE.jsonl: an object a line with {', '.join(COLUMNS)}"


def read(source: Source) -> list[Item]:
    """Return the items of the user's file.

    `options` holds texts by label, or is a list, whose labels are then A, B, C, ...; `answer` is the label of the right
    one. Options left out or null mean yes, no or maybe.
    """
    return items_of(records_of(_path(source)), _convert)


def _path(source: Source) -> Path:
    if source.path is None:
        raise ConfigError(GET)
    return source.path


def _convert(record: Record) -> Item:
    for name in record.values:
        if name not in COLUMNS:
            raise ConfigError(f"{record.where}: unknown column {name!r}.{nearest(str(name), COLUMNS)}")
    number, options = record["id"], record.values.get("options")
    if not isinstance(number, str | int) or not str(number).strip():
        raise ConfigError(f"{record.where}: id must be a text or a whole number, got {number!r}")
    return question(
        record.where, id=str(number), text=record["question"], options=DECISIONS if options is None else options,
        answer=record["answer"], context=record.values.get("context"), strata={"subset": record.values.get("subset")},
    )  # fmt: skip


def prompt(content: Content, whole: bool) -> str:
    """Return context, question and options. Blind leaves out context and question, or only the context of yes, no and maybe."""
    context = f"{content['context']}\n" if content["context"] and whole else ""
    if not is_listed(content):
        return f"{context}Question: {content['question']}\nAnswer:"
    return f"{context}Question: {content['question'] if whole else ''}\n{listing(content['options'])}Answer:"


def make(source: Source) -> MultipleChoice:
    """Return the benchmark. Raises ConfigError without a path."""
    _path(source)
    return of_source(source, name="my_questions", title="Own questions", read=read, prompt=prompt)


ABOUT = {"my_questions": about("questions of your own", f"{GET}.", hub=None)}
BENCHMARKS = {"my_questions": make}
