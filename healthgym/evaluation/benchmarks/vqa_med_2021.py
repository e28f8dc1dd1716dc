"""VQA-Med 2021: what is abnormal in a radiology image, in free words.

Source: Ben Abacha et al., ImageCLEF 2021 working notes (task VQA-Med, sub-task 1). Lines of image|question|answer for the
validation set; for the test set two files, image|question and image|answer with further right answers after further bars. The
published accuracy is exact match in lower case without punctuation, against any right answer; that is the headline here.
BLEU, the task's second measure, is not computed.
"""

from collections.abc import Sequence
from pathlib import Path

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.records import find_file, given_path
from healthgym.evaluation.visual import VisualBenchmark, about_visual, visual_benchmark
from healthgym.evaluation.visual_data import ImageFile, VisualQuestion

HOW = (
    "VQA-Med 2021 is public (repository abachaa/VQA-Med-2021): give --data the unpacked folder of the test set with ground "
    "truth, or one file of image|question|answer lines"
)
SPLITS = {"test": "*TestSet-Questions*.txt", "val": "*Task1*ValidationSet*.txt"}
ANSWERS = ("*TestSet-ReferenceAnswers*.txt", "*GroundTruth*.txt", "*Answers*.txt")
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png")


def load(source: Source) -> Sequence[VisualQuestion]:
    """Return the questions of a split."""
    split = source.split or "test"
    if split not in SPLITS:
        raise ConfigError(f"VQA-Med 2021 has the splits {', '.join(SPLITS)}, got {split!r}")
    path = given_path(source, HOW)
    questions_file = find_file(path, SPLITS[split])
    lines = _lines(questions_file, least=2)
    if all(len(fields) == 2 for fields in lines):
        answers_file = find_file(path if path.is_dir() else path.parent, *ANSWERS)
        lines = _joined(lines, _lines(answers_file, least=2), answers_file)
    short = next((fields for fields in lines if len(fields) < 3), None)
    if short is not None:
        raise ConfigError(f"{questions_file}: expected image|question|answer, got {'|'.join(short)!r}")
    root = Path(str(source.options.get("image_folder", path if path.is_dir() else path.parent)))
    places = {file.stem: file for file in root.rglob("*") if file.suffix.lower() in IMAGE_SUFFIXES}
    return [
        VisualQuestion(
            id=image, question=question, answers=tuple(filter(None, answers)), kind="open", image=_image(image, places)
        )
        for image, question, *answers in lines
    ]


def _image(name: str, places: dict[str, Path]) -> ImageFile:
    file = places.get(Path(name).stem)
    return ImageFile(name, lambda: None if file is None else file.read_bytes())


def _lines(path: Path, *, least: int) -> list[list[str]]:
    """Return the fields of each line that is not empty."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not in UTF-8: {error}") from error
    lines = [[each.strip() for each in line.split("|")] for line in text.split("\n") if line.strip()]
    for number, fields in enumerate(lines, 1):
        if len(fields) < least:
            raise ConfigError(f"{path}: line {number} has no bar: {fields[0][:60]!r}; expected image|question|answer")
    return lines


def _joined(questions: list[list[str]], answers: list[list[str]], answers_file: Path) -> list[list[str]]:
    """Return image, question and answers of each image. Raises ConfigError where an image has none."""
    known = {image: right for image, *right in answers}
    lacking = [image for image, _ in questions if image not in known]
    if lacking:
        raise ConfigError(f"{answers_file} has no answer for {len(lacking)} images, the first {lacking[0]}")
    return [[image, question, *known[image]] for image, question in questions]


def make(source: Source) -> VisualBenchmark:
    """Return the benchmark."""
    return visual_benchmark(
        source, name="vqa_med_2021", title="VQA-Med 2021: abnormality in free words, exact match", load=load, needs=HOW,
        kinds=("open",), measure_open="exact_match",
    )  # fmt: skip


ABOUT = {"vqa_med_2021": about_visual("VQA-Med 2021: open, exact match", HOW, hub=False, splits=tuple(SPLITS))}
BENCHMARKS = {"vqa_med_2021": make}
