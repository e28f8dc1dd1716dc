import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from fever import fever_folder, plain_source
from safetensors.torch import load_file

from healthgym.errors import ConfigError
from healthgym.training.checkpoints import checkpoints
from healthgym.training.loading import dump_config, make_config
from healthgym.training.run import prepare, train


@pytest.fixture(scope="module")
def domain(tmp_path_factory: pytest.TempPathFactory) -> str:
    return fever_folder(tmp_path_factory.mktemp("domain"))


def config(domain: str, **changes: Any):
    values: dict[str, Any] = {
        "preset": "tt_opd",
        "model": {"tiny": {"layers": 1, "hidden_size": 32, "intermediate_size": 64, "heads": 2, "kv_heads": 1, "vocab_size": 600}},
        "env": {"domains": [domain], "prompt_profile": "bare", "tasks": 8},
        "rollout": {"max_tokens_per_turn": 64, "max_completion_tokens": 400, "trace_every": 2},
        "optim": {"steps": 4, "tasks_per_step": 2, "num_generations": 2, "learning_rate": 1e-3},
        "teacher": {"update_every": 1, "ema_decay": 0.9},
        "hint": {"probe_tasks": 0},
        "warm_start": {"demonstrations": 24, "steps": 12, "batch_size": 8, "hinted_share": 0.3, "skip_evidence": [0.2, 0.6]},
        "checkpoint": {"every": 2},
    }  # fmt: skip
    return make_config({**values, **changes})


def weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def test_a_run_leaves_its_config_metrics_traces_checkpoints_and_models(domain: str, tmp_path: Path):
    seen: list[int] = []
    result = train(
        config(domain, eval={"every": 2}), run_dir=tmp_path, make_source=plain_source,
        evaluate=lambda model, tokenizer, step: {"eval/success": step / 10},
        on_step=lambda step, row: seen.append(step),
    )  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == seen == [1, 2, 3, 4]
    assert [row.get("eval/success") for row in rows] == [None, 0.2, None, 0.4]
    assert result.steps == 4 and result.metrics["step"] == 4
    assert rows[-1]["tt_opd/teacher_updates"] == 4 and rows[-1]["tt_opd/hints_fired"] == 16
    assert [path.name for path in checkpoints(tmp_path / "checkpoints")] == ["checkpoint-2", "checkpoint-4"]
    assert sorted(path.name for path in (tmp_path / "traces").iterdir()) == ["step-000001.jsonl", "step-000003.jsonl"]
    assert json.loads((tmp_path / "start" / "warm_start.json").read_text())["examples"] == 24
    assert (tmp_path / "model" / "config.json").is_file() and (tmp_path / "config.yaml").is_file()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_adapters_train_in_bfloat16_on_a_cpu_too(domain: str, tmp_path: Path):
    tiny = config(domain).model.tiny
    assert tiny is not None
    settings = config(
        domain,
        model={"tiny": tiny.model_dump(), "lora": {"rank": 4}, "dtype": "bfloat16"},
        optim={"steps": 2, "tasks_per_step": 2, "num_generations": 2, "learning_rate": 1e-2},
    )
    result = train(settings, run_dir=tmp_path, make_source=plain_source)
    adapters = [tensor for name, tensor in weights(result.model).items() if "lora_B" in name]
    # Fresh B factors are zero; averages and steps are taken in float32, or small ones would be lost.
    assert {tensor.dtype for tensor in adapters} == {torch.float32}
    assert all(tensor.abs().sum() > 0 for tensor in adapters)
    assert result.metrics["tt_opd/teacher_distance"] > 0


@pytest.mark.slow
def test_a_run_killed_and_started_again_ends_at_the_same_weights(domain: str, tmp_path: Path):
    class Killed(Exception):
        pass

    def kill(step: int, row: Any) -> None:
        if step == 3:
            raise Killed

    whole = train(config(domain), run_dir=tmp_path / "whole", make_source=plain_source)
    with pytest.raises(Killed):
        train(config(domain), run_dir=tmp_path / "killed", make_source=plain_source, on_step=kill)
    assert [path.name for path in checkpoints(tmp_path / "killed" / "checkpoints")] == ["checkpoint-2"]
    resumed = train(config(domain), run_dir=tmp_path / "killed", make_source=plain_source)
    expected = weights(whole.model)
    assert all(torch.equal(expected[name], tensor) for name, tensor in weights(resumed.model).items())
    steps = [json.loads(line)["step"] for line in (tmp_path / "killed" / "metrics.jsonl").read_text().splitlines()]
    assert steps == [1, 2, 3, 4]


@pytest.mark.slow
def test_a_finished_run_started_again_changes_nothing(domain: str, tmp_path: Path):
    first = train(config(domain), run_dir=tmp_path, make_source=plain_source)
    before = (tmp_path / "metrics.jsonl").read_text()
    again = train(config(domain), run_dir=tmp_path, make_source=plain_source)
    assert (again.steps, again.metrics["step"]) == (4, 4)
    assert (tmp_path / "metrics.jsonl").read_text() == before
    assert all(torch.equal(tensor, weights(again.model)[name]) for name, tensor in weights(first.model).items())


def test_a_warm_start_keeps_within_the_models_positions_whatever_max_context_says(domain: str, tmp_path: Path):
    tiny = {**config(domain).model.tiny.model_dump(), "max_positions": 16}  # no demonstration is that short
    settings = config(domain, model={"tiny": tiny}, rollout={"max_context": 4096})
    with pytest.raises(ConfigError, match="None of 24 demonstrations fits into 16 tokens"):
        prepare(settings, tmp_path, plain_source)


def test_hints_that_do_not_help_are_switched_off_or_refused(domain: str, tmp_path: Path):
    untaught = {"warm_start": None, "optim": {"steps": 1, "tasks_per_step": 1, "num_generations": 2}}
    result = train(
        config(domain, hint={"probe_tasks": 2}, **untaught), run_dir=tmp_path / "off", make_source=plain_source
    )
    assert "hints were switched off" in result.findings[0]
    assert result.metrics["tt_opd/hints_fired"] == 0
    assert json.loads((tmp_path / "off" / "hint_probe.json").read_text())["probe/n"] == 2
    with pytest.raises(ConfigError, match="does not beat none"):
        train(
            config(domain, hint={"probe_tasks": 2, "require_probe": True}, **untaught),
            run_dir=tmp_path / "refused", make_source=plain_source,
        )  # fmt: skip


def test_limits_below_the_oracle_stop_a_run_before_it_trains(domain: str, tmp_path: Path):
    short = {"max_tokens_per_turn": 64, "max_completion_tokens": 12}
    with pytest.raises(ConfigError, match="no episode could succeed"):
        train(config(domain, rollout=short, warm_start=None), run_dir=tmp_path, make_source=plain_source)
    assert not (tmp_path / "metrics.jsonl").exists()


@pytest.fixture(scope="module")
def killable(domain: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a recipe and `whole`, its run that nothing kills."""
    folder = tmp_path_factory.mktemp("killable")
    (folder / "run.yaml").write_text(dump_config(config(domain)))
    assert started(folder, folder / "whole", "0").wait() == 0
    return folder


def started(folder: Path, run_dir: Path, *arguments: str) -> subprocess.Popen[bytes]:
    script = str(Path(__file__).parent / "run_fever.py")
    return subprocess.Popen(
        [sys.executable, script, str(folder / "run.yaml"), str(run_dir), *arguments],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def assert_same_end(one: Path, other: Path) -> None:
    expected, got = (load_file(path / "model" / "model.safetensors") for path in (one, other))
    assert expected.keys() == got.keys()
    assert all(torch.equal(tensor, got[name]) for name, tensor in expected.items())
    states = [torch.load(path / "checkpoints" / "checkpoint-4" / "healthgym.pt") for path in (one, other)]
    teachers = [state["distill"]["teacher"] for state in states]
    assert teachers[0]["updates"] == teachers[1]["updates"] == 4
    assert all(torch.equal(tensor, teachers[1]["weights"][name]) for name, tensor in teachers[0]["weights"].items())


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("3",), ("4", "while_saving"), ("2", "while_saving")])
def test_kill_minus_nine_and_the_same_command_end_at_the_same_weights(
    killable: Path, tmp_path: Path, arguments: tuple[str, ...]
):
    assert started(killable, tmp_path, *arguments).wait() == -9
    left = [path.name for path in checkpoints(tmp_path / "checkpoints")]
    assert left == ([] if arguments[0] == "2" else ["checkpoint-2"])
    assert started(killable, tmp_path, "0").wait() == 0
    assert_same_end(killable / "whole", tmp_path)


@pytest.mark.slow
def test_a_kill_at_a_random_moment_of_the_training_changes_nothing(killable: Path, tmp_path: Path):
    whole = (killable / "whole" / "metrics.jsonl").read_text().splitlines()
    seconds = sum(json.loads(line)["step_time"] for line in whole)
    process = started(killable, tmp_path, "0")
    while not (tmp_path / "start").exists():
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(random.uniform(0.0, 2 * seconds))  # anywhere between the start and the end, saving included
    process.kill()
    assert process.wait() in (-9, 0)
    assert started(killable, tmp_path, "0").wait() == 0
    assert_same_end(killable / "whole", tmp_path)
