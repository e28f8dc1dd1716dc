"""Stored rows are scored again beside the first ones, which stay as they were."""

import json
from dataclasses import replace

import pytest
from asked import Sums, adder

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Settings
from healthgym.evaluation.rescore_folder import rescore_folder
from healthgym.evaluation.rows import read_rows
from healthgym.evaluation.runner import evaluate


class Lenient(Sums):
    scorer = "sums-2"

    def rescore(self, row, item):
        return replace(row, status="answered", score=1.0)


def test_rescored_rows_get_a_name_of_their_own_each_time(tmp_path):
    evaluate(Sums(), adder(1, 2), Settings(mode="text"), tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in ("rows.jsonl", "result.json", "run.json")}
    first = rescore_folder(tmp_path, Lenient())
    second = rescore_folder(tmp_path, Sums())
    assert (first.rows.name, second.rows.name) == ("rows_rescored.jsonl", "rows_rescored-2.jsonl")
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert first.record["score"] == 1.0 and first.record["scorer"] == "sums-2"
    told = json.loads((tmp_path / "result_rescored.json").read_text())["rescored"]
    assert (told["scorer_before"], told["score_before"], told["changed"], told["better"]) == ("sums-1", 0.8, 2, 2)
    assert read_rows(second.rows) == read_rows(tmp_path / "rows.jsonl")


def test_other_items_and_folders_without_an_evaluation_are_refused(tmp_path):
    evaluate(Sums(), adder(), Settings(mode="text"), tmp_path / "out")
    with pytest.raises(ConfigError, match="have changed since"):
        rescore_folder(tmp_path / "out", Sums(9))
    with pytest.raises(ConfigError, match="does not exist"):
        rescore_folder(tmp_path / "none", Sums())
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"run\.json is missing"):
        rescore_folder(tmp_path / "empty", Sums())
