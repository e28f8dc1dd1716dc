"""VQA-RAD: questions of clinicians about radiology images, closed and open.

Source: Lau et al., Sci Data 2018;5:180251. The public file "VQA_RAD Dataset Public.json" lists objects with qid,
phrase_type, image_name, image_organ, question, question_type, answer and answer_type (CLOSED or OPEN); images lie in "VQA_RAD
Image Folder". Its test split is phrase_type test_freeform and test_para. The hub copy flaviagiammarino/vqa-rad has image,
question and answer alone, its splits made anew without repeated questions: there a question counts as closed when its
answer is yes or no, and numbers differ from those of the file.
"""

from collections.abc import Sequence

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.records import text_of
from healthgym.evaluation.visual import about_closed_and_open, closed_and_open
from healthgym.evaluation.visual_data import (
    VisualQuestion,
    closed_answer,
    image_folders,
    image_in,
    is_packed,
    packed_image,
    short_answer_question,
    table_of,
    with_choices,
)

HOW = (
    "VQA-RAD is public (OSF project 89kps): give --data the file 'VQA_RAD Dataset Public.json' with its image folder beside "
    "it, or leave --data out for flaviagiammarino/vqa-rad from the hub"
)
SPLITS = ("test", "train", "all")


def load(source: Source) -> Sequence[VisualQuestion]:
    """Return the questions of a split."""
    split = source.split or "test"
    if split not in SPLITS:
        raise ConfigError(f"VQA-RAD has the splits {', '.join(SPLITS)}, got {split!r}")
    table = table_of(source, "VQA_RAD*.json", hub="flaviagiammarino/vqa-rad", split=split, how=HOW)
    question, answer = table.column("question"), table.column("answer")
    if is_packed(table):
        return with_choices([
            short_answer_question(
                id=f"{split}-{i}", question=text_of(record, question), answer=text_of(record, answer),
                is_closed=closed_answer(text_of(record, answer))[0] == "yes_no",
                image=packed_image(table.records, i, table.column("image")), strata={},
            )
            for i, record in enumerate(table.records)
        ])  # fmt: skip
    qid, image, kind = table.column("qid"), table.column("image_name"), table.column("answer_type")
    phrase = table.column("phrase_type")
    organ, about = table.find("image_organ"), table.find("question_type")
    folders = image_folders(source, table, "VQA_RAD Image Folder", "images")
    return with_choices([
        short_answer_question(
            id=text_of(record, qid), question=text_of(record, question), answer=text_of(record, answer),
            is_closed=text_of(record, kind).upper() == "CLOSED", image=image_in(folders, text_of(record, image)),
            strata={
                "organ": text_of(record, organ), "about": text_of(record, about),
                "phrase": text_of(record, phrase).removeprefix("test_"),
            },
        )
        for record in table.records
        if split == "all" or text_of(record, phrase).startswith("test") == (split == "test")
    ])  # fmt: skip


ABOUT = about_closed_and_open("vqa_rad", "VQA-RAD", HOW, hub=True, splits=SPLITS, splits_files=True)
BENCHMARKS = closed_and_open("vqa_rad", "VQA-RAD", load)
