"""MedicationQA: consumers' questions about drugs, with answers from trusted pages.

Source: Ben Abacha et al., MedInfo 2019. The workbook MedInfo2019-QA-Medications.xlsx has the columns Question, Focus (Drug),
Question Type, Answer, Section Title and URL. Rows have no ids; an id is the row's number below the heading, empty rows
aside. Rows without an answer are left out, and equal questions are one cluster.
"""

from collections.abc import Sequence

from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.long_form import LongFormBenchmark, LongQuestion, about_long_form, long_form_benchmark
from healthgym.evaluation.records import find_file, given_path, read_table, text_of

HOW = (
    "MedicationQA is public (repository abachaa/Medication_QA_MedInfo2019): give --data MedInfo2019-QA-Medications.xlsx, or "
    "the same saved as CSV"
)


def load(source: Source) -> Sequence[LongQuestion]:
    """Return the questions of the workbook."""
    table = read_table(find_file(given_path(source, HOW), "*Medications*.xlsx", "*.xlsx", "*.csv"))
    question, answer = table.column("Question"), table.column("Answer")
    kind = table.find("Question Type")
    made = []
    for row, record in enumerate(table.records, 1):
        if text_of(record, question) or text_of(record, answer):
            about = text_of(record, kind).lower()
            made.append(
                LongQuestion(
                    id=f"row-{row}", question=text_of(record, question), references=(text_of(record, answer),),
                    strata={"type": about} if about else {},
                )
            )  # fmt: skip
    return made


def make(source: Source) -> LongFormBenchmark:
    """Return the benchmark."""
    return long_form_benchmark(source, name="medication_qa", title="MedicationQA, ROUGE-L", load=load, needs=HOW)


ABOUT = {"medication_qa": about_long_form("MedicationQA, ROUGE-L", HOW)}
BENCHMARKS = {"medication_qa": make}
