"""MMLU: its six medical subjects, four options each (Hendrycks et al., ICLR 2021)."""

from pathlib import Path

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.benchmarks.multiple_choice import Content, MultipleChoice, about, listing, of_source, or_hub
from healthgym.evaluation.columnar import ON_THE_HUB
from healthgym.evaluation.items import Item
from healthgym.evaluation.question_files import Record, files_in, hub_records, records_of
from healthgym.evaluation.questions import LETTERS, is_pack, items_of, pack_question, question, refuse_columns

HUB = "cais/mmlu"
PACK = "mmlu_medical"
SUBJECTS = (
    "anatomy", "clinical_knowledge", "college_biology", "college_medicine", "medical_genetics", "professional_medicine",
)  # fmt: skip
CSV_COLUMNS = ("question", "A", "B", "C", "D", "answer")
FORMATS = {
    "a CSV file of a subject": CSV_COLUMNS,
    "rows of the hub": ("question", "subject", "choices", "answer"),
    "a pack": ("id", "benchmark", "question", "options", "answer"),
}
GET = f"the folder test/ of the original archive with its files like anatomy_test.csv, or the data set {HUB}"


def read(source: Source) -> list[Item]:
    """Return the items: a folder of CSV or Parquet files by subject, one such file, a pack, or from the hub."""
    split = source.split or "test"
    if source.path is None:
        records = [record for subject in SUBJECTS for record in _hub(subject, split)]
    elif source.path.is_dir():
        records = _folder(source.path, split)
    else:
        records = _file(source.path, split)
    return items_of(records, lambda record: pack_question(record, PACK) if is_pack(record) else _convert(record, split))


def _hub(subject: str, split: str) -> list[Record]:
    return _numbered(hub_records(HUB, subject, split, get=GET), subject)


def _folder(path: Path, split: str) -> list[Record]:
    """Return the records of all six subjects, whose files lie in the folder or in a folder of their own."""
    records = []
    for subject in SUBJECTS:
        patterns = [
            f"{subject}_{split}.csv",
            f"{subject}/{ON_THE_HUB.get(split, split)}-*.parquet",
            f"{split}/{subject}_{split}.csv",
        ]
        files = list(files_in(path, patterns))
        if not files:
            raise ConfigError(f"{path} has no file of the subject {subject}: expected {' or '.join(patterns)}")
        for file in files:
            records += _file(file, split, subject)
    return records


def _file(path: Path, split: str, subject: str | None = None) -> list[Record]:
    if path.name.removesuffix(".gz").endswith(".csv"):
        named = path.name.removesuffix(".gz").removesuffix(".csv").removesuffix(f"_{split}")
        if (subject or named) not in SUBJECTS:
            raise ConfigError(
                f"{path.name}: the name tells no medical subject; expected one like {SUBJECTS[0]}_{split}.csv"
            )
        return _numbered(records_of(path, columns=CSV_COLUMNS), subject or named)
    records = records_of(path)
    return records if is_pack(records[0]) else _numbered(records, subject)


def _numbered(records: list[Record], subject: str | None) -> list[Record]:
    """Return the records with their subject and their number within it, from which ids are made."""
    counts: dict[str, int] = {}
    made = []
    for record in records:
        name = subject or record.values.get("subject")
        if name is None:
            raise refuse_columns(record, FORMATS)
        number = counts[name] = counts.get(name, -1) + 1
        made.append(Record(record.where, {**record.values, "subject": name, "_number": number}))
    return made


def _convert(record: Record, split: str) -> Item:
    subject, answer = record["subject"], record["answer"]
    if subject not in SUBJECTS:
        raise ConfigError(f"{record.where}: the subject {subject!r} is none of {', '.join(SUBJECTS)}")
    if "choices" in record.values:
        options, most = record["choices"], len(record["choices"])
        if type(answer) is not int or not 0 <= answer < most:
            raise ConfigError(f"{record.where}: the answer must lie in 0 to {most - 1}, got {answer!r}")
        answer = LETTERS[answer]
    else:
        options = {letter: record[letter] for letter in "ABCD"}
    number = f"mmlu-{subject}-{split}-{record['_number']:04d}"
    return question(
        record.where, id=number, text=record["question"], options=options, answer=answer, strata={"subset": subject}
    )


def prompt(content: Content, whole: bool) -> str:
    """Return the prompt of the tasks mmlu_* of lm-evaluation-harness without examples."""
    about = f"The following are multiple choice questions (with answers) about {content['subset'].replace('_', ' ')}."
    return f"{about}\n\n{content['question'].strip() if whole else ''}\n{listing(content['options'])}Answer:"


def make(source: Source) -> MultipleChoice:
    """Return the benchmark."""
    made = of_source(source, name="mmlu_medical", title="MMLU, six medical subjects", read=read, prompt=prompt)
    return or_hub(made, source, HUB)


ABOUT = {
    "mmlu_medical": about("MMLU, six medical subjects", GET, hub=HUB, splits=("test", "val", "dev"), splits_files=True)
}
BENCHMARKS = {"mmlu_medical": make}
