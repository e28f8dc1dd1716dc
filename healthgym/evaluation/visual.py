"""Questions about images: how they are put to a candidate, and how closed, open and multiple-choice answers are scored.

Closed and open questions are benchmarks of their own, so that no number ever mixes their scores.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Literal

from healthgym.envs.prompts import with_pictures
from healthgym.errors import ConfigError
from healthgym.evaluation.about import About
from healthgym.evaluation.benchmark import Floor, Keep, MakeBenchmark, Mode, Settings, Source
from healthgym.evaluation.blind_floor import blind_floor, check_blind
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.choice_scores import longest_share
from healthgym.evaluation.closed_set import answer_part, read_choice, read_yes_no
from healthgym.evaluation.extraction import extract
from healthgym.evaluation.generation import Messages, Reading, generate_rows, read_again, unusable
from healthgym.evaluation.given_options import check_options, whole_number, yes_or_no
from healthgym.evaluation.images import MAX_SIDE, read_picture
from healthgym.evaluation.items import Attempt, Item
from healthgym.evaluation.records import given_path
from healthgym.evaluation.rows import Row
from healthgym.evaluation.text_overlap import exact_match, token_f1, token_recall, words
from healthgym.evaluation.visual_data import ImageFile, Kind, VisualQuestion
from healthgym.world import Services

Measure = Literal["token_recall", "exact_match"]
_ASKED: Mapping[str, str] = {
    "yes_no": "Answer with yes or no.",
    "choice": "Answer with a word or a short phrase.",
    "letter": "Answer with the letter of the right option.",
    "open": "Answer with a word or a short phrase.",
}
_MEASURES: Mapping[str, Callable[[str, Sequence[str]], float]] = {
    "exact_match": exact_match,
    "token_recall": token_recall,
    "token_f1": token_f1,
}
OPTIONS: Mapping[str, str] = {
    "images": "no asks without the image, which measures the blind floor (default yes)",
    "blind_run": "folder of a run with images=no, whose score becomes the floor blind",
    "max_side": f"longest side of an image that is sent, in pixels (default {MAX_SIDE})",
    "image_folder": "where the images lie (default beside the questions)",
}
PARTS: Mapping[str, tuple[str, tuple[Kind, ...]]] = {
    "closed": ("closed questions, accuracy", ("yes_no", "choice")),
    "open": ("open questions, token recall", ("open",)),
}
Load = Callable[[Source], Sequence[VisualQuestion]]


@dataclass(kw_only=True)
class VisualBenchmark:
    """A benchmark of questions about images, in text mode.

    questions: loads them.
    measure_open: the headline of open questions.
    images: False asks without the image, which measures the blind floor.
    max_side: longest side of an image that is sent, in pixels.
    blind: folder of a run with images=no, whose score becomes the blind floor.
    """

    name: str
    title: str
    scorer: str
    questions: Callable[[], Sequence[VisualQuestion]]
    measure_open: Measure = "token_recall"
    images: bool = True
    max_side: int = MAX_SIDE
    blind: Path | None = None
    modes: tuple[Mode, ...] = ("text",)

    def items(self) -> Sequence[Item]:
        """Return the items; attempts at questions about one image share a cluster.

        Raises:
            ConfigError: Ids occur twice, an answer is empty, or images are missing (with images=no they may be).
        """
        return self._loaded[0]

    @cached_property
    def _loaded(self) -> tuple[Sequence[Item], Mapping[str, ImageFile]]:
        questions = self.questions()
        _check(questions, self.name)
        digests: dict[str, str] = {}
        missing: list[str] = []
        for question in questions:
            if question.image.name not in digests:
                data = question.image.load()
                digests[question.image.name] = sha256(data).hexdigest() if data is not None else ""
                if data is None:
                    missing.append(question.image.name)
        if missing and self.images:
            raise ConfigError(
                f"{self.name}: {len(missing)} of {len(digests)} images are missing, the first {missing[0]}. Put them where "
                "the dataset has them, or ask without images with --set images=no (the blind floor)"
            )
        items = [_item(question, digests[question.image.name]) for question in questions]
        return items, {question.id: question.image for question in questions}

    def floors(self, items: Sequence[Item]) -> Sequence[Floor]:
        """Return majority, random (closed questions) or echo (open ones), and the blind floor."""
        floors = self._silly(items) if items else []
        return [*floors, blind_floor(self.blind, items)]

    def _silly(self, items: Sequence[Item]) -> list[Floor]:
        counts = Counter(
            answer for item in items for answer in {" ".join(words(each)) for each in item.content["answers"]}
        )
        commonest = counts.most_common(1)[0][0]
        fixed, echo = [], []
        for item in items:
            answers = item.content["answers"]
            fixed.append(self._worth(commonest, answers, item.content["kind"]))
            echo.append(self._worth(item.content["question"], answers, item.content["kind"]))
        floors = [Floor(name="majority", score=sum(fixed) / len(items), how=f"always {commonest!r}")]
        if any(item.content["kind"] == "open" for item in items):
            return [*floors, Floor(name="echo", score=sum(echo) / len(items), how="the question as its own answer")]
        chance = sum(1 / len(_allowed(item)) for item in items) / len(items)
        floors.append(Floor(name="random", score=chance, how="one of the allowed answers at random"))
        if all(item.content["kind"] == "letter" for item in items):
            longest = sum(longest_share(item.content["options"], item.content["answers"]) for item in items) / len(
                items
            )
            floors.append(Floor(name="longest_option", score=longest, how="takes the option with most characters"))
        return floors

    def _worth(self, answer: str, answers: Sequence[str], kind: Kind) -> float:
        return _MEASURES[self.measure_open](answer, answers) if kind == "open" else exact_match(answer, answers)

    def measure(
        self,
        attempts: Sequence[Attempt],
        candidate: Candidate,
        settings: Settings,
        services: Services | None,
        keep: Keep,
    ) -> None:
        """Ask every question once for each attempt.

        Raises:
            ConfigError: The candidate cannot see and images are to be shown; or `blind` is no run without images of this
                candidate.
        """
        check_blind(self.blind, self.items(), candidate)
        if self.images and not candidate.has_vision:
            raise ConfigError(
                f"{self.name} shows images and {candidate.name} cannot see them. Evaluate a vision model "
                "(--engine vision, or --engine openai --images), or measure the blind floor with --set images=no"
            )
        generate_rows(
            attempts, candidate, settings, keep, messages=self._messages, read=self._read, gold=_gold,
            detail={"images": self.images},
        )  # fmt: skip

    def indifferent_to(self, settings: Settings) -> Mapping[str, str]:
        """Return what concerns images where none is shown."""
        return {} if self.images else {"max_side": "images=no sends no image"}

    def rescore(self, row: Row, item: Item) -> Row:
        """Return the row with its output read again."""
        return read_again(row, item, self._read, _gold(item))

    def _messages(self, item: Item) -> Messages:
        content = item.content
        lines = [content["question"], *(f"{letter}. {text}" for letter, text in content["options"].items())]
        text = "\n".join([*lines, _ASKED[content["kind"]]])
        if not self.images:
            return [{"role": "user", "content": text}]
        image = self._loaded[1][item.id]
        picture = read_picture(image.load() or b"", image.name, max_side=self.max_side)
        return [{"role": "user", "content": with_pictures(text, [picture], images=True)}]

    def _read(self, output: str, clipped: bool, item: Item) -> Reading:
        content = item.content
        if content["kind"] == "open":
            status = unusable(output, clipped)
            if status is not None:
                return Reading(status=status)
            return _read_open(answer_part(output).strip(), content["answers"], self.measure_open)
        said = read_closed(output, item)
        if said is None:
            return Reading(status=unusable(output, clipped) or "unparsed")
        right = words(said) in [words(answer) for answer in content["answers"]]
        return Reading(status="answered", score=float(right), prediction=said)


def read_closed(output: str, item: Item) -> str | None:
    """Return the answer that an output commits to among those that the item allows, else None."""
    content = item.content
    if content["kind"] == "letter":
        return extract(output, content["options"])[0]
    return read_yes_no(output) if content["kind"] == "yes_no" else read_choice(output, content["choices"])


def _allowed(item: Item) -> Sequence[str]:
    kind = item.content["kind"]
    if kind == "yes_no":
        return ("yes", "no")
    return list(item.content["options"]) if kind == "letter" else item.content["choices"]


def _read_open(output: str, answers: Sequence[str], headline: Measure) -> Reading:
    scores = {name: measure(output, answers) for name, measure in _MEASURES.items()}
    return Reading(status="answered", score=scores[headline], scores=scores, prediction=output)


def _gold(item: Item) -> str:
    return " | ".join(item.content["answers"])


def _item(question: VisualQuestion, digest: str) -> Item:
    return Item(
        id=question.id,
        content={
            "question": question.question,
            "answers": list(question.answers),
            "kind": question.kind,
            "choices": list(question.choices),
            "options": dict(question.options),
            "image": {"name": question.image.name, "sha256": digest},
        },
        cluster=question.image.name,
        strata=dict(question.strata),
    )


def _check(questions: Sequence[VisualQuestion], benchmark: str) -> None:
    twice = [name for name, count in Counter(question.id for question in questions).items() if count > 1]
    if twice:
        raise ConfigError(
            f"{benchmark}: {len(twice)} ids occur more than once, the first {twice[0]!r}; ids must be unique"
        )
    if not questions:
        raise ConfigError(f"{benchmark}: no question is left of its data; check split and options")
    for question in questions:
        if not question.question or not any(words(answer) for answer in question.answers):
            raise ConfigError(f"{benchmark}: question {question.id!r} has no text or no answer")


def visual_benchmark(
    source: Source,
    *,
    name: str,
    title: str,
    load: Load,
    kinds: Sequence[Kind],
    needs: str = "",
    measure_open: Measure = "token_recall",
    options: Sequence[str] = (),
) -> VisualBenchmark:
    """Return a benchmark of the questions of some kinds.

    Args:
        source: Where its data is, and its options.
        name: Of the benchmark.
        title: Of the benchmark.
        load: Returns all questions.
        kinds: Those that it asks.
        needs: How to get the data, where the user has to give a path.
        measure_open: Headline of open questions.
        options: Names of options beyond those that every visual benchmark has.

    Raises:
        ConfigError: An option is unknown or cannot be used, or the path is missing that the data needs.
    """
    check_options(source.options, (*OPTIONS, *options), benchmark=name)
    if needs:
        given_path(source, needs)
    blind = source.options.get("blind_run")
    return VisualBenchmark(
        name=name,
        title=title,
        scorer=f"{name}/{2 if 'letter' in kinds else 1}",
        questions=lambda: [question for question in load(source) if question.kind in kinds],
        measure_open=measure_open,
        images=yes_or_no(source.options, "images", True),
        max_side=whole_number(source.options, "max_side", MAX_SIDE, least=28),
        blind=None if blind is None else Path(str(blind)),
    )


def about_visual(
    title: str,
    get: str,
    *,
    hub: bool,
    splits: Sequence[str],
    splits_files: bool = False,
    options: Mapping[str, str] | None = None,
) -> About:
    """Return what the list says of a benchmark of questions about images.

    Args:
        title: What it asks.
        get: How to get the data.
        hub: Whether it is loaded from the hub where no path is given.
        splits: Its splits, the default first.
        splits_files: As of `About`.
        options: Options beyond those that every visual benchmark has.
    """
    return About(
        title=title, group="Images", modes=("text",), data="hub" if hub else "--data",
        get=f"{get}.", splits=tuple(splits), splits_files=splits_files, options={**OPTIONS, **(options or {})}, page="docs/visual-and-long-form.md",
    )  # fmt: skip


def about_closed_and_open(
    name: str,
    title: str,
    get: str,
    *,
    hub: bool,
    splits: Sequence[str],
    splits_files: bool = False,
    options: Mapping[str, str] | None = None,
) -> dict[str, About]:
    """Return what the list says of NAME_closed and NAME_open; see `about_visual`."""
    return {
        f"{name}_{part}": about_visual(
            f"{title}: {described.replace(' questions', '')}",
            get,
            hub=hub,
            splits=splits,
            splits_files=splits_files,
            options=options,
        )
        for part, (described, _) in PARTS.items()
    }


def closed_and_open(
    name: str, title: str, load: Load, *, needs: str = "", options: Sequence[str] = ()
) -> dict[str, MakeBenchmark]:
    """Return what makes the two benchmarks NAME_closed and NAME_open of a dataset that has both kinds of question."""

    def make(part: str) -> MakeBenchmark:
        described, kinds = PARTS[part]
        return lambda source: visual_benchmark(
            source,
            name=f"{name}_{part}",
            title=f"{title}: {described}",
            load=load,
            needs=needs,
            kinds=kinds,
            options=options,
        )

    return {f"{name}_{part}": make(part) for part in PARTS}
