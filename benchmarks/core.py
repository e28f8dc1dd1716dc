"""What the spine costs: import, reset, tool call, state hash and the rollout loop, each beside its target.

    python benchmarks/core.py [--json]

CPU time of this process throughout, the median of many calls, so that a busy machine changes little. Exit code 1 when a
target is missed.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from healthgym.envs import ClinicalEnv
from healthgym.registry import domain_names, load_domain
from healthgym.rollout import OraclePolicy, collect, episode_maker
from healthgym.rollout.collect import Job
from healthgym.toolkit import Toolkit

EPISODES, IN_FLIGHT = 512, 512
RETRIEVAL = ("search_evidence", "read_passage")
"""Tools measured by benchmarks/retrieval.py instead."""


@dataclass(frozen=True)
class Row:
    """One measurement: `measured` is to stay below `target`, both in `unit`."""

    what: str
    measured: float
    target: float
    unit: str

    @property
    def is_met(self) -> bool:
        return self.measured < self.target


def cpu_ms(action: Callable[[], object]) -> float:
    """Return the CPU milliseconds of one call."""
    started = time.process_time_ns()
    action()
    return (time.process_time_ns() - started) / 1e6


def import_seconds(runs: int = 5) -> float:
    """Return the median CPU seconds that `import healthgym` adds to a bare interpreter."""
    timed = "import time; t = time.process_time(); import healthgym; print(time.process_time() - t)"
    made = [
        subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True) for _ in range(runs)
    ]
    return statistics.median(float(run.stdout) for run in made)


def resets(domain: str, count: int = 200) -> list[float]:
    """Return the CPU milliseconds of resets to tasks that were made before, as they are in every epoch but the first."""
    env = ClinicalEnv(domain)
    for seed in range(count):
        env.reset(seed=seed)
    return [cpu_ms(lambda seed=seed: env.reset(seed=seed)) for seed in range(count)]


def calls_and_hashes(domain: str, episodes: int = 60, repeats: int = 5) -> tuple[list[float], list[float]]:
    """Return the CPU milliseconds of the oracle's tool calls, validation of arguments included, and of state hashes."""
    env = ClinicalEnv(domain)
    calls: list[float] = []
    hashes: list[float] = []
    for seed in range(episodes * repeats):
        env.reset(seed=seed % episodes)
        assert env.episode is not None
        episode = env.episode
        for call in episode.task.solution:
            spent = cpu_ms(lambda episode=episode, call=call: episode.toolkit.call(call.tool, call.arguments))
            hashes.append(cpu_ms(episode.world.state.hash))
            if call.tool not in RETRIEVAL and seed >= episodes:  # the first pass fills caches
                calls.append(spent)
    return calls, hashes


def loop_ms_a_turn(domain: str) -> float:
    """Return the CPU milliseconds a turn of the rollout loop costs around the oracle, trajectory and grading included."""
    from healthgym.tasks import load_suite

    suite = load_suite(domain)
    ids = suite.ids(domain, "train")
    jobs = [Job(ids[place % len(ids)], group=place) for place in range(EPISODES)]

    def play() -> int:
        made = collect(jobs, OraclePolicy(suite), episode_maker(suite), in_flight=IN_FLIGHT)
        return sum(trajectory.num_turns for trajectory in made if trajectory is not None)

    turns = play()  # generates the tasks, which is no part of the loop
    return cpu_ms(play) / turns


def domains_without_images() -> list[str]:
    """Return the domains whose tools draw nothing: drawing is content, and would drown what the framework costs."""
    return [name for name in domain_names() if load_domain(name).toolkit.picture is Toolkit.picture]


def measure() -> list[Row]:
    """Return every row; of several domains the slowest one counts."""
    reset, call, hashed, loop = 0.0, 0.0, 0.0, 0.0
    for domain in domains_without_images():
        reset = max(reset, statistics.median(resets(domain)))
        calls, hashes = calls_and_hashes(domain)
        call, hashed = max(call, statistics.median(calls)), max(hashed, statistics.median(hashes))
        loop = max(loop, loop_ms_a_turn(domain))
    return [
        Row("import healthgym", import_seconds(), 0.3, "s"),
        Row("reset, median", reset, 1.0, "ms"),
        Row("tool call, retrieval aside, median", call, 0.05, "ms"),
        Row("state hash, median", hashed, 0.1, "ms"),
        Row(f"rollout loop a turn, {IN_FLIGHT} episodes in flight", loop, 1.0, "ms"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    rows = measure()
    if arguments.json:
        print(json.dumps([{**vars(row), "is_met": row.is_met} for row in rows], indent=2))
    else:
        print(f"{'CPU time':<48} {'measured':>12} | target")
        for row in rows:
            end = "" if row.is_met else "  MISSED"
            print(f"{row.what:<48} {row.measured:>9.4f} {row.unit:<2} | below {row.target:g} {row.unit}{end}")
    return 0 if all(row.is_met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
