import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from healthgym.errors import ConfigError
from healthgym.training.run_lock import run_lock

HOLD = """
import sys, time
from pathlib import Path
from healthgym.training.run_lock import run_lock
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_folder_in_use_is_refused_by_naming_its_holder(tmp_path: Path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(ConfigError, match=f"in use by another run .process {holder.pid} on "), run_lock(tmp_path):
            pass
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    for _ in range(50):  # a killed holder's lock is gone as soon as the kernel has cleared it up
        try:
            with run_lock(tmp_path):
                return
        except ConfigError:
            time.sleep(0.1)
    pytest.fail("a killed process still holds the folder")


def test_a_folder_is_free_again_after_the_run(tmp_path: Path):
    for _ in range(2):
        with run_lock(tmp_path / "run"):
            pass


def test_a_folder_that_is_a_file_is_explained(tmp_path: Path):
    (tmp_path / "run").write_text("")
    with pytest.raises(ConfigError, match="cannot be used"), run_lock(tmp_path / "run"):
        pass
