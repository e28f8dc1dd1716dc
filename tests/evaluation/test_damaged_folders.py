"""Folders that were edited, damaged or cut short: what is broken is left out or refused, and the rest goes on."""

import json

import pytest
from asked import Sums, adder
from stored_evaluations import rows_of, write_evaluation

from healthgym.errors import ConfigError, HealthgymError
from healthgym.evaluation.benchmark import Settings
from healthgym.evaluation.folder import EvaluationFolder
from healthgym.evaluation.report import write_report
from healthgym.evaluation.rescore_folder import rescore_folder
from healthgym.evaluation.rows import read_rows
from healthgym.evaluation.runner import evaluate
from healthgym.evaluation.stored import Stored

TEXT = Settings(mode="text", in_flight=3)


@pytest.fixture
def done(tmp_path):
    evaluate(Sums(4), adder(), TEXT, tmp_path / "out")
    return tmp_path / "out"


def edit(file, **values):
    """Set values of a JSON file, or of the first row of a file of rows."""
    first, *others = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
    file.write_text("\n".join([json.dumps({**json.loads(first), **values}), *others]) + "\n")


@pytest.mark.parametrize(
    "values",
    [
        {"id": [1]}, {"id": None}, {"attempt": "0"}, {"strata": [1]}, {"strata": None}, {"score": "1"},
        {"score": float("nan")}, {"scores": {"x": "y"}}, {"scores": {"x": float("nan")}}, {"seed": "x"},
        {"tokens": "x"}, {"tokens": float("inf")}, {"detail": None}, {"cluster": [1]}, {"output": None},
    ],
)  # fmt: skip
def test_a_row_that_holds_no_row_any_more_is_left_out_and_made_again(done, values):
    edit(done / "rows.jsonl", **values)
    assert len(read_rows(done / "rows.jsonl")) == 3
    assert write_report(done).is_file() and Stored.load(done).rows
    again = Sums(4)
    assert evaluate(again, adder(), TEXT, done).record["n"] == 4
    assert len(again.asked) == 1


def test_lines_of_anything_else_are_left_out(done):
    with (done / "rows.jsonl").open("ab") as file:
        file.write(b"\xff\xfe\0\n[1]\n3\nnull\n{}\n" + b"[" * 100_000 + b"\n")
    assert len(read_rows(done / "rows.jsonl")) == 4


@pytest.mark.parametrize("content", [b"{", b"", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_a_broken_result_is_made_anew_from_the_rows(done, content):
    whole = json.loads((done / "result.json").read_text())
    (done / "result.json").write_bytes(content)
    again = Sums(4)
    assert evaluate(again, adder(), TEXT, done).record["score"] == whole["score"]
    assert not again.asked and json.loads((done / "result.json").read_text())["n"] == 4


@pytest.mark.parametrize("part", ["score", "ci", "counts", "strata", "floors", "hashes", "scores", "warnings", "n"])
def test_a_report_refuses_a_result_that_lacks_a_part(done, part):
    told = json.loads((done / "result.json").read_text())
    del told[part]
    (done / "result.json").write_text(json.dumps(told))
    with pytest.raises(ConfigError, match=f"no whole result .{part} is missing"):
        write_report(done)


@pytest.mark.parametrize("part", ["benchmark", "scorer", "items", "settings", "candidate"])
def test_an_identity_that_lacks_a_part_is_refused_with_the_remedy(done, part):
    told = json.loads((done / "run.json").read_text())
    del told["identity"][part]
    (done / "run.json").write_text(json.dumps(told))
    with pytest.raises(ConfigError, match=r"cannot be read .*--restart"):
        rescore_folder(done, Sums(4))
    with pytest.raises(ConfigError, match=r"cannot be read .*--restart"):
        evaluate(Sums(4), adder(), TEXT, done)


def test_a_row_that_cannot_be_read_again_is_named(done):
    class Demanding(Sums):
        def rescore(self, row, item):
            raise KeyError("reading")

    with pytest.raises(HealthgymError, match=r"Row \('.*', 0\) does not hold what .* reads again .KeyError: 'reading'"):
        rescore_folder(done, Demanding(4))


def test_settings_may_change_while_there_is_no_row(tmp_path):
    class Refusing(Sums):
        def measure(self, *arguments):
            raise ConfigError("it cannot be asked like this")

    with pytest.raises(ConfigError, match="like this"):
        evaluate(Refusing(4), adder(), TEXT, tmp_path / "out")
    other = Settings(mode="text", max_tokens=7)
    assert evaluate(Sums(4), adder(), other, tmp_path / "out").record["settings"]["max_tokens"] == 7
    with pytest.raises(ConfigError, match="max_tokens was 7"):
        evaluate(Sums(4), adder(), TEXT, tmp_path / "out")


def test_restart_moves_no_folder_away_that_holds_something_else(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    with pytest.raises(ConfigError, match=r"thesis\.tex"):
        evaluate(Sums(4), adder(), TEXT, tmp_path / "mine", restart=True)
    assert (tmp_path / "mine" / "thesis.tex").is_file()


def test_restart_knows_the_folder_it_stands_in_by_name(done, monkeypatch):
    monkeypatch.chdir(done)
    again = Sums(4)
    assert evaluate(again, adder(), TEXT, ".", restart=True).record["n"] == 4
    assert len(again.asked) == 4 and (done / "result.json").is_file()
    assert (done.parent / "out.old-1" / "result.json").is_file()


def test_broken_items_leave_their_questions_out_of_the_report(done):
    (done / "items.jsonl").write_bytes(b"\xff\n{\n[]\n")
    assert write_report(done).is_file()


@pytest.mark.parametrize(
    "values",
    [
        {"messages": "x"}, {"messages": [None]}, {"messages": [{"role": "assistant", "content": 5}]}, {"grade": None},
        {"messages": [{"role": "assistant", "tool_calls": [{"function": 5}]}]}, {"extra": "x"},
        {"extra": {"item": "q0", "attempt": "x"}},
    ],
)  # fmt: skip
def test_a_trace_that_was_edited_is_left_out_of_the_report(tmp_path, values):
    folder = write_evaluation(tmp_path, rows_of([0.0, 1.0]))
    trace = {"extra": {"item": "q0", "attempt": 0}, "messages": [{"role": "user", "content": "hello"}], "grade": {}}
    (folder / "traces.jsonl").write_text(json.dumps(trace) + "\n")
    assert "hello" in write_report(folder).read_text()
    (folder / "traces.jsonl").write_text(json.dumps({**trace, **values}) + "\n" + "[" * 100_000 + "\n")
    assert "hello" not in write_report(folder).read_text()


def test_rescoring_says_how_many_episodes_have_no_trace(done, caplog):
    class Replaying(Sums):
        def rescore_episode(self, row, item, trajectory, services):
            return row

    assert rescore_folder(done, Replaying(4)).changes.n == 4
    assert "4 answered rows have no trace" in caplog.text


def test_rows_scored_again_are_never_there_without_their_result(done, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(EvaluationFolder, "write_result", full)
    with pytest.raises(OSError, match="No space"):
        rescore_folder(done, Sums(4))
    assert not list(done.glob("*rescored*"))
