import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def launch(folder: Path, processes: int) -> list[dict[str, float]]:
    script = str(Path(__file__).parent / "run_yes.py")
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc_per_node={processes}", "--standalone"]
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, script, str(folder)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / "log.json").read_text())


@pytest.mark.slow
def test_two_processes_follow_the_same_curve_as_one_with_twice_the_batch(tmp_path: Path):
    one, two = launch(tmp_path / "one", 1), launch(tmp_path / "two", 2)
    # The same eight episodes a step; only the order of float32 sums differs, and grows a little from step to step.
    for name in ("reward", "grad_norm", "tt_opd/kl", "tt_opd/teacher_distance", "episode/success", "entropy"):
        assert [row[name] for row in two] == pytest.approx([row[name] for row in one], rel=2e-3, abs=1e-6), name
    assert [row["tt_opd/hints_fired"] for row in one] == [8, 16, 24, 32]
