"""A vLLM server of this process's own: on a port that was free, watched while it starts, and gone when this process is.

Run as `python -m healthgym.rollout.vllm_launched COMMAND...` it guards one: it ends the server, and all that the server
began, once its standard input closes, which happens however the process at the other end dies.
"""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from healthgym.rollout.vllm_messages import EngineDied
from healthgym.rollout.vllm_server import ServerProcess

LOG_TAIL_LINES = 15
PATIENCE_S = 20.0
"""How long a server may take to end by itself."""


class LaunchedServer:
    """Starts a server when it is first needed and again when it has died.

    Args:
        command: Command line.
        environment: Environment.
        log: Receives both outputs.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.command, self.environment, self.log = list(command), dict(environment), log
        self.guard: subprocess.Popen[bytes] | None = None
        self.launches = 0
        """How often it was started."""

    def ensure(self, is_first_look: bool) -> None:
        """Start the server unless it runs; called again and again while it comes up.

        Args:
            is_first_look: Whether the wait for it begins; if not, a server that is gone has failed.

        Raises:
            EngineDied: It ended instead of coming up; repeats its last words.
        """
        if self.guard is not None and self.guard.poll() is None:
            return
        if not is_first_look:
            code = self.guard.wait() if self.guard is not None else None
            lines = self.log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:] if self.log.is_file() else []
            raise EngineDied("\n".join([f"The vLLM server ended with code {code}. Its last words:", *lines]))
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.guard = subprocess.Popen(
                [sys.executable, "-m", __name__, *self.command], env=self.environment, stdin=subprocess.PIPE, stdout=log,
                stderr=log, start_new_session=True,
            )  # fmt: skip
        self.launches += 1

    def stop(self) -> None:
        """End the server and everything it began; doing it twice changes nothing."""
        if self.guard is None:
            return
        assert self.guard.stdin is not None
        with suppress(BrokenPipeError):
            self.guard.stdin.close()
        self.guard.wait()
        self.guard = None


def free_port() -> int:
    """Return a port of this machine's loopback that nothing listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def main(command: Sequence[str]) -> int:
    """Run a command until it ends or standard input closes; return its exit code."""
    server = ServerProcess(command, os.environ)

    def watch() -> None:
        while os.read(0, 1):  # not through sys.stdin, whose lock this thread would hold when the process ends
            pass
        server.stop(PATIENCE_S)

    threading.Thread(target=watch, daemon=True).start()
    return server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
