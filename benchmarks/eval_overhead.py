"""What evaluating costs beside the model: CPU time a turn in agentic mode with a policy that answers at once.

Measures, for frozen tasks whose solutions are replayed: the rollout loop alone, and the whole of `evaluate` (rows, traces,
identity, summary). Example: python benchmarks/eval_overhead.py --tasks 200
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from healthgym.evaluation.benchmark import Settings, Source
from healthgym.evaluation.benchmarks.gym import make_gym
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.runner import evaluate
from healthgym.evaluation.sampling import sample_items
from healthgym.rollout import TurnRequest, TurnResult, collect, episode_maker
from healthgym.rollout.collect import Job
from healthgym.tasks import Suite
from healthgym.validation.replay import as_message


class Oracle:
    """Replays the solution of every task, from messages that were made beforehand."""

    name = "oracle"

    def __init__(self, suite: Suite, task_ids: list[str]) -> None:
        self.plans = {
            task_id: [as_message(turn) for turn in suite.task(task_id).turns_of_solution()] for task_id in task_ids
        }
        self.waiting: list[TurnRequest] = []
        self.turns = 0

    def submit(self, request: TurnRequest) -> None:
        self.waiting.append(request)

    def cancel(self, key: int) -> None:
        pass

    def poll(self) -> list[TurnResult]:
        asked, self.waiting = self.waiting, []
        self.turns += len(asked)
        return [TurnResult(one.key, self._turn(one)) for one in asked]

    def _turn(self, request: TurnRequest) -> dict[str, Any]:
        done = sum(message["role"] == "assistant" for message in request.messages)
        plan = self.plans[request.task_id]
        return plan[min(done, len(plan) - 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--domains", default=None, help="with commas; all when absent")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()

    gym: Any = make_gym(Source(options={"domains": options.domains}))
    ids = [item.id for item in sample_items(gym.items(), options.tasks)]
    policy = Oracle(gym.suite, ids)
    settings = Settings(mode="agentic")
    jobs = [Job(task_id, group) for group, task_id in enumerate(ids)]

    def loop_alone() -> None:
        collect(jobs, policy, episode_maker(gym.suite), in_flight=settings.in_flight)

    def measured() -> None:
        with tempfile.TemporaryDirectory() as folder:
            candidate = Candidate(name="oracle", engine="scripted", policy=policy, hashes={"weights": "none"})
            evaluate(gym, candidate, settings, Path(folder) / "out", limit=options.tasks)

    def resumed() -> None:
        """What `evaluate` costs when every row is there: items, identity, sample, summary."""
        evaluate(gym, finished, settings, kept, limit=options.tasks)

    with tempfile.TemporaryDirectory() as folder:
        finished = Candidate(name="oracle", engine="scripted", policy=policy, hashes={"weights": "none"})
        kept = Path(folder) / "out"
        evaluate(gym, finished, settings, kept, limit=options.tasks)
        found = {
            "tasks": len(ids),
            "loop_ms_a_turn": cpu_ms_a_turn(loop_alone, policy, options.repeats),
            "evaluate_ms_a_turn": cpu_ms_a_turn(measured, policy, options.repeats),
            "fixed_s": cpu_s(resumed, options.repeats),
        }
        turns = policy.turns / (2 * options.repeats + 1)
    fixed = found["fixed_s"] * 1000 / turns
    found["turns"] = round(turns)
    found["harness_ms_a_turn"] = found["evaluate_ms_a_turn"] - fixed
    found["rows_and_traces_ms_a_turn"] = found["harness_ms_a_turn"] - found["loop_ms_a_turn"]
    print(json.dumps({name: round(value, 4) for name, value in found.items()}, indent=1))


def cpu_ms_a_turn(work: Callable[[], None], policy: Oracle, repeats: int) -> float:
    """Return the least CPU time of some repeats, in ms a turn."""
    before = policy.turns
    seconds = cpu_s(work, repeats)
    return seconds * 1000 / ((policy.turns - before) / repeats)


def cpu_s(work: Callable[[], None], repeats: int) -> float:
    """Return the least CPU time of some repeats, in seconds."""
    spent = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return min(spent)


if __name__ == "__main__":
    main()
