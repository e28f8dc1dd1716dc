"""SLAKE: questions about radiology images in English and Chinese, closed and open.

Source: Liu et al., ISBI 2021, arXiv:2102.09542. train.json, validation.json and test.json list objects with img_name,
question, answer, q_lang (en or zh), location, modality, answer_type (CLOSED or OPEN), content_type and qid; images lie in the
folder imgs. Results are usually given for English, which is the default here; --set lang=zh or lang=all takes the others.
"""

from collections.abc import Sequence

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.given_options import one_of
from healthgym.evaluation.records import text_of
from healthgym.evaluation.visual import about_closed_and_open, closed_and_open
from healthgym.evaluation.visual_data import (
    VisualQuestion,
    image_folders,
    image_in,
    short_answer_question,
    table_of,
    with_choices,
)

HOW = "SLAKE 1.0 is public (hub dataset BoKelvin/SLAKE): give --data the folder with test.json and the unpacked imgs"
SPLITS = {"test": "test.json", "val": "validat*.json", "train": "train.json"}
LANGUAGES = ("en", "zh", "all")


def load(source: Source) -> Sequence[VisualQuestion]:
    """Return the questions of a split in the language of the option `lang`."""
    split = source.split or "test"
    if split not in SPLITS:
        raise ConfigError(f"SLAKE has the splits {', '.join(SPLITS)}, got {split!r}")
    lang = one_of(source.options, "lang", LANGUAGES)
    table = table_of(source, SPLITS[split], hub=None, split=split, how=HOW)
    qid, image = table.column("qid"), table.column("img_name")
    question, answer = table.column("question"), table.column("answer")
    kind, language = table.column("answer_type"), table.column("q_lang")
    strata = {"modality": "modality", "location": "location", "about": "content_type", "lang": "q_lang"}
    columns = {name: table.find(column) for name, column in strata.items()}
    folders = image_folders(source, table, "imgs")
    return with_choices([
        short_answer_question(
            id=text_of(record, qid), question=text_of(record, question), answer=text_of(record, answer),
            is_closed=text_of(record, kind).upper() == "CLOSED", image=image_in(folders, text_of(record, image)),
            strata={name: text_of(record, column) for name, column in columns.items()},
        )
        for record in table.records
        if lang in ("all", text_of(record, language))
    ])  # fmt: skip


LANG = {"lang": "language of the questions: en (default), zh or all"}
ABOUT = about_closed_and_open("slake", "SLAKE", HOW, hub=False, splits=tuple(SPLITS), options=LANG)
BENCHMARKS = closed_and_open("slake", "SLAKE", load, needs=HOW, options=("lang",))
