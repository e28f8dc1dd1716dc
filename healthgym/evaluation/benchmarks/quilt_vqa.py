"""Quilt-VQA: questions about histopathology that were asked in teaching videos, closed and open.

Source: Seyfioglu et al., Quilt-LLaVA, CVPR 2024, arXiv:2312.04746. The hub dataset wisdomik/Quilt_VQA has one split, called
train though it is for evaluation, with image, question, answer, answer_type (CLOSED or OPEN) and context. The context is not
shown. Rows have no ids; an id is the row's place.
"""

from collections.abc import Sequence

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.records import text_of
from healthgym.evaluation.visual import about_closed_and_open, closed_and_open
from healthgym.evaluation.visual_data import (
    VisualQuestion,
    is_packed,
    packed_image,
    short_answer_question,
    table_of,
    with_choices,
)

HOW = (
    "Quilt-VQA is on the hub as wisdomik/Quilt_VQA, whose terms its users accept there: leave --data out when logged in, or "
    "give --data a folder with its parquet files"
)

ON_THE_HUB = "train"
"""What the dataset calls its one split, which is for evaluation."""


def load(source: Source) -> Sequence[VisualQuestion]:
    """Return the questions."""
    table = table_of(source, "quilt*.parquet", hub="wisdomik/Quilt_VQA", split=ON_THE_HUB, how=HOW)
    question, answer = table.column("question"), table.column("answer")
    kind, image = table.column("answer_type"), table.column("image")
    if not is_packed(table):
        raise ConfigError(f"{table.where}: its rows carry no images. {HOW}")
    return with_choices([
        short_answer_question(
            id=f"quilt-{i}", question=text_of(record, question), answer=text_of(record, answer),
            is_closed=text_of(record, kind).upper() == "CLOSED", image=packed_image(table.records, i, image), strata={},
        )
        for i, record in enumerate(table.records)
    ])  # fmt: skip


ABOUT = about_closed_and_open("quilt_vqa", "Quilt-VQA", HOW, hub=True, splits=("test",))
BENCHMARKS = closed_and_open("quilt_vqa", "Quilt-VQA", load)
