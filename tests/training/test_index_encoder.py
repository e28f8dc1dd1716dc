"""The encoder that a run or an evaluation names is the one its index is opened with."""

from pathlib import Path

import pytest

from healthgym.cli.eval_candidate import open_services
from healthgym.errors import PassageIndexError
from healthgym.retrieval import build_index
from healthgym.training.loading import make_config
from healthgym.training.policy_source import run_services


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("Metformin is reduced when kidneys fail. Aspirin thins the blood of adults.")
    build_index([str(tmp_path / "a.txt")], tmp_path / "index", "hashing-64")
    return tmp_path / "index"


def run_of(index: Path, **env):
    return make_config({"preset": "grpo", "model": {"tiny": {}}, "env": {"index": str(index), **env}})


def test_a_run_opens_its_index_with_the_encoder_it_names(index):
    assert run_services(run_of(index)) is not None
    assert run_services(run_of(index, encoder="hashing-64")) is not None
    with pytest.raises(PassageIndexError):  # 32 numbers a vector where the index holds 64
        run_services(run_of(index, encoder="hashing-32"))


def test_an_evaluation_opens_its_index_with_the_encoder_it_is_given(index):
    assert open_services(index, encoder="hashing-64") is not None
    with pytest.raises(PassageIndexError):
        open_services(index, encoder="hashing-32")
