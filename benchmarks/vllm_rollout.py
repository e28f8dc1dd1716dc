"""Tokens a second and a CPU second of vLLM and of the transformers engine on the same multi-turn episodes, one after the other.

    .venv-vllm/bin/python benchmarks/vllm_rollout.py --domain triage_emergency --episodes 64
    .venv-vllm/bin/python benchmarks/vllm_rollout.py --model PATH --dtype bfloat16

Without --model a 2-layer Qwen3 of 0.66M parameters samples nonsense at random, so the loop weighs as much as the network. On a
CPU the ratio shows what the path costs, not what vLLM is for: batched attention kernels and compiled graphs on a GPU. CPU seconds
are those of this process and of the engine's, so that other work on the machine does not count. Both engines play the same tasks
with the same seeds in each round, but each draws tokens of its own; rates are medians of the rounds, ratios are taken within a round.
"""

import argparse
import json
import time
from statistics import median
from typing import Any

import psutil
import torch

from healthgym.rollout import ChatTemplate, Job, OraclePolicy, collect, episode_maker
from healthgym.rollout.transformers_engine import TransformersPolicy
from healthgym.tasks import load_suite
from healthgym.training.loading import make_config
from healthgym.training.models import load_model
from healthgym.training.vllm_policy import vllm_policy


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of those it started, vLLM's engine among them."""
    own = psutil.Process()
    times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", default="triage_emergency", help="name or folder")
    parser.add_argument("--model", help="folder or hub name; a tiny one from scratch when absent")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--episodes", type=int, default=64)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=48, help="most tokens of a turn")
    parser.add_argument("--repeats", type=int, default=3, help="measured rounds of each engine, in turns")
    parser.add_argument("--kv-cache-gb", type=float, default=0.5, help="vLLM's cache on a CPU")
    parser.add_argument("--eager", action="store_true", help="start vLLM without compiling")
    arguments = parser.parse_args()

    suite = load_suite(arguments.domain)
    task_ids = suite.ids(split="train")[:128]
    make = episode_maker(suite, profile="bare")
    source: dict[str, Any] = {"path": arguments.model} if arguments.model else {"tiny": {}}
    config = make_config(
        {
            "preset": "grpo",
            "model": {**source, "dtype": arguments.dtype},
            "env": {"domains": [arguments.domain]},
            "rollout": {
                "engine": "vllm",
                "in_flight": arguments.in_flight,
                "vllm": {
                    "enforce_eager": arguments.eager,
                    **({} if torch.cuda.is_available() else {"kv_cache_gb": arguments.kv_cache_gb}),
                },
            },
        }
    )
    shown = collect([Job(i) for i in task_ids[:40]], OraclePolicy(suite), make)
    texts = [str(m.get("raw") or m["content"]) for t in shown if t for m in t.messages]
    model, tokenizer = load_model(config.model, lambda: texts, seed=0)
    model.to("cuda" if torch.cuda.is_available() else "cpu", getattr(torch, arguments.dtype))
    context = min(2048, model.config.get_text_config().max_position_embeddings)
    engines = {
        "vllm": vllm_policy(config, model, tokenizer, max_context=context),
        "transformers": TransformersPolicy(model, tokenizer, max_rows=arguments.in_flight),
    }
    jobs = [Job(task_ids[(i // 8) % len(task_ids)], i // 8) for i in range(arguments.episodes)]
    rates: dict[str, list[float]] = {name: [] for name in engines}
    by_cpu: dict[str, list[float]] = {name: [] for name in engines}
    tokens: dict[str, int] = dict.fromkeys(engines, 0)
    turns: dict[str, int] = dict.fromkeys(engines, 0)
    for attempt in range(arguments.repeats + 1):
        for name, policy in engines.items():
            before, started, spent = policy.sampled_tokens, time.perf_counter(), cpu_seconds()
            played = collect(
                jobs, policy, make, template=ChatTemplate(tokenizer), max_tokens_per_turn=arguments.tokens,
                max_completion_tokens=400, max_context=context, in_flight=arguments.in_flight, seed=attempt,
            )  # fmt: skip
            took, used = time.perf_counter() - started, cpu_seconds() - spent
            if attempt:  # the first round starts the engines
                sampled = policy.sampled_tokens - before
                rates[name].append(sampled / took)
                by_cpu[name].append(sampled / used)
                tokens[name] += sampled
                turns[name] += sum(len(episode.turns) for episode in played if episode is not None)
    ratios = [ours / theirs for ours, theirs in zip(by_cpu["vllm"], by_cpu["transformers"], strict=True)]
    result = {
        "device": model.device.type,
        "parameters": model.num_parameters(),
        "episodes": arguments.episodes,
        "rounds": arguments.repeats,
        **{f"{name}_tokens": count for name, count in tokens.items()},
        **{f"{name}_turns": count for name, count in turns.items()},
        **{f"{name}_tokens_per_s": round(median(measured)) for name, measured in rates.items()},
        **{f"{name}_tokens_per_cpu_s": round(median(measured)) for name, measured in by_cpu.items()},
        "vllm_over_transformers_by_cpu": round(median(ratios), 2),
        "vllm_over_transformers_by_cpu_least": round(min(ratios), 2),
        "vllm_over_transformers_by_cpu_most": round(max(ratios), 2),
        "vllm_cached_prompt_share": round(engines["vllm"].cached_tokens / engines["vllm"].prompt_tokens, 2),
    }
    engines["vllm"].close()
    for name, value in result.items():
        print(f"{name:36} {value}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
