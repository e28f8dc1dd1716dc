"""Run folders written from synthetic metrics."""

import json

import pytest


@pytest.fixture
def write_run(tmp_path):
    """Return a function that writes a run's folder from rows of metrics."""

    def write(made, name="run"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
        (folder / "config.yaml").write_text(
            "preset: tt_opd\nteacher:\n  ema_decay: 0.995\n  update_every: 5\nhint:\n  level: process\n"
        )
        return folder

    return write
