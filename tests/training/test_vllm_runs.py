"""Whole TT-OPD runs on vLLM: colocated, and two processes on one server that is killed on the way."""

import json
import os
import socket
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from fever import fever_folder

from healthgym.rollout.vllm_server import ServerProcess, ServerSettings, server_command, server_environment
from healthgym.training.config import RunConfig
from healthgym.training.loading import dump_config, make_config
from healthgym.training.policy_source import source_from
from healthgym.training.run import prepare, train

pytestmark = [
    pytest.mark.slow,
    pytest.mark.vllm,
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed: make vllm"),
]
STEPS = 4


def config(domain: str, *, lora: bool = False, **vllm: Any) -> RunConfig:
    tiny = {
        "layers": 1,
        "hidden_size": 64,
        "intermediate_size": 128,
        "heads": 2,
        "kv_heads": 1,
        "vocab_size": 600,
        "max_positions": 512,
    }
    return make_config(
        {
            "preset": "tt_opd",
            "model": {"tiny": tiny, **({"lora": {"rank": 4}} if lora else {})},
            "env": {"domains": [domain], "prompt_profile": "bare", "tasks": 8},
            "rollout": {
                "engine": "vllm", "max_tokens_per_turn": 32, "max_completion_tokens": 300,
                "vllm": {"enforce_eager": True, "kv_cache_gb": 0.05, **vllm},
            },
            "optim": {"steps": STEPS, "tasks_per_step": 2, "num_generations": 4, "learning_rate": 1e-3},
            "teacher": {"update_every": 1, "ema_decay": 0.9},
            "hint": {"probe_tasks": 2},
            "warm_start": {"demonstrations": 24, "steps": 40, "batch_size": 8},
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def domain(tmp_path_factory: pytest.TempPathFactory) -> str:
    return fever_folder(tmp_path_factory.mktemp("domain"))


def rows(run_dir: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]


def assert_on_policy(run_dir: Path) -> None:
    """Every step's fresh episodes were sampled with the trainer's own weights."""
    logged = rows(run_dir)
    assert [row["step"] for row in logged] == list(range(1, STEPS + 1))
    ratios = [row["sampling/importance_sampling_ratio/mean"] for row in logged]
    assert ratios == pytest.approx([1.0] * STEPS, abs=1e-3)
    assert max(row["sampling/sampling_logp_difference/mean"] for row in logged) < 1e-3
    assert logged[-1]["engine/weight_loads"] >= STEPS
    assert logged[-1]["engine/cached_tokens"] > 0


@pytest.mark.parametrize("lora", [False, True])
def test_a_colocated_run_stays_on_policy(domain: str, tmp_path: Path, lora: bool):
    result = train(config(domain, lora=lora), run_dir=tmp_path)
    assert result.steps == STEPS
    assert_on_policy(tmp_path)


def test_two_processes_share_a_server_that_is_killed_on_the_way(domain: str, tmp_path: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = config(domain, mode="server", urls=[f"http://127.0.0.1:{port}"], enforce_eager=False, kv_cache_gb=None)
    start = prepare(settings, tmp_path / "run", source_from())
    recipe, pid_file = tmp_path / "run.yaml", tmp_path / "pid"
    recipe.write_text(dump_config(settings))
    server = Supervised(
        ServerSettings(model=str(start), port=port, dtype="float32", enforce_eager=True, kv_cache_gb=0.05, max_model_len=512),
        pid_file, tmp_path / "server.log",
    )  # fmt: skip
    script = str(Path(__file__).parent / "run_vllm.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "--standalone", script]
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [*command, str(recipe), str(tmp_path / "run"), "2", str(pid_file)], env=environment, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
    finally:
        server.stop()
    assert done.returncode == 0, done.stderr[-3000:] + (tmp_path / "server.log").read_text()[-2000:]
    assert_on_policy(tmp_path / "run")
    assert server.started == 2
    assert rows(tmp_path / "run")[-1]["engine/restarts"] == 1


class Supervised:
    """A server that is started again when it dies, as `healthgym vllm-serve` does, with its pid in a file."""

    def __init__(self, settings: ServerSettings, pid_file: Path, log: Path) -> None:
        self.settings, self.pid_file, self.log = settings, pid_file, log
        self.started, self.stopping = 0, False
        self._launch()
        threading.Thread(target=self._watch, daemon=True).start()

    def _launch(self) -> None:
        with self.log.open("ab") as log:
            self.server = ServerProcess(server_command(self.settings), server_environment(self.settings), log)
        self.pid_file.write_text(str(self.server.process.pid))
        self.started += 1

    def _watch(self) -> None:
        while True:
            self.server.wait()
            if self.stopping:
                return
            self._launch()

    def stop(self) -> None:
        self.stopping = True
        self.server.stop()
