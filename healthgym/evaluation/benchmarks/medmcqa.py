"""MedMCQA: questions of Indian entrance examinations with four options (Pal et al., CHIL 2022)."""

from collections.abc import Callable, Sequence

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.benchmarks.multiple_choice import Content, MultipleChoice, about, listing, of_source, or_hub
from healthgym.evaluation.items import Item
from healthgym.evaluation.question_files import Record, hub_records, records_of
from healthgym.evaluation.questions import LETTERS, is_pack, items_of, pack_question, question, refuse_columns

HUB = "openlifescienceai/medmcqa"
PACK = "medmcqa_dev"
TEXTS = ("opa", "opb", "opc", "opd")
FORMATS = {
    "MedMCQA": ("id", "question", *TEXTS, "cop", "choice_type", "subject_name"),
    "a pack": ("id", "benchmark", "question", "options", "answer"),
}
GET = f"dev.json of the original archive, or the data set {HUB} saved as JSON lines or Parquet"


def read(source: Source) -> list[Item]:
    """Return the items: the original JSON lines, the hub's rows in any file, a pack, or from the hub.

    The test split carries no answers; the default is val, which the original archive calls dev and the hub validation.
    """
    if source.path is None:
        records = hub_records(HUB, None, source.split or "val", get=GET)
    else:
        records = records_of(source.path)
    if is_pack(records[0]):
        if "cop" in source.options:
            raise ConfigError(f"{source.path} is a pack, which has no column cop; leave --set cop=... out")
        return items_of(records, lambda record: pack_question(record, PACK))
    if any(name not in records[0].values for name in (*TEXTS, "cop")):
        raise refuse_columns(records[0], FORMATS)
    return items_of(records, _converter(0 if source.path is None else first_option(records, source.options.get("cop"))))


def first_option(records: Sequence[Record], told: object = None) -> int:
    """Return which value of `cop` is the first option: 0 in the hub's rows, 1 in the original file.

    Args:
        records: All records of the file.
        told: What the user says; None lets the file tell.

    Raises:
        ConfigError: Neither a 0 nor a 4 tells them apart, or both occur, or answers are missing.
    """
    if told is not None and told not in (0, 1):
        raise ConfigError(f"cop must be 0 or 1, the value that stands for the first option; got {told!r}")
    place: dict[int, str] = {}
    for record in records:
        value = record["cop"]
        value = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
        if value in (-1, None, ""):
            raise ConfigError(
                f"{record.where}: cop is {value!r}, so there is no answer: the test split has none. Use dev"
            )
        if type(value) is not int or not 0 <= value <= 4:
            raise ConfigError(f"{record.where}: cop must lie in 0 to 3 (hub) or 1 to 4 (original file), got {value!r}")
        place.setdefault(value, record.where)
    if 0 in place and 4 in place:
        raise ConfigError(
            f"{place[0]} has cop 0 (the hub counts from 0) and {place[4]} has 4 (the original counts from 1): two files "
            "were mixed"
        )
    found = 0 if 0 in place else 1 if 4 in place else None
    if found is None and told is None:
        raise ConfigError(
            f"{records[0].where}: no cop of the file is 0 or 4, so it cannot be told whether it counts from 0 (hub) or 1 "
            "(original file). Say so: --set cop=0 or --set cop=1"
        )
    if found is not None and told is not None and found != told:
        raise ConfigError(f"{place[4 * found]} has cop {4 * found}, which contradicts cop={told}")
    return int(told) if isinstance(told, int) else int(found or 0)


def _converter(first: int) -> Callable[[Record], Item]:
    def convert(record: Record) -> Item:
        return question(
            record.where, id=record.text("id"), text=record["question"], options=[record[name] for name in TEXTS],
            answer=LETTERS[int(record["cop"]) - first],
            strata={"subset": record.values.get("subject_name"), "choice_type": record.values.get("choice_type")},
        )  # fmt: skip

    return convert


def prompt(content: Content, whole: bool) -> str:
    """Return the prompt of the task medmcqa of lm-evaluation-harness."""
    return f"Question: {content['question'] if whole else ''}\nChoices:\n{listing(content['options'])}Answer:"


def make(source: Source) -> MultipleChoice:
    """Return the benchmark. `cop` says, where the file does not, which number stands for the first option.

    Raises:
        ConfigError: An option is unknown, or `cop` is said of the hub's rows.
    """
    if source.path is None and "cop" in source.options:
        raise ConfigError("medmcqa: cop is of a file, and the hub's rows count from 0; leave it out, or give --data")
    made = of_source(source, name="medmcqa", title="MedMCQA", read=read, prompt=prompt, options=("cop",))
    return or_hub(made, source, HUB)


ABOUT = {
    "medmcqa": about(
        "MedMCQA, Indian entrance exams",
        GET,
        hub=HUB,
        splits=("val", "train"),
        options={"cop": "number of the first option, 0 or 1, where the file does not tell"},
    )
}
BENCHMARKS = {"medmcqa": make}
