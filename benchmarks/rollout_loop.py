"""CPU time of the rollout loop around an instant policy, and tokens a second of the transformers engine.

    python benchmarks/rollout_loop.py --domain triage_emergency --episodes 1024
    python benchmarks/rollout_loop.py --engine

The policy replays each task's oracle, whose text and tokens are made beforehand, so what is measured is the loop: starting
episodes, rendering prompts and answers, parsing, tools, grading, and the trace.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from healthgym.envs import Episode
from healthgym.registry import domain_names
from healthgym.rollout import Job, OraclePolicy, ScriptedPolicy, TraceWriter, collect, episode_maker
from healthgym.rollout.policy import TurnRequest, TurnResult
from healthgym.rollout.scripted import turn_index
from healthgym.rollout.template import ChatTemplate
from healthgym.tasks import Suite, load_suite

TARGETS = {
    "text_turn_ms": "< 1", "tokens_turn_ms": "< 1", "sampled_tokens_per_s": ">= 4,000 on 2 cores",
}  # fmt: skip


class Instant(ScriptedPolicy):
    """Gives turns that were written beforehand, by task and turn."""

    def __init__(self, turns: dict[tuple[str, int], TurnResult]) -> None:
        super().__init__(lambda request: "", name="instant")
        self.turns = turns

    def _write(self, request: TurnRequest) -> TurnResult:
        made = self.turns[request.task_id, turn_index(request)]
        return TurnResult(request.key, made.message, made.token_ids)


def instant(suite: Suite, task_ids: list[str], template: ChatTemplate | None) -> Instant:
    """Write the oracle's turns of every task."""
    oracle, turns = OraclePolicy(suite, template=template), {}
    for task_id in task_ids:
        for index in range(len(suite.task(task_id).turns_of_solution())):
            said = [{"role": "assistant"}] * index
            oracle.submit(TurnRequest(index, task_id, said, (), max_tokens=1 << 20))
            (turns[task_id, index],) = oracle.poll()
    return Instant(turns)


def small_tokenizer(suite: Suite, task_ids: list[str], profile: str) -> object:
    """Train a tokenizer on the texts of some tasks, as a tiny run does."""
    from healthgym.training.tiny_model import train_tokenizer

    made = collect([Job(i) for i in task_ids[:40]], OraclePolicy(suite), episode_maker(suite, profile=profile))  # type: ignore[arg-type]
    return train_tokenizer((str(m.get("raw") or m["content"]) for t in made if t for m in t.messages), 2000)


def loop(
    suite: Suite, task_ids: list[str], episodes: int, profile: str, template: ChatTemplate | None
) -> dict[str, float]:
    """Return CPU milliseconds a turn with 512 episodes in flight, trace included."""
    policy = instant(suite, task_ids, template)
    jobs = [Job(task_ids[i % len(task_ids)], i) for i in range(episodes)]
    make = episode_maker(suite, profile=profile)  # type: ignore[arg-type]
    best, turns = float("inf"), 0
    with tempfile.TemporaryDirectory() as folder:
        for attempt in range(3):
            with TraceWriter(Path(folder) / f"{attempt}.jsonl", tokens=template is not None) as writer:
                started = time.process_time()
                made = collect(
                    jobs,
                    policy,
                    make,
                    template=template,
                    max_tokens_per_turn=1 << 20,
                    in_flight=512,
                    on_trajectory=writer,
                )
                seconds = time.process_time() - started
            turns = sum(t.num_turns for t in made if t)
            best = min(best, seconds / turns)
    assert all(t is not None and t.reward == 1.0 for t in made)
    return {"turn_ms": round(best * 1e3, 4), "turns_per_episode": round(turns / episodes, 2)}


def engine(suite: Suite, task_ids: list[str], rows: int) -> dict[str, float]:
    """Return sampled tokens a second of a 0.5M-parameter, 2-layer Qwen3 that samples nonsense at random."""
    from healthgym.rollout.transformers_engine import TransformersPolicy
    from healthgym.training.config import TinyModel
    from healthgym.training.tiny_model import build_tiny_model

    tokenizer = small_tokenizer(suite, task_ids, "bare")
    spec = TinyModel(hidden_size=128, intermediate_size=384, layers=2, heads=4, kv_heads=2, max_positions=2048)
    model = build_tiny_model(spec, tokenizer, seed=0)
    policy = TransformersPolicy(model, tokenizer, max_rows=rows)
    jobs = [Job(task_ids[(i // 8) % len(task_ids)], i // 8) for i in range(4 * rows)]
    started, cpu = time.perf_counter(), time.process_time()
    collect(
        jobs, policy, episode_maker(suite, profile="bare"), template=ChatTemplate(tokenizer), max_tokens_per_turn=48,
        max_completion_tokens=400, in_flight=rows,
    )  # fmt: skip
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return {
        "parameters": model.num_parameters(),
        "sampled_tokens": policy.sampled_tokens,
        "read_tokens": policy.prefilled_tokens,
        "sampled_tokens_per_s": round(policy.sampled_tokens / seconds),
        "sampled_tokens_per_cpu_s": round(policy.sampled_tokens / cpu),
    }


def reset_ms(suite: Suite, task_ids: list[str]) -> float:
    """Return CPU milliseconds to start an episode whose task exists already."""
    cases = [suite.case(task_id) for task_id in task_ids]
    started = time.process_time()
    for case in cases:
        Episode(case, suite.domains[case.task.domain])
    return round((time.process_time() - started) / len(cases) * 1e3, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", default=domain_names()[0], help="name or folder")
    parser.add_argument("--profile", default="compact", choices=("full", "compact", "bare"))
    parser.add_argument("--episodes", type=int, default=1024)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--engine", action="store_true", help="measure the transformers engine instead")
    arguments = parser.parse_args()

    suite = load_suite(arguments.domain)
    task_ids = suite.ids(split="train")[:128]
    result: dict[str, float | str] = {"domain": arguments.domain}
    if arguments.engine:
        result |= engine(suite, task_ids, arguments.rows)
    else:
        result |= {"profile": arguments.profile, "episodes": arguments.episodes, "reset_ms": reset_ms(suite, task_ids)}
        template = ChatTemplate(small_tokenizer(suite, task_ids, arguments.profile))
        for name, given in (("text", None), ("tokens", template)):
            measured = loop(suite, task_ids, arguments.episodes, arguments.profile, given)
            result |= {f"{name}_{key}": value for key, value in measured.items()}
    for name, value in result.items():
        print(f"{name:26} {value!s:>18}   {'target ' + TARGETS[name] if name in TARGETS else ''}".rstrip())
    print(json.dumps(result))


if __name__ == "__main__":
    main()
