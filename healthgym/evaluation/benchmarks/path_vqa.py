"""PathVQA: questions about pathology images made from textbooks' captions, closed (yes or no) and open.

Source: He et al., arXiv:2003.10286 (2020). The first release holds qas/SPLIT/SPLIT_qa.pkl, a list of objects with image (a
name without suffix), question and answer, and images/SPLIT/; its SPLIT_vqa.pkl names them img_id, sent and label. The hub copy
flaviagiammarino/path-vqa has image, question and answer. A question is closed when its answer is yes or no. The files
have no ids; an id is split and place.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.records import Record, text_of
from healthgym.evaluation.text_overlap import words
from healthgym.evaluation.visual import about_closed_and_open, closed_and_open
from healthgym.evaluation.visual_data import (
    VisualQuestion,
    image_folders,
    image_in,
    is_packed,
    packed_image,
    short_answer_question,
    table_of,
)

HOW = (
    "PathVQA is public: give --data the unpacked folder with qas and images, or leave --data out for "
    "flaviagiammarino/path-vqa from the hub"
)
SPLITS = ("test", "val", "train")


def load(source: Source) -> Sequence[VisualQuestion]:
    """Return the questions of a split."""
    split = source.split or "test"
    if split not in SPLITS:
        raise ConfigError(f"PathVQA has the splits {', '.join(SPLITS)}, got {split!r}")
    short, long = ("val", "validation") if split == "val" else (split, split)
    names = [f"{short}_{kind}.{suffix}" for kind in ("qa", "vqa") for suffix in ("pkl", "json")]
    table = table_of(source, *names, hub="flaviagiammarino/path-vqa", split=long, how=HOW)
    question, answer = table.column("question", "sent"), table.column("answer", "label")
    image = table.column("image", "img_id")
    packed = is_packed(table)
    folders = [] if packed else image_folders(source, table, f"images/{short}", "images")
    made = []
    for i, record in enumerate(table.records):
        right = _answer(record, answer)
        made.append(
            short_answer_question(
                id=f"{short}-{i}", question=text_of(record, question), answer=right,
                is_closed=words(right) in (["yes"], ["no"]),
                image=packed_image(table.records, i, image) if packed else image_in(folders, text_of(record, image)),
                strata={},
            )
        )  # fmt: skip
    return made


def _answer(record: Record, column: str) -> str:
    """Return the answer; of weighted ones, as in label, the heaviest."""
    value: Any = record.get(column)
    if isinstance(value, Mapping):
        return str(max(value, key=lambda answer: float(value[answer]), default="")).strip()
    return text_of(record, column)


ABOUT = about_closed_and_open("path_vqa", "PathVQA", HOW, hub=True, splits=SPLITS, splits_files=True)
BENCHMARKS = closed_and_open("path_vqa", "PathVQA", load)
