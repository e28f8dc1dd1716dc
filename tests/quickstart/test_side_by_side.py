import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from healthgym.errors import HealthgymError
from healthgym.quickstart.side_by_side import side_by_side


def double(name: str, number: int, *, tell) -> int:
    tell(f"{name} doubles {number}")
    return 2 * number + len(name)


def meet(name: str, folder: str, *, tell) -> bool:
    """Succeeds only when another piece of work runs at the same time."""
    (Path(folder) / name).touch()
    until = time.monotonic() + 30
    while len(list(Path(folder).iterdir())) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    return len(list(Path(folder).iterdir())) == 2


def fail(name: str, *, tell) -> None:
    if name == "b":
        raise ValueError("no beds left")
    time.sleep(30)


def vanish(name: str, *, tell) -> None:
    os._exit(7)


def test_results_come_back_by_name_with_the_lines_told():
    lines: list[str] = []
    assert side_by_side(double, ["a", "bb"], 5, tell=lines.append) == {"a": 11, "bb": 12}
    assert sorted(lines) == ["a doubles 5", "bb doubles 5"]
    assert side_by_side(double, [], 5, tell=lines.append) == {}


def test_the_pieces_run_at_the_same_time(tmp_path):
    assert side_by_side(meet, ["a", "b"], str(tmp_path), tell=print) == {"a": True, "b": True}


def test_a_failure_names_the_piece_and_stops_the_others():
    with pytest.raises(HealthgymError, match="b failed") as raised:
        side_by_side(fail, ["a", "b"], tell=print)
    assert "no beds left" in str(raised.value)


def test_a_killed_piece_is_named_with_its_exit_code():
    with pytest.raises(HealthgymError, match="a ended with exit code 7"):
        side_by_side(vanish, ["a"], tell=print)


def sign_in(name: str, folder: str, *, tell) -> None:
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(120)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[-1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # ended, and only not yet collected by whoever inherited it


def test_the_pieces_end_when_whoever_started_them_is_killed(tmp_path):
    script = (
        "from test_side_by_side import *\n"
        f"if __name__ == '__main__': side_by_side(sign_in, ['a', 'b'], {str(tmp_path)!r}, tell=print)"
    )
    file = tmp_path.parent / "started.py"
    file.write_text(script, encoding="utf-8")
    started = subprocess.Popen(
        [sys.executable, str(file)], env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    )
    until = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    pieces = [int(path.name) for path in tmp_path.iterdir()]
    started.kill()
    started.wait()
    while any(map(is_running, pieces)) and time.monotonic() < until:
        time.sleep(0.05)
    assert len(pieces) == 2
    assert not any(map(is_running, pieces))
