"""Launches a script on several processes, as users do."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "recipes" / "accelerate"


def launch(config: str, processes: int, script: Path, *arguments: object, **variables: str) -> str:
    """Run `script` under `accelerate launch` with a shipped config on CPU processes and return what it printed.

    `variables` are added to its environment.
    """
    command = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(CONFIGS / config)]
    command += ["--num_processes", str(processes), "--main_process_port", "0", str(script), *map(str, arguments)]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths, **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout
