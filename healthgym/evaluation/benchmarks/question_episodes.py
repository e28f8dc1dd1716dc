"""Multiple-choice questions played as episodes: look things up in a knowledge base, then submit one option's key."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from healthgym.envs.episode import Episode
from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Keep, Settings
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.clean_search import clean_search
from healthgym.evaluation.episodes import counted, play_attempts, status_of
from healthgym.evaluation.given_options import yes_or_no
from healthgym.evaluation.items import Attempt, Item
from healthgym.evaluation.question_domain import BUDGET, LENDER, NAME, SUBMIT, offered, question_domain, tools_digest
from healthgym.evaluation.rows import Row
from healthgym.retrieval.builtin import builtin_retriever
from healthgym.rollout.collect import Job
from healthgym.rollout.trajectory import Trajectory
from healthgym.tasks import AnswerField, Call, Case, Criteria, Task
from healthgym.world import Services

DECISIONS = ("yes", "no", "maybe")
"""Keys of a question that lists no options."""

OPTIONS = ("audited", "kb", "tools", "tools_of")
"""Settings of this mode, from `--set`: audited=no leaves the comparison of passages and questions out; kb=builtin searches
the passages that come with healthgym; tools=NAME,NAME offers these; tools_of=DOMAIN lends the tools of another domain."""


def keys_of(item: Item) -> tuple[str, ...]:
    """Return the keys that an answer may take."""
    options = item.content.get("options")
    return tuple(options) if isinstance(options, Mapping) and options else DECISIONS


def gold_of(item: Item) -> str:
    """Return the key of the right option.

    Raises:
        ConfigError: The item's `answer` is none of its keys.
    """
    gold, keys = item.content.get("answer"), keys_of(item)
    if not isinstance(gold, str) or gold not in keys:
        raise ConfigError(f"item {item.id}: the answer {gold!r} is none of its options {', '.join(keys)}")
    return gold


def case_of(item: Item, tools: tuple[str, ...] = ()) -> Case:
    """Return an item with `question`, `options`, `answer` and perhaps `context` as a task that is about no patient.

    Args:
        item: The question.
        tools: Names of the tools offered, the submit tool among them; all of the domain's when empty.
    """
    gold = gold_of(item)
    task = Task(
        id=item.id, domain=NAME, split="test", family=item.strata.get("benchmark", ""), prompt=prompt_of(item),
        criteria=Criteria(answer={"answer": AnswerField(gold=gold)}, budget=BUDGET),
        solution=(Call(SUBMIT, answer=gold),), provenance="a benchmark's question", tools=tools,
    )  # fmt: skip
    return Case(task, {})


def prompt_of(item: Item) -> str:
    """Return the question as the agent reads it: context, question, options by key."""
    content = item.content
    question = content.get("question")
    if not isinstance(question, str) or not question.strip():
        raise ConfigError(f"item {item.id}: a question needs a text in 'question', got {question!r}")
    parts = [f"{content['context']}\n"] if content.get("context") else []
    parts.append(question)
    options = content.get("options")
    if isinstance(options, Mapping) and options and tuple(options) != DECISIONS:
        parts += [f"{key}. {text}" for key, text in options.items()]
    else:
        parts.append(f"Answer with one of: {', '.join(keys_of(item))}.")
    return "\n".join(parts)


def measure_as_episodes(
    attempts: Sequence[Attempt],
    candidate: Candidate,
    settings: Settings,
    services: Services | None,
    keep: Keep,
    *,
    read: Callable[[], Sequence[Item]] | None = None,
) -> None:
    """Play every attempt as an episode and keep one row for each.

    Before the first, the passages of the knowledge base are compared with all items; those that share 13 words in a row with
    a question, context or option are neither found nor read. Every row says what was searched.

    Args:
        attempts: What to play.
        candidate: Writes the assistant turns.
        settings: Budgets; `options` as in OPTIONS.
        services: Holds the knowledge base.
        keep: Takes rows and trajectories.
        read: Returns every item of the benchmark; those of the attempts are compared when None.

    Raises:
        ConfigError: There is no knowledge base, or a setting cannot be used.
    """
    lender, names = _tools(settings)
    items = list({attempt.item.id: attempt.item for attempt in attempts}.values()) if read is None else read()
    search, record = clean_search(
        _knowledge_base(services, settings), items, audited=yes_or_no(settings.options, "audited", True)
    )
    shared = replace(services or Services(), retriever=search)

    running: dict[int, Episode] = {}

    def start(job: Job) -> Episode:
        item = attempts[job.group].item
        domain = question_domain(keys_of(item), lender)
        case = case_of(item, offered(domain, lender, names))
        episode = running[job.group] = Episode(
            case, domain, services=shared, profile=settings.profile, max_turns=settings.max_turns, seed=job.seed
        )
        return episode

    def judge(attempt: Attempt, trajectory: Trajectory) -> Row:
        episode = running.pop(trajectory.group)
        used = {"search": record.to_record(), "tools": tools_digest(episode.domain, episode.permitted)}
        return _row(attempt, trajectory, episode, used)

    def with_gold(row: Row, trajectory: Trajectory | None = None, /) -> None:
        keep(row if row.gold is not None else replace(row, gold=golds[row.id]), trajectory)

    golds = {attempt.item.id: gold_of(attempt.item) for attempt in attempts}
    play_attempts(attempts, candidate, settings, start, judge, with_gold)


def check_episodes(settings: Settings, *, has_index: bool) -> None:
    """Refuse settings of this mode that cannot be used, and a mode without a knowledge base.

    Raises:
        ConfigError: There is no knowledge base, or a setting cannot be used.
        NotRegistered: There is no domain of the name to take tools from.
    """
    _searches_builtin(settings, has_index=has_index)
    yes_or_no(settings.options, "audited", True)
    lender, names = _tools(settings)
    offered(question_domain(DECISIONS, lender), lender, names)


def searched(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what the episodes among some rows searched, and digests of the tools they had; empty for none."""
    played = [row.detail for row in rows if "search" in row.detail]
    if not played:
        return {}
    return {"search": played[0]["search"], "tools": sorted({detail["tools"] for detail in played})}


def rescore_episode(row: Row, item: Item) -> Row:
    """Return a row judged again by what was submitted; one without a submission stays as it is."""
    submission = row.detail.get("submission")
    if row.status != "answered" or not isinstance(submission, Mapping):
        return row
    prediction, gold = str(submission["answer"]), gold_of(item)
    return replace(row, score=float(prediction == gold), prediction=prediction, gold=gold)


def _row(attempt: Attempt, trajectory: Trajectory, episode: Episode, used: Mapping[str, Any]) -> Row:
    item, submission = attempt.item, episode.submission
    gold = gold_of(item)
    prediction = None if submission is None else str(submission["answer"])
    return Row(
        id=item.id,
        attempt=attempt.number,
        status=status_of(trajectory),
        score=None if prediction is None else float(prediction == gold),
        cluster=item.cluster,
        strata=item.strata,
        prediction=prediction,
        gold=gold,
        seed=attempt.seed,
        detail={
            "mode": "agentic",
            "stop_reason": trajectory.stop_reason,
            "submission": submission,
            "clipped": trajectory.clipped,
            "tool_failures": trajectory.tool_failures,
            **_looked_up(episode),
            **used,
        },
        **counted(trajectory),
    )


def _looked_up(episode: Episode) -> dict[str, Any]:
    """Return the searches that ran, and the passages that were found and read, by id."""
    known = list(episode.world.facts)
    return {
        "queries": [
            call.arguments["query"] for call in episode.world.calls if call.error is None and "query" in call.arguments
        ],
        "found": [key.removeprefix("kb.found.") for key in known if key.startswith("kb.found.")],
        "read": [key.removeprefix("kb.passage.") for key in known if key.startswith("kb.passage.")],
    }


def _tools(settings: Settings) -> tuple[str, list[str] | None]:
    """Return whose tools are offered, and the names of some of them; None for those it shares."""
    chosen = settings.options.get("tools")
    names = [name.strip() for name in chosen.split(",")] if isinstance(chosen, str) else chosen
    return str(settings.options.get("tools_of", LENDER)), names


def _knowledge_base(services: Services | None, settings: Settings) -> Any:
    index = None if services is None else services.retriever
    return builtin_retriever() if _searches_builtin(settings, has_index=index is not None) else index


def _searches_builtin(settings: Settings, *, has_index: bool) -> bool:
    """Say whether the passages that come along are searched, and not an index. Raises ConfigError for neither and for both."""
    choice = settings.options.get("kb")
    if choice not in (None, "builtin"):
        raise ConfigError(f"kb must be 'builtin', got {choice!r}; another knowledge base is given with --index DIR")
    if has_index and choice == "builtin":
        raise ConfigError("an index and kb=builtin were both given; leave one out")
    if not has_index and choice is None:
        raise ConfigError(
            "Questions played with tools search a knowledge base, and none was given. Give --index DIR (healthgym kb build "
            "makes one), or --set kb=builtin for the few passages that come with healthgym."
        )
    return choice == "builtin"
