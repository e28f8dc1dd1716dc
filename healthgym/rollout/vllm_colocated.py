"""Starts vLLM beside the trainer, on the same device, and talks to it."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from healthgym.rollout.vllm_messages import Adapter, Call, EngineDied, Failed, Generate, Reply, Served, Written
from healthgym.rollout.vllm_server import require_vllm

LOG_TAIL_LINES = 15
LAUNCHER_VARIABLES = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
)


class ColocatedEngine:
    """vLLM in a process of its own on this process's device. An `Engine`.

    Args:
        arguments: Of vLLM's `EngineArgs`, as JSON can hold them.
        scratch: Folder of this engine alone; receives `engine.log`, and is deleted when engine or trainer ends.
        device_index: The accelerator it may use, counted as this process counts them; None for all, or none.

    Raises:
        MissingDependency: vLLM is not installed.
    """

    def __init__(self, arguments: Mapping[str, Any], scratch: Path, *, device_index: int | None = None) -> None:
        require_vllm()
        self.arguments, self.scratch, self.device_index = dict(arguments), scratch, device_index
        self.name = "vllm"
        self.context_limit = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.log = scratch / "engine.log"
        self._pipe: Connection | None = None
        self._finished: list[Written | Failed] = []

    def start(self) -> None:
        """Start the process and wait until it serves."""
        self._end()
        ours, theirs = Pipe()
        self.scratch.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "healthgym.rollout.vllm_process", str(theirs.fileno())]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, json.dumps(self.arguments), str(self.scratch)], pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=self._environment(),
            )  # fmt: skip
        theirs.close()
        self._pipe, self._finished = ours, []
        self.context_limit = int(self._reply())

    def generate(self, request: Generate) -> None:
        """Hand over one turn to be written."""
        self._send(request)

    def finished(self) -> list[Written | Failed]:
        """Wait for at least one turn and return those that are done."""
        while not self._finished:
            self._receive()
        done, self._finished = self._finished, []
        return done

    def abort(self, key: str) -> None:
        """Stop writing a turn."""
        self._send(Call("abort", (key,)))

    def load(self, folder: Path, version: str) -> Served:
        """Serve published weights from now on."""
        return self._call("load", str(folder), version)

    def serving(self) -> Served:
        """Tell which weights are served."""
        return self._call("serving")

    def use_adapter(self, adapter: Adapter) -> None:
        """Make a LoRA adapter available in place of the one before."""
        self._call("use_adapter", adapter)

    def score(self, ids: Sequence[int], adapter: Adapter | None) -> list[float]:
        """Return the log-probability of each token but the first, in nats."""
        return self._call("score", list(ids), adapter)

    def sleep(self) -> None:
        """Give the accelerator's memory back until `wake`."""
        self._call("sleep")

    def wake(self) -> None:
        """Take the memory again."""
        self._call("wake")

    def close(self) -> None:
        """End the process and delete its folder."""
        self._end()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _end(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _call(self, method: str, *arguments: Any) -> Any:
        self._send(Call(method, arguments))
        return self._reply()

    def _reply(self) -> Any:
        while True:
            reply = self._receive()
            if reply is not None:
                return reply.value

    def _receive(self) -> Reply | None:
        """Take one message: a reply is returned, finished turns are kept."""
        if self._pipe is None:
            raise EngineDied("The vLLM engine is not running")
        try:
            message = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise self._died() from error
        if isinstance(message, Reply):
            if message.error is not None:
                raise EngineDied(f"The vLLM engine stopped. Its last words:\n{message.error}")
            return message
        self._finished += message
        return None

    def _send(self, message: Any) -> None:
        if self._pipe is None:
            raise EngineDied("The vLLM engine is not running")
        try:
            self._pipe.send(message)
        except OSError as error:
            raise self._died() from error

    def _died(self) -> EngineDied:
        code = self.process.wait() if self.process is not None else None
        lines = self.log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:] if self.log.is_file() else []
        return EngineDied("\n".join([f"The vLLM engine's process ended with code {code}. Its last words:", *lines]))

    def _environment(self) -> dict[str, str]:
        """Return this process's environment, less what would draw the engine into the trainer's process group."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in LAUNCHER_VARIABLES and not name.startswith(("TORCHELASTIC_", "ACCELERATE_"))
        }
        if self.device_index is not None:
            visible = [one for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one]
            kept["CUDA_VISIBLE_DEVICES"] = visible[self.device_index] if visible else str(self.device_index)
        if self.arguments.get("tensor_parallel_size", 1) == 1:
            kept["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # it is a process of its own already
        if self.arguments.get("enforce_eager"):
            kept["TORCHDYNAMO_DISABLE"] = "1"  # vLLM compiles its samplers all the same
        kept["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        return kept


def scratch_folder() -> Path:
    """Return a new temporary folder, in memory where the system offers that, which goes when this process ends."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="healthgym-", dir=memory if os.access(memory, os.W_OK) else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
