"""PMC-VQA: multiple-choice questions about figures of open-access articles, made by a model from their captions.

Source: Zhang et al., arXiv:2305.10415 (2023). CSV with Figure_path, Question, Answer, Choice A to Choice D and Answer_label (a
letter); a later version has a letter in Answer and no Answer_label. Choices often repeat their letter: "A: ..." is
taken off, "A. ..." where all of a row have it, for "C. difficile" is a choice. test_clean.csv, checked by people, is taken where a
folder has it, else test.csv, else test_2.csv; images lie in images, figures or beside the file. Rows have no ids; an id is the
row's number below the heading.
"""

import re
from collections.abc import Mapping, Sequence

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.records import Record, text_of
from healthgym.evaluation.text_overlap import words
from healthgym.evaluation.visual import VisualBenchmark, about_visual, visual_benchmark
from healthgym.evaluation.visual_data import VisualQuestion, image_folders, image_in, table_of

HOW = "PMC-VQA is public (hub dataset RadGenome/PMC-VQA): give --data the folder with test_clean.csv and the unpacked images"
LETTERS = ("A", "B", "C", "D")


def load(source: Source) -> Sequence[VisualQuestion]:
    """Return the questions of a split."""
    split = source.split or "test"
    names = [f"{split}_clean.csv", f"{split}.csv", f"{split}_2.csv"]
    table = table_of(source, *names, hub=None, split=split, how=HOW)
    figure, question = table.column("Figure_path", "Figure"), table.column("Question")
    choices = {letter: table.column(f"Choice {letter}", f"Choice_{letter}", letter) for letter in LETTERS}
    answer, label = table.column("Answer", "Answer_label"), table.find("Answer_label")
    folders = image_folders(source, table, "images", "figures", "images_2")
    made = []
    for row, record in enumerate(table.records, 1):
        options = _unlettered({letter: text_of(record, column) for letter, column in choices.items()})
        right = _right(record, label, answer, options, f"{table.where}: row {row}")
        made.append(
            VisualQuestion(
                id=f"pmc-{row}", question=text_of(record, question), answers=(right,), kind="letter", options=options,
                image=image_in(folders, text_of(record, figure)),
            )
        )  # fmt: skip
    return made


def _unlettered(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that are not empty, without the letters that they repeat."""
    bare = {letter: re.sub(rf"^\(?{letter}\s*[:.)]\s*", "", text) for letter, text in options.items()}
    if any(bare[letter] == text for letter, text in options.items() if text):
        bare = {letter: re.sub(rf"^{letter}\s*:\s*", "", text) for letter, text in options.items()}
    return {letter: text for letter, text in bare.items() if text}


def _right(record: Record, label: str | None, answer: str, options: Mapping[str, str], where: str) -> str:
    """Return the letter of the right option: by label, by an answer that is a letter, or by its text.

    Raises:
        ConfigError: It is none of the options.
    """
    given = [text_of(record, label), text_of(record, answer)]
    for text in given:
        if text.upper() in options:
            return text.upper()
    by_text = {" ".join(words(text)): letter for letter, text in options.items()}
    said = " ".join(words(given[1]))
    if said not in by_text:
        raise ConfigError(f"{where}: the answer {given[1] or given[0]!r} is none of the options {', '.join(options)}")
    return by_text[said]


def make(source: Source) -> VisualBenchmark:
    """Return the benchmark."""
    title = "PMC-VQA: multiple choice, accuracy"
    return visual_benchmark(source, name="pmc_vqa", title=title, load=load, needs=HOW, kinds=("letter",))


ABOUT = {"pmc_vqa": about_visual("PMC-VQA: multiple choice, accuracy", HOW, hub=False, splits=("test", "train"))}
BENCHMARKS = {"pmc_vqa": make}
