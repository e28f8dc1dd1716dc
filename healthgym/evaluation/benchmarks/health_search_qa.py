"""HealthSearchQA: health questions that people type into a search engine. It has no answers.

Source: Singhal et al., Nature 2023;620:172-180, supplementary data: a table with a column of questions, elsewhere with an id
beside each. Answers are collected for people, or a judge of one's own, to read; the headline counts answers that can be
read at all and says nothing about their quality.
"""

from collections.abc import Sequence

from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.long_form import LongFormBenchmark, LongQuestion, about_long_form, long_form_benchmark
from healthgym.evaluation.records import find_file, given_path, read_table, text_of

HOW = "HealthSearchQA is in the supplementary data of its paper: give --data its table of questions, as .csv or .xlsx"


def load(source: Source) -> Sequence[LongQuestion]:
    """Return the questions of the table; rows without one are left out."""
    table = read_table(find_file(given_path(source, HOW), "*health*search*.csv", "*.csv", "*.xlsx", "*.jsonl"))
    question, name = table.column("question", "questions", "query"), table.find("id", "question_id")
    return [
        LongQuestion(id=text_of(record, name) or f"row-{row}", question=text_of(record, question))
        for row, record in enumerate(table.records, 1)
        if text_of(record, question)
    ]


def make(source: Source) -> LongFormBenchmark:
    """Return the benchmark."""
    title = "HealthSearchQA: answers collected, quality not measured"
    return long_form_benchmark(source, name="health_search_qa", title=title, load=load, needs=HOW, headline="usable")


ABOUT = {"health_search_qa": about_long_form("HealthSearchQA: answers, no score", HOW)}
BENCHMARKS = {"health_search_qa": make}
