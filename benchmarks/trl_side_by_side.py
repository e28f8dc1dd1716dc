"""Steps and tokens a second beside TRL's own GRPOTrainer with `environment_factory`, on the same tasks, model and settings.

    python benchmarks/trl_side_by_side.py --steps 4 --run runs/quickstart/tt_opd

Both start from the same weights: the quickstart's tiny Qwen3 after its warm start, which calls tools. --run is the folder of a
run that begins so; where it has no start yet, the warm start is made there once. Both read the same prompt tokens, which is
checked: tool schemas are in neither, since the model learnt the tools from demonstrations. Both make the same number of episodes
under the same limits of tokens and calls. TRL plays the episodes through an adapter that offers a domain's tools as methods; it
has no signal that an episode is over, so a submitted episode goes on until the model stops calling tools.
"""

import argparse
import inspect
import json
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, Final

import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOTrainer
from trl.chat_template_utils import add_response_schema, qwen3_chat_template

from healthgym.envs import Episode
from healthgym.rewards import RewardConfig, compose
from healthgym.tasks import Suite, load_suite
from healthgym.training.arguments import rows_needed, trl_arguments
from healthgym.training.config import RunConfig
from healthgym.training.loading import load_config
from healthgym.training.models import load_saved
from healthgym.training.policy_source import source_from
from healthgym.training.rows import plan_rows
from healthgym.training.run import prepare, run_tasks
from healthgym.training.trainer import EpisodeTrainer

RECIPE = Path(__file__).parents[1] / "recipes" / "quickstart" / "tt_opd.yaml"
PROFILE: Final = "bare"
LIMIT = 320
"""Tokens of a completion, and of one turn of it, on both sides."""
CALLS = 12
"""Turns of an episode that may call tools."""


def environment_class(suite: Suite, task_ids: list[str]) -> type:
    """Return a class that plays a domain's episodes as TRL's environments do: tools are methods, typed and described."""

    def reset(self: Any, task_id: str, seed: int, **unused: Any) -> None:
        case = suite.case(task_id)
        self._episode = Episode(case, suite.domains[case.task.domain], profile=PROFILE, seed=seed)

    def get_reward(self: Any) -> float:
        return float(compose(self._episode.grade(), RewardConfig()))

    members: dict[str, Any] = {"reset": reset, "get_reward": get_reward}
    first = suite.case(task_ids[0])
    for name, spec in Episode(first, suite.domains[first.task.domain], profile=PROFILE).permitted.items():
        members[name] = _method(name, spec.function)
    return type("Ward", (), members)


def _method(name: str, function: Any) -> Any:
    def call(self: Any, **arguments: Any) -> str:
        if self._episode.is_over:
            return "The episode is over."
        message = {"role": "assistant", "content": "", "tool_calls": [{"name": name, "arguments": arguments}]}
        answers = self._episode.apply(message)
        return "\n".join(str(answer["content"]) for answer in answers) or "Done."

    call.__name__, call.__doc__ = name, inspect.getdoc(function)
    call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    call.__annotations__ = dict(inspect.get_annotations(function, eval_str=True))
    return call


class Rows(TrainerCallback):
    """Keeps each step's log, and the CPU seconds of the process when training began and at each log."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []
        self.prompts: list[list[int]] = []
        self.began = self.ended = 0.0

    def on_train_begin(self, *arguments: Any, **unused: Any) -> None:
        self.began = time.process_time()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **unused: Any) -> None:
        if logs and "loss" in logs:
            self.rows.append(dict(logs))
            self.ended = time.process_time()

    def summary(self) -> dict[str, float]:
        """Return steps and tokens a second, and what the episodes were like."""
        seconds = self.ended - self.began
        last = self.rows[-1]
        mean = lambda name: sum(row[name] for row in self.rows) / len(self.rows)  # noqa: E731
        return {
            "cpu_seconds": seconds,
            "steps_per_cpu_s": len(self.rows) / seconds,
            "tokens_per_cpu_s": last["num_tokens"] / seconds,
            "episodes": float(len(self.prompts)),
            "prompt_tokens": sum(map(len, self.prompts)) / len(self.prompts),
            "completion_tokens": mean("completions/mean_length"),
            "tool_calls_an_episode": mean("tools/call_frequency"),
            "reward": mean("reward"),
        }


def keep_prompts(trainer: GRPOTrainer, log: Rows) -> GRPOTrainer:
    """Let `log` see the prompt tokens of every batch of episodes."""
    made = trainer._generate_and_score_completions

    def keeping(inputs: Any) -> Any:
        output = made(inputs)
        for ids, mask in zip(output["prompt_ids"], output["prompt_mask"], strict=True):
            log.prompts.append(ids[mask.bool()].tolist())
        return output

    trainer._generate_and_score_completions = keeping
    return trainer


def config_of(steps: int) -> RunConfig:
    """Return the settings that both trainers run under: the quickstart's, as plain GRPO, with a turn as long as an episode."""
    changes = [
        "preset=grpo", "teacher=null", "hint=null", "reward.length=null", f"optim.steps={steps}", "optim.tasks_per_step=4",
        "optim.num_generations=4", "optim.learning_rate=1e-5", f"rollout.max_tokens_per_turn={LIMIT}",
        f"rollout.max_completion_tokens={LIMIT}", "rollout.trace_every=0",
    ]  # fmt: skip
    return load_config(RECIPE, changes)


def ours(config: RunConfig, model: Any, tokenizer: Any, suite: Suite, task_ids: list[str], folder: Path) -> Rows:
    """Train with healthgym and return what was logged."""
    log = Rows()
    source = source_from()(config, model, tokenizer, suite)
    trainer = EpisodeTrainer(
        model=model, args=trl_arguments(config, folder), tokenizer=tokenizer, callbacks=[log],
        rows=plan_rows(task_ids, rows_needed(config), seed=0),
        collect=lambda rows, step: source.sample(rows, seed=step),
    )  # fmt: skip
    keep_prompts(trainer, log).train()
    return log


def theirs(config: RunConfig, model: Any, tokenizer: Any, suite: Suite, task_ids: list[str], folder: Path) -> Rows:
    """Train with TRL's own trainer on the same rows and return what was logged."""
    log = Rows()
    prompts, columns = [], {"task_id": [], "seed": []}  # type: ignore[var-annotated]
    for row in plan_rows(task_ids, rows_needed(config), seed=0):
        case = suite.case(row.task_id)
        messages = Episode(case, suite.domains[case.task.domain], profile=PROFILE).messages
        prompts.append([{"role": m["role"], "content": m["content"]} for m in messages])
        columns["task_id"].append(row.task_id)
        columns["seed"].append(row.seed)
    arguments = trl_arguments(config, folder)
    arguments.max_tool_calling_iterations = CALLS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = GRPOTrainer(
            model=model, args=arguments, processing_class=tokenizer, callbacks=[log], reward_funcs=[],
            train_dataset=Dataset.from_dict({"prompt": prompts, **columns}),
            environment_factory=environment_class(suite, task_ids),
        )  # fmt: skip
        trainer._env_tools = {key: [] for key in trainer._env_tools}  # no schemas in the prompt, as on the other side
        keep_prompts(trainer, log).train()
    return log


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--run", type=Path, default=Path("runs/side_by_side"), help="run folder whose start both take")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    config = config_of(arguments.steps)
    suite = load_suite(*config.env.domains)
    task_ids = run_tasks(config, suite)[:64]
    start = arguments.run / "start"
    if not start.is_dir():
        prepare(config, arguments.run, source_from())
    result = {}
    logs = {}
    for name, train in (("healthgym", ours), ("trl", theirs)):
        model, tokenizer = load_saved(start, config.model)
        if name == "trl":
            # TRL reads the tool calls of templates it knows; these calls look like Qwen3's, in a template that is the model's own.
            own, tokenizer.chat_template = tokenizer.chat_template, qwen3_chat_template
            tokenizer = add_response_schema(tokenizer)
            tokenizer.chat_template = own
        with tempfile.TemporaryDirectory() as folder:
            logs[name] = train(config, model, tokenizer, suite, task_ids, Path(folder))
        result[name] = logs[name].summary()
    if sorted(logs["healthgym"].prompts) != sorted(logs["trl"].prompts):
        raise SystemExit("The two sides did not read the same prompts: their figures cannot be compared.")
    print(f"{'':22} {'healthgym':>12} {'trl':>12}")
    for key, value in result["healthgym"].items():
        print(f"{key:22} {value:12.3f} {result['trl'][key]:12.3f}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
