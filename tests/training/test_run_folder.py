import json
from pathlib import Path

import pytest
from tiny import make_rows, make_trajectory

from healthgym.errors import ConfigError
from healthgym.training.loading import make_config
from healthgym.training.run_folder import RunFolder

CONFIG = {"model": {"tiny": {}}}


def test_a_folder_of_another_config_is_refused_by_name_of_the_difference(tmp_path: Path):
    RunFolder(tmp_path).claim(make_config(CONFIG))
    RunFolder(tmp_path).claim(make_config(CONFIG))
    with pytest.raises(ConfigError, match=r"optim\.steps was 100, now 7"):
        RunFolder(tmp_path).claim(make_config({**CONFIG, "optim": {"steps": 7}}))


def test_metrics_after_the_checkpoint_are_made_again(tmp_path: Path):
    folder = RunFolder(tmp_path)
    for step in (1, 2, 3):
        folder.append({"step": step, "loss": 0.5})
    with folder.metrics_file.open("a") as file:
        file.write('{"step": 4, "lo')  # cut short by a kill
    assert [row["step"] for row in folder.metrics()] == [1, 2, 3]
    folder.rewind(2)
    folder.append({"step": 3, "loss": 0.4})
    assert [row["step"] for row in folder.metrics()] == [1, 2, 3]
    assert folder.metrics()[-1]["loss"] == 0.4


def test_traces_are_records_without_tokens(tmp_path: Path):
    episode = make_trajectory(make_rows(1)[0], [1], [2], [1], [0.0], [], 1.0, [{"role": "user", "content": "?"}])
    file = RunFolder(tmp_path).save_traces("step-000010", [episode])
    record = json.loads(file.read_text())
    assert record["task_id"] == "yes/0" and "completion_ids" not in record


def test_other_processes_write_nothing(tmp_path: Path):
    folder = RunFolder(tmp_path, writes=False)
    folder.claim(make_config(CONFIG))
    folder.append({"step": 1})
    folder.rewind(0)
    assert list(tmp_path.iterdir()) == []
