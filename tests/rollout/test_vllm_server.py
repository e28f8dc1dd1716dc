"""A server's process group: nothing of it outlives it."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from healthgym.rollout.vllm_server import ServerProcess

FORKS = """
import os, sys, time
child = os.fork()
if not child:
    time.sleep(600)
open(sys.argv[1] + ".part", "w").write(str(child))
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(600)
"""


@pytest.fixture
def server(tmp_path: Path):
    note = tmp_path / "child"
    server = ServerProcess([sys.executable, "-c", FORKS, str(note)], os.environ)
    while not note.is_file():
        time.sleep(0.02)
    yield server, int(note.read_text())
    server.stop(0.0)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def gone(pid: int) -> bool:
    return any(not is_running(pid) or time.sleep(0.05) for _ in range(100))


def test_what_a_killed_server_started_goes_with_it(server):
    process, child = server
    assert is_running(child)
    os.kill(process.process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert gone(child)


def test_a_stopped_server_leaves_nothing_behind(server):
    process, child = server
    process.stop()
    assert process.process.returncode == -signal.SIGTERM
    assert gone(child)
