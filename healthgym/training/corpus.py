"""The texts a small model's tokenizer is trained on: what its tasks' oracles read and write."""

import json
from collections.abc import Iterator, Sequence

from healthgym.envs.episode import Episode
from healthgym.tasks import Suite
from healthgym.training.config import RunConfig
from healthgym.training.hints import LEVELS, HintFacts, hint_text
from healthgym.validation.replay import as_message

MOST_TASKS = 400


def tokenizer_texts(config: RunConfig, suite: Suite, task_ids: Sequence[str]) -> Iterator[str]:
    """Yield prompts, tool schemas, calls, tool results and the words of hints, for a spread of the run's tasks.

    Hints come word by word: as whole texts their phrases would become single tokens, and a student that draws one such
    token at random would echo a hint it never saw.
    """
    for task_id in task_ids[:: max(1, len(task_ids) // MOST_TASKS)]:
        case = suite.case(task_id)
        episode = Episode(case, suite.domains[case.task.domain], profile=config.env.prompt_profile)
        for turn in case.task.turns_of_solution():
            if not episode.is_over:
                episode.apply(as_message(turn))
        yield from (json.dumps(schema) for schema in episode.tools)
        for message in episode.messages:
            yield str(message["content"])
            yield from (json.dumps(call["function"]) for call in message.get("tool_calls", ()))
        labels = tuple(evidence.label for evidence in case.task.criteria.evidence)
        hazards = tuple(hazard.label for hazard in case.task.criteria.hazards)
        for outcome in ("correct", "wrong", "unsafe", "no_submission"):
            facts = HintFacts(outcome=outcome, missing_evidence=labels, hazards=hazards)  # type: ignore[arg-type]
            yield from (f" {word}" for word in (hint_text(facts, LEVELS[1]) or "").split())
