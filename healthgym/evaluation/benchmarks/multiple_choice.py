"""Multiple choice: questions with lettered options, read by log-likelihood, from a written answer, or both."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Literal, get_args

from healthgym.errors import ConfigError, nearest
from healthgym.evaluation.about import About
from healthgym.evaluation.asking import Ask, Reply, ask
from healthgym.evaluation.benchmark import Floor, Keep, Mode, Settings, Source
from healthgym.evaluation.benchmarks.question_episodes import OPTIONS as EPISODE_OPTIONS
from healthgym.evaluation.benchmarks.question_episodes import (
    check_episodes,
    measure_as_episodes,
    rescore_episode,
    searched,
)
from healthgym.evaluation.candidate import Candidate, Options, OptionScores
from healthgym.evaluation.choice_scores import Content, floors, is_listed, scored
from healthgym.evaluation.given_options import yes_or_no
from healthgym.evaluation.items import Attempt, Item
from healthgym.evaluation.rows import LOST, Row
from healthgym.world import Services

Reading = Literal["likelihood", "generate", "both"]
Prompt = Callable[[Content, bool], str]
"""Makes the text that a base model continues; without the question (or its context) when the flag is false."""
Measure = Callable[[Sequence[Attempt], Candidate, Settings, Services | None, Keep], None]
BLOCK = 512
"""Attempts whose likelihoods are asked for together: enough to batch by length, and rows come in the order of the items."""
OPTIONS = ("reading", "option_text", "blind")
ABOUT_OPTIONS: Mapping[str, str] = {
    "reading": "text mode: likelihood (default), generate or both",
    "option_text": "text mode: also the likelihood of the options' whole texts (default yes)",
    "blind": "text mode: also the likelihood without the question, and without the options, as floors (default no)",
    "kb": "agentic mode: builtin searches the passages that come along; otherwise give --index",
    "tools": "agentic mode: names of the tools to offer, with commas",
    "tools_of": "agentic mode: domain whose tools are offered (default medical_qa)",
    "audited": "agentic mode: keep passages that hold a question from the search (default yes)",
}


@dataclass(frozen=True, kw_only=True)
class Readings:
    """What is read in text mode, from `Settings.options`.

    reading: likelihood scores the options' letters after the prompt; generate lets the model write and reads its letter;
        with both, the headline is the likelihood's.
    option_text: also score the options' whole texts after the same prompt.
    blind: also score the letters after a prompt without the question (or, where options are not listed, its context), and
        where they are listed after the question without its options.
    """

    reading: Reading = "likelihood"
    option_text: bool = True
    blind: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Readings":
        """Build from the settings' options. Raises ConfigError for a value that none of them takes."""
        reading = options.get("reading", "likelihood")
        if reading not in get_args(Reading):
            raise ConfigError(f"reading={reading!r} is none of {', '.join(get_args(Reading))}")
        return cls(
            reading=reading,
            option_text=yes_or_no(options, "option_text", True),
            blind=yes_or_no(options, "blind", False),
        )


@dataclass(slots=True)
class _Heard:
    """What is known of one attempt so far: log-probabilities by part and label, the reply, and what failed."""

    waits_for: set[str]
    logps: dict[str, dict[str, float]] = field(default_factory=dict)
    reply: Reply | None = None
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class MultipleChoice:
    """Multiple choice in text mode.

    An item's content holds question, options (text by label), answer (a label) and context (or None).

    read: returns the items.
    prompt: what a base model continues, for the blind reading without what it is about; ends with "Answer:".
    data: where the items come from, in a few words.
    play: measures in agentic mode, where there is such a part.
    judge_again: scores a row of agentic mode again.
    """

    name: str
    title: str
    read: Callable[[], Sequence[Item]]
    prompt: Prompt
    data: str = "there"
    play: Measure | None = None
    judge_again: Callable[[Row, Item], Row] | None = None
    scorer: str = "multiple_choice 3"

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Text, and agentic where there is a part for it."""
        return ("text",) if self.play is None else ("text", "agentic")

    def items(self) -> Sequence[Item]:
        """Return the items in the order of the file."""
        return self.read()

    def floors(self, items: Sequence[Item]) -> Sequence[Floor]:
        """Return majority, random, longest option where options are listed, and blind and no_options, which need a model."""
        return floors(items)

    def measure(
        self,
        attempts: Sequence[Attempt],
        candidate: Candidate,
        settings: Settings,
        services: Services | None,
        keep: Keep,
    ) -> None:
        """Put every attempt to the candidate and keep exactly one row for each, as they finish.

        Raises:
            ConfigError: The candidate gives no likelihoods and they are asked for, or an option is unknown.
        """
        if settings.mode == "agentic":
            if self.play is None:
                raise ConfigError(f"{self.name} has no agentic mode here; its modes are {', '.join(self.modes)}")
            return self.play(attempts, candidate, settings, services, keep)
        readings = Readings.of(settings.options)
        scores, writes = readings.reading != "generate" or readings.blind, readings.reading != "likelihood"
        parts = {"prompt"} if readings.reading != "generate" else set()
        parts |= ({"blind", "no_options"} if readings.blind else set()) | ({"reply"} if writes else set())
        heard = [_Heard(set(parts) if is_listed(one.item.content) else parts - {"no_options"}) for one in attempts]

        def learn(number: int, part: str) -> None:
            one = heard[number]
            one.waits_for.discard(part)
            if not one.waits_for:
                keep(self._row(attempts[number], one, readings.reading))

        if scores:
            for start in range(0, len(attempts), BLOCK):
                self._score(
                    range(start, min(start + BLOCK, len(attempts))), attempts, candidate, readings, heard, learn
                )
        if writes:

            def on_reply(reply: Reply) -> None:
                heard[reply.key].reply = reply
                heard[reply.key].error = heard[reply.key].error or reply.error or ""
                learn(reply.key, "reply")

            asks = (
                Ask(i, self.messages(one.item.content), one.sampling_seed(settings.sampling_seed))
                for i, one in enumerate(attempts)
            )
            ask(candidate, asks, on_reply, max_tokens=settings.max_tokens, in_flight=settings.in_flight)
        return None

    def messages(self, content: Content) -> list[dict[str, str]]:
        """Return the conversation that asks for the answer's label."""
        asked = self.prompt(content, True).removesuffix("Answer:").rstrip()
        labels = ", ".join(content["options"])
        if is_listed(content):
            how = f"Answer with the letter of the one correct option ({labels})."
        else:
            how = f"Answer with one word: {labels}."
        return [{"role": "user", "content": f"{asked}\n\n{how}"}]

    def rescore(self, row: Row, item: Item) -> Row:
        """Return the row with status, scores and prediction read again from what it stores."""
        if row.status in LOST:
            return row
        if "logps" not in row.detail:
            return self.judge_again(row, item) if self.judge_again is not None else row
        return scored(row, item.content)

    def check(self, settings: Settings, *, has_index: bool) -> None:
        """Refuse options that cannot be used, and agentic mode without a knowledge base. Raises ConfigError."""
        if settings.mode == "agentic":
            check_episodes(settings, has_index=has_index)
        else:
            Readings.of(settings.options)

    def indifferent_to(self, settings: Settings) -> Mapping[str, str]:
        """Return the options of the other mode and, where only likelihoods are read, what concerns writing."""
        if settings.mode == "agentic":
            return dict.fromkeys(OPTIONS, "it is of text mode, and this is agentic mode")
        idle = dict.fromkeys(EPISODE_OPTIONS, "it is of agentic mode, and this is text mode")
        readings = Readings.of(settings.options)
        if readings.reading == "generate":
            return {**idle, "option_text": "reading=generate reads no likelihoods"}
        if readings.reading == "likelihood":
            why = "likelihoods are read and nothing is written; --set reading=generate or both writes"
            idle |= dict.fromkeys(
                ("max_tokens", "temperature", "top_p", "top_k", "in_flight", "cache", "attempts"), why
            )
        return idle

    def details(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Return what was searched in agentic mode; nothing in text mode."""
        return searched(rows)

    def _score(
        self,
        numbers: Sequence[int],
        attempts: Sequence[Attempt],
        candidate: Candidate,
        readings: Readings,
        heard: Sequence[_Heard],
        learn: Callable[[int, str], None],
    ) -> None:
        """Ask for log-probabilities: labels and texts after one prompt in one request, labels after the blind one in another."""
        if candidate.loglikelihoods is None or candidate.template is None:
            raise ConfigError(
                f"{candidate.name} ({candidate.engine}) gives no likelihoods of options. Let it write its answer instead: "
                "--set reading=generate"
            )
        tokenizer = candidate.template.tokenizer
        names: dict[int, tuple[int, str, list[tuple[str, str]]]] = {}
        requests: list[Options] = []
        for number in numbers:
            content = attempts[number].item.content
            for part in sorted(heard[number].waits_for - {"reply"}):
                wanted = [("label" if part == "prompt" else part, label, label) for label in content["options"]]
                if part == "prompt" and readings.option_text and is_listed(content):
                    wanted += [("text", label, text) for label, text in content["options"].items()]
                shown = {**content, "options": {}} if part == "no_options" else content
                text = self.prompt(shown, part != "blind")
                limit = candidate.max_context
                ids, continuations = tokens_after(tokenizer, text, [f" {one}" for _, _, one in wanted], limit=limit)
                length = len(ids) + max(map(len, continuations), default=1) - 1
                if limit is not None and length > limit:
                    heard[number].error = f"the prompt's {length} tokens do not fit the {limit} positions"
                    learn(number, part)
                    continue
                key = len(requests)
                names[key] = (number, part, [(kind, label) for kind, label, _ in wanted])
                requests.append(Options(key, ids, continuations))

        def on_done(scores: OptionScores) -> None:
            number, part, asked = names[scores.key]
            if not all(map(math.isfinite, scores.logprobs)):
                heard[number].error = "the model gave log-probabilities that are no numbers"
            for (kind, label), logp in zip(asked, scores.logprobs, strict=True):
                heard[number].logps.setdefault(kind, {})[label] = logp
            learn(number, part)

        candidate.loglikelihoods(requests, on_done)

    def _row(self, attempt: Attempt, heard: _Heard, reading: Reading) -> Row:
        item, reply = attempt.item, heard.reply
        detail: dict[str, Any] = {"reading": reading, "logps": heard.logps}
        if reply is not None:
            detail["clipped"] = reply.clipped
        bare = Row(
            id=item.id, attempt=attempt.number, status="infra_error", error=heard.error, cluster=item.cluster or item.id,
            strata=item.strata, gold=item.content["answer"], output=reply.text if reply else "", seed=attempt.seed,
            tokens=reply.tokens if reply else None, detail=detail,
        )  # fmt: skip
        return bare if heard.error else scored(bare, item.content)


def tokens_after(
    tokenizer: Any, prompt: str, continuations: Sequence[str], *, limit: int | None = None
) -> tuple[list[int], list[list[int]]]:
    """Return the ids of a prompt and of what follows it, cut where the prompt's ids end in prompt and continuation together.

    Where a tokenizer joins the two across the cut, the continuation is encoded on its own. After a prompt of more than `limit`
    tokens nothing is encoded: it would be the prompt once more for every continuation.
    """
    ids, parts = list(tokenizer([prompt])["input_ids"][0]), []
    if limit is not None and len(ids) > limit:
        return ids, []
    for whole, text in zip(tokenizer([prompt + one for one in continuations])["input_ids"], continuations, strict=True):
        clean = list(whole[: len(ids)]) == ids and len(whole) > len(ids)
        parts.append(list(whole[len(ids) :]) if clean else tokenizer.encode(text, add_special_tokens=False))
    return ids, parts


def listing(options: Mapping[str, str]) -> str:
    """Return the options under their labels, a line each."""
    return "".join(f"{label}. {text}\n" for label, text in options.items())


def of_source(
    source: Source,
    *,
    name: str,
    title: str,
    read: Callable[[Source], Sequence[Item]],
    prompt: Prompt,
    options: Sequence[str] = (),
) -> MultipleChoice:
    """Return a benchmark whose items are read from a source when they are first asked for.

    Args:
        source: Where the data lies; its options are checked here.
        name: Of the benchmark.
        title: Of the benchmark.
        read: Returns the items of a source.
        prompt: See `MultipleChoice`.
        options: Names of further options that `read` takes.

    Raises:
        ConfigError: An option is unknown; names the nearest.
    """
    known = (*OPTIONS, *EPISODE_OPTIONS, *options)
    for option in source.options:
        if option not in known:
            raise ConfigError(f"{name} has no option {option!r}.{nearest(option, known)}")
    items = lru_cache(maxsize=1)(lambda: read(source))
    return MultipleChoice(
        name=name, title=title, read=items, prompt=prompt, play=partial(measure_as_episodes, read=items),
        judge_again=rescore_episode,
    )  # fmt: skip


def about(
    title: str,
    get: str,
    *,
    hub: str | None,
    splits: Sequence[str] = (),
    splits_files: bool = False,
    options: Mapping[str, str] | None = None,
) -> About:
    """Return what the list says of a benchmark of multiple choice.

    Args:
        title: What it asks.
        get: How to get the file.
        hub: Name of the data set that is loaded where no file is given; None where there is none.
        splits: Its splits, the default first.
        splits_files: As of `About`.
        options: Options beside those of every benchmark of multiple choice.
    """
    return About(
        title=title, group="Multiple choice", modes=("text", "agentic"), data="--data" if hub is None else "hub",
        get=get if hub is None else f"Loaded from the hub ({hub}), or give --data: {get}.", splits=tuple(splits),
        splits_files=splits_files,
        options={**ABOUT_OPTIONS, **(options or {})}, page="docs/multiple-choice.md, docs/agentic-questions.md",
    )  # fmt: skip


def or_hub(made: MultipleChoice, source: Source, hub: str) -> MultipleChoice:
    """Return the benchmark, saying that its items come from a data set of the hub where no path is given."""
    return made if source.path is not None else replace(made, data=f"from the hub ({hub}), or with --data")
