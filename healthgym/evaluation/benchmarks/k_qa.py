"""K-QA: patients' questions from an online clinic, with statements that an answer must or may well make.

Source: Manes et al., arXiv:2401.14493 (2024). questions_w_answers.jsonl has Question, Free_form_answer, Must_have and Nice_to_have
(lists of statements), written by physicians for 201 questions: k_qa_golden. Silver answers and statements in the same
fields were written by a model for further questions of K-QA (Jeong et al., OLAPH, arXiv:2405.12701, 2024): k_qa_silver, a measure
of agreement with that model.

With --set judge=... comprehensiveness is the headline and the mean of `hallucinations` the published hallucination rate. The paper
judged with GPT-4 and its own prompts; numbers under another judge are not comparable with it.
"""

from collections.abc import Sequence
from typing import Any

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import MakeBenchmark, Source
from healthgym.evaluation.facts import Fact
from healthgym.evaluation.long_form import LongQuestion, about_long_form, long_form_benchmark
from healthgym.evaluation.records import Record, find_file, given_path, read_table, text_of

HOW = "K-QA is public (repository Itaymanes/K-QA): give --data its questions_w_answers.jsonl"
SILVER = "The silver part comes with OLAPH (repository dmis-lab/OLAPH, MedLFQA): give --data its K-QA silver file"


def load(source: Source) -> Sequence[LongQuestion]:
    """Return the questions; an id is the line's number among them."""
    table = read_table(
        find_file(given_path(source, f"{HOW}. {SILVER}"), "questions_w_answers.jsonl", "*k*qa*.jsonl", "*.jsonl")
    )
    question, must = table.column("Question"), table.column("Must_have")
    nice, answer = table.find("Nice_to_have"), table.find("Free_form_answer", "answer")
    return [
        LongQuestion(
            id=f"kqa-{place}",
            question=text_of(record, question),
            references=(text_of(record, answer),),
            facts=(
                *_facts(record, must, table.where, place, must=True),
                *_facts(record, nice, table.where, place, must=False),
            ),
        )
        for place, record in enumerate(table.records, 1)
    ]


def _facts(record: Record, column: str | None, where: str, place: int, *, must: bool) -> list[Fact]:
    value: Any = record.get(column) if column is not None else None
    if value is None:
        return []
    if not isinstance(value, list):
        raise ConfigError(
            f"{where}: {column} of record {place} is {type(value).__name__}, expected a list of statements"
        )
    return [Fact(str(text).strip(), must) for text in value if str(text).strip()]


def _maker(name: str, title: str) -> MakeBenchmark:
    return lambda source: long_form_benchmark(
        source, name=name, title=title, load=load, needs=f"{HOW}. {SILVER}", has_facts=True
    )


JUDGE = {"judge": "nli:MODEL or endpoint:URL#MODEL, reads which facts an answer states; none, and then no fact scores"}
ABOUT = {
    "k_qa_golden": about_long_form("K-QA: ROUGE-L, facts with a judge", HOW, options=JUDGE),
    "k_qa_silver": about_long_form("K-QA, facts written by a model", SILVER, options=JUDGE),
}
BENCHMARKS = {
    "k_qa_golden": _maker("k_qa_golden", "K-QA golden"),
    "k_qa_silver": _maker("k_qa_silver", "K-QA silver (statements by a model)"),
}
