"""MedQA: USMLE-style questions with four options (Jin et al., Applied Sciences 2021;11:6421)."""

from collections.abc import Callable, Sequence

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.benchmarks.multiple_choice import Content, MultipleChoice, about, listing, of_source, or_hub
from healthgym.evaluation.items import Item
from healthgym.evaluation.question_files import Record, hub_records, records_of
from healthgym.evaluation.questions import LETTERS, is_pack, items_of, pack_question, question, refuse_columns

HUB = "GBaker/MedQA-USMLE-4-options"
PACK = "medqa_us_test"
ENDINGS = ("ending0", "ending1", "ending2", "ending3")
FORMATS = {
    "MedQA": ("question", "options", "answer_idx", "meta_info"),
    "its lm-evaluation-harness form": ("id", "sent1", *ENDINGS, "label"),
    "a pack": ("id", "benchmark", "question", "options", "answer"),
}
GET = f"phrases_no_exclude_test.jsonl of MedQA's US questions with 4 options, or the data set {HUB} saved as JSON lines"


def read(source: Source) -> list[Item]:
    """Return the items: JSON lines of MedQA itself, of its form with sent1 and endings, of a pack, or from the hub."""
    split = source.split or "test"
    records = hub_records(HUB, None, split, get=GET) if source.path is None else records_of(source.path)
    return items_of(records, _converter(records, split))


def _converter(records: Sequence[Record], split: str) -> Callable[[Record], Item]:
    numbers = {record.where: number for number, record in enumerate(records)}
    first = records[0]

    def native(record: Record) -> Item:
        options, answer = record["options"], record["answer_idx"]
        item = question(
            record.where, id=f"medqa-{split}-{numbers[record.where]:05d}", text=record["question"], options=options,
            answer=answer, strata={"subset": record.values.get("meta_info")},
        )  # fmt: skip
        told = record.values.get("answer")
        said = item.content["options"][answer]
        if told is not None and told != said:
            raise ConfigError(f"{record.where}: answer_idx {answer!r} is the option {said!r}, but answer says {told!r}")
        return item

    def endings(record: Record) -> Item:
        label = record["label"]
        if type(label) is not int or not 0 <= label < len(ENDINGS):
            raise ConfigError(f"{record.where}: label must lie in 0 to {len(ENDINGS) - 1}, got {label!r}")
        text = f"{record['sent1']} {record.values.get('sent2') or ''}".strip()
        options = [record[name] for name in ENDINGS]
        return question(record.where, id=record.text("id"), text=text, options=options, answer=LETTERS[label])

    if is_pack(first):
        return lambda record: pack_question(record, PACK)
    if "answer_idx" in first.values:
        return native
    if "ending0" in first.values:
        return endings
    raise refuse_columns(first, FORMATS)


def prompt(content: Content, whole: bool) -> str:
    """Return the prompt of the task medqa_4options of lm-evaluation-harness."""
    return f"Question: {content['question'] if whole else ''}\n{listing(content['options'])}Answer:"


def make(source: Source) -> MultipleChoice:
    """Return the benchmark."""
    made = of_source(source, name="medqa", title="MedQA (USMLE)", read=read, prompt=prompt)
    return or_hub(made, source, HUB)


ABOUT = {"medqa": about("MedQA (USMLE), four options", GET, hub=HUB, splits=("test", "train"), splits_files=True)}
BENCHMARKS = {"medqa": make}
