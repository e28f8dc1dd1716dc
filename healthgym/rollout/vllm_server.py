"""Serves a model for rollouts: vLLM's own HTTP server, able to take new weights, started again when it dies."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import IO

from healthgym.errors import MissingDependency

logger = logging.getLogger(__name__)

EXTENSION = "healthgym.rollout.vllm_worker.WeightsExtension"
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Largest ranks that vLLM can be told to expect."""


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """How a server is started.

    model: folder or hub name; the trainer pushes its weights over these.
    host, port: where it listens. Whoever reaches it can replace the weights: keep it off open networks.
    dtype: what it computes in; the trainer's, or the importance ratio is not 1.
    max_model_len: positions; None takes the model's own.
    gpu_memory_utilization: share of each GPU's memory; on a CPU, of the machine's.
    kv_cache_gb: memory of the cache in GiB, instead.
    tensor_parallel_size: GPUs that share the model.
    lora_rank: largest rank of the adapters it will be sent; None for merged weights.
    enforce_eager: start without compiling.
    """

    model: str
    host: str = "127.0.0.1"
    port: int = 8000
    dtype: str = "bfloat16"
    max_model_len: int | None = None
    gpu_memory_utilization: float = 0.9
    kv_cache_gb: float | None = None
    tensor_parallel_size: int = 1
    lora_rank: int | None = None
    enforce_eager: bool = False


def server_command(settings: ServerSettings, extra: Sequence[str] = ()) -> list[str]:
    """Return the command line of vLLM's server; `extra` goes to it as it is."""
    # The module rather than the `vllm` script, which the CPU builds' other distribution name breaks.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", settings.model]
    command += ["--host", settings.host, "--port", str(settings.port), "--dtype", settings.dtype]
    command += ["--tensor-parallel-size", str(settings.tensor_parallel_size)]
    command += ["--gpu-memory-utilization", str(settings.gpu_memory_utilization)]
    command += ["--logprobs-mode", "processed_logprobs", "--enable-prefix-caching", "--enable-prompt-tokens-details"]
    command += ["--worker-extension-cls", EXTENSION, "--generation-config", "vllm", "--uvicorn-log-level", "warning"]
    command += ["--disable-uvicorn-access-log"]
    if settings.max_model_len is not None:
        command += ["--max-model-len", str(settings.max_model_len)]
    if settings.kv_cache_gb is not None:
        command += ["--kv-cache-memory-bytes", str(int(settings.kv_cache_gb * 2**30))]
    if settings.lora_rank is not None:
        command += ["--enable-lora", "--max-loras", "2", "--max-lora-rank", str(lora_rank(settings.lora_rank))]
    if settings.enforce_eager:
        command += ["--enforce-eager"]
    if must_read_prompts_whole():
        command += ["--no-enable-chunked-prefill"]
    return [*command, *extra]


def must_read_prompts_whole() -> bool:
    """Whether vLLM would fall over a prompt that it reads in parts, as it does when many arrive at once.

    Such a request's early draws are taken back from its seeded generator, which those of a CPU do not allow (vLLM 0.31:
    "CPU Generator does not use offset").
    """
    import torch

    return not torch.accelerator.is_available()


def server_environment(settings: ServerSettings) -> dict[str, str]:
    """Return the environment of vLLM's server, with the switches that let a trainer push weights."""
    environment = {**os.environ, "VLLM_SERVER_DEV_MODE": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if settings.lora_rank is not None:
        environment["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] = "True"
    if settings.enforce_eager:
        environment["TORCHDYNAMO_DISABLE"] = "1"  # vLLM compiles its samplers all the same
    return environment


def serve_model(settings: ServerSettings, extra: Sequence[str] = (), *, restarts: int = 3) -> int:
    """Run the server until it is stopped, starting it again after a crash; return its exit code.

    Args:
        settings: How it is started.
        extra: More arguments for vLLM.
        restarts: How often it is started again.

    Raises:
        MissingDependency: vLLM is not installed.
    """
    require_vllm()
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        for attempt in range(restarts + 1):
            server = ServerProcess(server_command(settings, extra), server_environment(settings))
            try:
                code = server.wait()
            except KeyboardInterrupt:
                return 0
            finally:
                server.stop()
            if code == 0 or attempt == restarts:
                return code
            logger.warning("The vLLM server ended with code %d; restart %d of %d", code, attempt + 1, restarts)
        return 1
    finally:
        signal.signal(signal.SIGTERM, before)


class ServerProcess:
    """A server and whatever it starts, in a process group of their own, so that none of them outlives the first.

    vLLM's engine processes stay when its server is killed, and hold the memory that the next one needs.

    Args:
        command: Command line.
        environment: Environment.
        log: Open file for both outputs; None shares this process's.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: IO[bytes] | None = None) -> None:
        self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    def wait(self) -> int:
        """Return the server's exit code once it has ended, with everything it started gone."""
        code = self.process.wait()
        self._sweep()
        return code

    def stop(self, patience: float = 30.0) -> None:
        """Ask the server to end, and end what is left of its group after `patience` seconds."""
        if self.process.poll() is None:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(patience)
        self._sweep()
        self.process.wait()

    def _sweep(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def lora_rank(rank: int) -> int:
    """Return the smallest rank vLLM can be told to expect that holds adapters of `rank`."""
    return next((one for one in LORA_RANKS if one >= rank), LORA_RANKS[-1])


def require_vllm() -> None:
    """Raise MissingDependency, naming the ways to install it, where vLLM is absent."""
    if find_spec("vllm") is None:
        raise MissingDependency(
            "vLLM rollouts need the 'vllm' extra. Install it with: pip install 'healthgym[vllm]' (on a machine without a "
            "GPU: make vllm). Or set rollout.engine: transformers."
        )
