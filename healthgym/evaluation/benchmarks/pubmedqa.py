"""PubMedQA: yes, no or maybe from an abstract without its conclusion (Jin et al., EMNLP 2019)."""

from collections.abc import Sequence
from pathlib import Path

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.benchmarks.multiple_choice import Content, MultipleChoice, about, of_source, or_hub
from healthgym.evaluation.items import Item
from healthgym.evaluation.question_files import Record, hub_records, records_of
from healthgym.evaluation.questions import DECISIONS, is_pack, items_of, pack_question, question, refuse_columns

HUB = "qiaojin/PubMedQA"
PACK = "pubmedqa_test"
LABELLED, TRUTH = "ori_pqal.json", "test_ground_truth.json"
FORMATS = {
    LABELLED: ("QUESTION", "CONTEXTS", "final_decision"),
    "rows of the hub": ("pubid", "question", "context", "final_decision"),
    "a pack": ("id", "benchmark", "question", "options", "answer"),
}
GET = f"{LABELLED} and {TRUTH} of the original repository, in one folder"
UNSPLIT = f"Leave --split out to take all rows, or give --data {GET}"


def read(source: Source) -> list[Item]:
    """Return the items: the original's folder or file, a pack, or all 1,000 labelled rows of the hub.

    Of the original the 500 test rows are taken, which test_ground_truth.json beside it lists; split "all" takes every row.
    """
    if source.split not in (None, "test", "all"):
        raise ConfigError(f"PubMedQA has the splits test and all, got {source.split!r}")
    path = source.path
    if path is None:
        records = hub_records(HUB, "pqa_labeled", "train", get=GET)
    else:
        path = path / LABELLED if path.is_dir() else path
        records = records_of(path)
        is_original = "QUESTION" in records[0].values
        if "truth" in source.options and (source.split == "all" or not is_original):
            raise ConfigError(f"truth lists the test rows of {LABELLED}, and no rows are chosen here; leave it out")
        if source.split == "test" and not is_original and not is_pack(records[0]):
            raise ConfigError(f"{path} holds rows of the hub, which do not say whether they are test rows. {UNSPLIT}")
        if is_original and source.split != "all":
            records = _test_rows(records, path, source.options.get("truth"))
    return items_of(records, _convert)


def _test_rows(records: Sequence[Record], path: Path, told: object) -> list[Record]:
    truth = path.with_name(TRUTH) if told is None else Path(str(told))
    if not truth.is_file():
        raise ConfigError(
            f"{truth} is missing: it lists the test rows of {path.name}. Put it there, name it with --set truth=PATH, or "
            "take all rows with --split all"
        )
    by_id = {str(record["_key"]): record for record in records}
    kept = []
    for record in records_of(truth):
        key, decision = str(record["_key"]), record["_value"]
        if key not in by_id:
            raise ConfigError(
                f"{record.where}: {path.name} has no row of that id; the two files do not belong together"
            )
        if by_id[key]["final_decision"] != decision:
            raise ConfigError(
                f"{record.where}: says {decision!r}, but {path.name} says {by_id[key]['final_decision']!r} for that id"
            )
        kept.append(by_id[key])
    return kept


def _convert(record: Record) -> Item:
    if is_pack(record):
        return pack_question(record, PACK)
    if "QUESTION" in record.values:
        number, text, contexts = record["_key"], record["QUESTION"], record["CONTEXTS"]
    elif "pubid" in record.values:
        context = record["context"]
        number, text = record["pubid"], record["question"]
        contexts = context.get("contexts") if isinstance(context, dict) else context
    else:
        raise refuse_columns(record, FORMATS)
    if not isinstance(contexts, list | tuple) or not contexts or not all(isinstance(one, str) for one in contexts):
        raise ConfigError(f"{record.where}: the contexts must be a list of texts, got {contexts!r:.80}")
    return question(
        record.where, id=f"pubmedqa-{number}", text=text, options=DECISIONS, answer=record["final_decision"],
        context="\n".join(contexts),
    )  # fmt: skip


def prompt(content: Content, whole: bool) -> str:
    """Return the prompt of the task pubmedqa of lm-evaluation-harness."""
    abstract = f"Abstract: {content['context']}\n" if whole else ""
    return f"{abstract}Question: {content['question']}\nAnswer:"


def make(source: Source) -> MultipleChoice:
    """Return the benchmark. `truth` names the file that lists the original's test rows, where it lies elsewhere.

    Raises:
        ConfigError: An option is unknown, or chooses among rows of the hub, which are not split.
    """
    if source.path is None and source.split == "test":
        raise ConfigError(f"pubmedqa: the hub's labelled rows are not split. {UNSPLIT}")
    if source.path is None and "truth" in source.options:
        raise ConfigError(f"pubmedqa: truth lists the test rows of {LABELLED}; leave it out, or give --data")
    made = of_source(source, name="pubmedqa", title="PubMedQA", read=read, prompt=prompt, options=("truth",))
    return or_hub(made, source, HUB)


ABOUT = {
    "pubmedqa": about(
        "PubMedQA, yes, no or maybe",
        GET,
        hub=HUB,
        splits=("test", "all"),
        splits_files=True,
        options={"truth": "file that lists the test rows, where it does not lie beside the questions"},
    )
}
BENCHMARKS = {"pubmedqa": make}
