"""Questions that are answered at length: overlap with reference answers, and facts where a judge is named.

Overlap says how alike an answer and a reference are in words, not whether the answer is right. An answer to a question that
comes without a reference is only collected: its headline says that there is a usable answer and nothing about its quality.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from healthgym.errors import ConfigError, HealthgymError
from healthgym.evaluation.about import About
from healthgym.evaluation.benchmark import Floor, Keep, Mode, Settings, Source
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.closed_set import answer_part
from healthgym.evaluation.facts import Fact, Judge, fact_scores, judged
from healthgym.evaluation.generation import Messages, Reading, generate_rows, read_again, unusable
from healthgym.evaluation.given_options import check_options
from healthgym.evaluation.items import Attempt, Item
from healthgym.evaluation.judges import open_judge
from healthgym.evaluation.records import given_path
from healthgym.evaluation.rows import Row
from healthgym.evaluation.text_overlap import rouge_l, token_f1, words
from healthgym.rollout.trajectory import Trajectory
from healthgym.world import Services

logger = logging.getLogger(__name__)

Headline = Literal["rouge_l", "comprehensiveness", "usable"]


@dataclass(frozen=True, kw_only=True)
class LongQuestion:
    """One question, the answers it is compared with and the facts that a judge looks for."""

    id: str
    question: str
    references: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    strata: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class LongFormBenchmark:
    """A benchmark of questions that are answered at length, in text mode.

    questions: loads them.
    headline: rouge_l (F1 against the best reference), comprehensiveness (needs a judge), or usable: 1 for every answer
        that is not empty, refused, degenerate or cut short.
    judge: None leaves facts unjudged.
    """

    name: str
    title: str
    scorer: str
    questions: Callable[[], Sequence[LongQuestion]]
    headline: Headline
    judge: Judge | None = None
    modes: tuple[Mode, ...] = ("text",)

    def items(self) -> Sequence[Item]:
        """Return the items; questions in the same words share a cluster. Those without what the headline needs are left
        out, with a warning.

        Raises:
            ConfigError: Ids occur twice, a question is empty, or no question has what the headline needs.
        """
        return self._items

    @cached_property
    def _items(self) -> list[Item]:
        questions = self.questions()
        twice = [name for name, count in Counter(each.id for each in questions).items() if count > 1]
        if twice:
            raise ConfigError(f"{self.name}: {len(twice)} ids occur more than once, the first {twice[0]!r}")
        empty = [each.id for each in questions if not words(each.question)]
        if empty:
            raise ConfigError(f"{self.name}: {len(empty)} questions have no text, the first {empty[0]!r}")
        kept = [each for each in questions if self._can_score(each)]
        lacks = "reference answer" if self.headline == "rouge_l" else "must-have fact"
        if not kept:
            raise ConfigError(
                f"{self.name}: none of the {len(questions)} questions has a {lacks}; is this the right file?"
            )
        if len(kept) < len(questions):
            logger.warning("%s: %d questions without a %s left out", self.name, len(questions) - len(kept), lacks)
        first: dict[str, str] = {}
        return [_item(each, first.setdefault(" ".join(words(each.question)), each.id)) for each in kept]

    def _can_score(self, question: LongQuestion) -> bool:
        if self.headline == "rouge_l":
            return any(words(reference) for reference in question.references)
        return self.headline == "usable" or any(fact.must for fact in question.facts)

    def floors(self, items: Sequence[Item]) -> Sequence[Floor]:
        """Return what ROUGE-L gives to the question itself and to the reference of another question."""
        if self.headline != "rouge_l" or not items:
            return []
        others = [*items[1:], items[0]]
        echo = [_rouge(item.content["question"], item) for item in items]
        unrelated = [_rouge(other.content["references"][0], item) for item, other in zip(items, others, strict=True)]
        return [
            Floor(name="echo", score=sum(echo) / len(items), how="the question as its own answer"),
            Floor(name="unrelated", score=sum(unrelated) / len(items), how="the reference of the next question"),
        ]

    def measure(
        self,
        attempts: Sequence[Attempt],
        candidate: Candidate,
        settings: Settings,
        services: Services | None,
        keep: Keep,
    ) -> None:
        """Ask every question once for each attempt; a judge, where there is one, judges each answer as it comes."""
        items = {attempt.item.id: attempt.item for attempt in attempts}

        def keep_judged(row: Row, trajectory: Trajectory | None = None, /) -> None:
            keep(self._judged(row, items[row.id]))

        facts = "unjudged" if self.judge is None else self.judge.name
        detail = {"facts": facts} if any(item.content["facts"] for item in items.values()) else {}
        generate_rows(
            attempts, candidate, settings, keep_judged, messages=_messages, read=self._read, gold=_gold, detail=detail
        )

    def rescore(self, row: Row, item: Item) -> Row:
        """Return the row with its output read again and its stored verdicts counted again; nothing is judged anew."""
        if row.status == "grader_error":
            return row
        return self._with_facts(read_again(row, item, self._read, _gold(item)))

    def _read(self, output: str, clipped: bool, item: Item) -> Reading:
        status = unusable(output, clipped)
        if status is not None:
            return Reading(status=status)
        answer = answer_part(output).strip()
        scores = {"answer_words": float(len(words(answer)))}
        references = item.content["references"]
        if references:
            overlap = rouge_l(answer, references)
            scores |= {
                "rouge_l": overlap.f1, "rouge_l_precision": overlap.precision, "rouge_l_recall": overlap.recall,
                "token_f1": token_f1(answer, references),
            }  # fmt: skip
        score = scores["rouge_l"] if self.headline == "rouge_l" else 1.0
        return Reading(status="answered", score=score, scores=scores, prediction=answer)

    def _judged(self, row: Row, item: Item) -> Row:
        facts = [Fact(fact["text"], fact["must"]) for fact in item.content["facts"]]
        if self.judge is None or row.status != "answered" or not facts:
            return row
        try:
            verdicts = judged(self.judge, item.content["question"], row.prediction or "", facts)
        except HealthgymError as error:
            return replace(row, status="grader_error", score=None, scores={}, error=str(error))
        return self._with_facts(replace(row, detail={**row.detail, "verdicts": verdicts}))

    def _with_facts(self, row: Row) -> Row:
        """Return an answered row with the scores of the verdicts in its detail."""
        if row.status != "answered":
            return row
        scores = {**row.scores, **fact_scores(row.detail.get("verdicts", ()))}
        if self.headline != "comprehensiveness":
            return replace(row, scores=scores)
        if "comprehensiveness" not in scores:
            lost = "no verdicts are stored with this row; measure it again with a judge"
            return replace(row, status="grader_error", score=None, scores={}, error=lost)
        return replace(row, score=scores["comprehensiveness"], scores=scores)


def _messages(item: Item) -> Messages:
    """The question and nothing else."""
    return [{"role": "user", "content": item.content["question"]}]


def _gold(item: Item) -> str | None:
    return next(iter(item.content["references"]), None)


def _rouge(text: str, item: Item) -> float:
    return rouge_l(text, item.content["references"]).f1


def _item(question: LongQuestion, cluster: str) -> Item:
    content: dict[str, Any] = {
        "question": question.question,
        "references": [reference for reference in question.references if words(reference)],
        "facts": [{"text": fact.text, "must": fact.must} for fact in question.facts],
    }
    return Item(id=question.id, content=content, cluster=cluster, strata=dict(question.strata))


def about_long_form(title: str, get: str, *, options: Mapping[str, str] | None = None) -> About:
    """Return what the list says of a benchmark of long answers: its title, how to get the data, its options."""
    return About(
        title=title, group="Long answers", modes=("text",), data="--data", get=f"{get}.", options=options or {},
        page="docs/visual-and-long-form.md",
    )  # fmt: skip


def long_form_benchmark(
    source: Source,
    *,
    name: str,
    title: str,
    load: Callable[[Source], Sequence[LongQuestion]],
    needs: str,
    headline: Headline = "rouge_l",
    has_facts: bool = False,
    options: Sequence[str] = (),
) -> LongFormBenchmark:
    """Return a benchmark of long answers. Where it has facts and a judge is named, comprehensiveness is its headline.

    Args:
        source: Where its data is, and its options; `judge` names a judge.
        name: Of the benchmark.
        title: Of the benchmark.
        load: Returns all questions.
        needs: How to get the data.
        headline: Without a judge.
        has_facts: Whether a judge has something to judge.
        options: Names of further options.

    Raises:
        ConfigError: An option is unknown, the path of the data is missing, or the judge cannot be opened.
    """
    check_options(source.options, [*options, "judge"] if has_facts else options, benchmark=name)
    given_path(source, needs)
    given = source.options.get("judge")
    judge = None if given is None else open_judge(str(given))
    scorer = f"{name}/1"
    if judge is not None:
        headline, title, scorer = (
            "comprehensiveness",
            f"{title}: facts judged by {judge.name}",
            f"{scorer} {judge.name}",
        )
    elif has_facts:
        title = f"{title}: word overlap alone, facts not judged (no judge named)"
    return LongFormBenchmark(
        name=name, title=title, scorer=scorer, questions=lambda: load(source), headline=headline, judge=judge
    )
