"""A server that was launched is gone when it is stopped, and when whoever launched it is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from healthgym.rollout.vllm_launched import LaunchedServer, free_port
from healthgym.rollout.vllm_messages import EngineDied

# A server that begins a process of its own, as vLLM does, and says who both are.
SERVER = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1], "w").write(f"{os.getpid()} {child.pid}\\n")
time.sleep(600)
"""
LAUNCHER = """
import os, sys, time
from pathlib import Path
from healthgym.rollout.vllm_launched import LaunchedServer
server = LaunchedServer(sys.argv[2:], os.environ, Path(sys.argv[1]))
server.ensure(True)
time.sleep(600)
"""


def told(file: Path) -> list[int]:
    """Wait for the server and return its process and its child's."""
    while not file.is_file() or "\n" not in file.read_text():
        time.sleep(0.02)
    return [int(one) for one in file.read_text().split()]


def wait_until_gone(*pids: int) -> None:
    for pid in pids:
        while Path(f"/proc/{pid}").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
            time.sleep(0.02)


def test_stopping_ends_the_server_and_what_it_began(tmp_path: Path):
    server = LaunchedServer([sys.executable, "-c", SERVER, str(tmp_path / "pids")], os.environ, tmp_path / "log")
    server.ensure(True)
    pids = told(tmp_path / "pids")
    server.ensure(False)
    assert server.launches == 1
    server.stop()
    server.stop()
    wait_until_gone(*pids)


def test_a_server_goes_when_its_launcher_is_killed(tmp_path: Path):
    command = [sys.executable, "-c", SERVER, str(tmp_path / "pids")]
    launcher = subprocess.Popen([sys.executable, "-c", LAUNCHER, str(tmp_path / "log"), *command])
    pids = told(tmp_path / "pids")
    launcher.send_signal(signal.SIGKILL)
    launcher.wait()
    wait_until_gone(*pids)


def test_a_server_that_ends_instead_of_coming_up_is_quoted_and_one_that_died_is_started_again(tmp_path: Path):
    server = LaunchedServer([sys.executable, "-c", "import sys; sys.exit('no memory')"], os.environ, tmp_path / "log")
    server.ensure(True)
    assert server.guard is not None
    server.guard.wait()
    with pytest.raises(EngineDied, match=r"code 1(.|\n)*no memory"):
        server.ensure(False)
    server.ensure(True)
    assert server.launches == 2
    server.stop()


def test_ports_are_free_ones():
    assert 1024 <= free_port() <= 65535
