"""Metrics reach the reporters that a run asks for."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from fever import fever_folder, plain_source
from test_run import config

from healthgym.errors import MissingDependency
from healthgym.training.loading import make_config
from healthgym.training.reporting import check_reporters, reporters
from healthgym.training.run import train

TINY = {"model": {"tiny": {}}}


@pytest.mark.parametrize(
    ("given", "read"),
    [("none", ()), (None, ()), ([], ()), (["none"], ()), ("wandb", ("wandb",)), (["trackio", "tensorboard"], ("trackio", "tensorboard"))],
)  # fmt: skip
def test_reporters_are_named_alone_or_in_a_list(given: Any, read: tuple[str, ...]):
    assert make_config({**TINY, "log": {"report_to": given}}).log.report_to == read


def test_a_missing_package_is_named_before_anything_is_trained(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match="needs the package trackio, which is not installed"):
        check_reporters(make_config({**TINY, "log": {"report_to": "trackio"}}))


def test_no_reporter_adds_no_callback(tmp_path: Path):
    assert reporters(make_config(TINY), tmp_path) == []


def test_event_files_hold_our_metrics_evaluations_and_config(tmp_path: Path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    settings = config(
        fever_folder(tmp_path), log={"report_to": "tensorboard"}, eval={"every": 1}, warm_start=None,
        optim={"steps": 2, "tasks_per_step": 1, "num_generations": 2},
    )  # fmt: skip
    train(
        settings, run_dir=tmp_path / "run", make_source=plain_source,
        evaluate=lambda model, tokenizer, step: {"eval/success": step / 10},
    )  # fmt: skip
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    names = events.Tags()["scalars"]
    by_end = {name.split("/", 1)[1]: name for name in names if "/" in name}  # transformers puts train/ before them
    assert {"episode/success", "tt_opd/lambda", "robust/bad_step"} <= set(by_end), names
    held_out = events.Scalars(by_end["eval/success"])
    assert [(event.step, round(event.value, 3)) for event in held_out] == [(1, 0.1), (2, 0.2)]
    assert any("healthgym" in name for name in events.Tags()["tensors"])
