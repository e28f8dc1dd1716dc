"""Paths, texts and options that cannot be used end in one message and exit code 2, never in a traceback."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parents[1] / name) for name in ("training", "evaluation")]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from tiny import make_model, make_tokenizer

    folder, tokenizer = tmp_path_factory.mktemp("models") / "tiny", make_tokenizer()
    make_model(tokenizer).save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder


@pytest.fixture
def questions(tmp_path):
    def write(**values):
        record = {"id": "q", "question": "pain?", "options": ["yes", "no"], "answer": "A", **values}
        (tmp_path / "questions.jsonl").write_text(json.dumps(record) + "\n")
        return tmp_path / "questions.jsonl"

    return write


def told(found):
    assert found.code == 2, found.err
    return " ".join(found.err.split())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"answer": ["A"]}, "the answer ['A'] is none of the options"),
        ({"answer": {"A": 1}}, "is none of the options"),
        ({"question": "pa\ud800in"}, "line 1: 'pa\\ud800in' holds half a surrogate pair"),
        ({"options": {"A": "\udc00", "B": "x"}}, "holds half a surrogate pair"),
    ],
)
def test_a_question_that_cannot_be_asked_is_named_by_its_line(run, model, questions, tmp_path, values, message):
    words = ("eval", model, "--suite", "my_questions", "--out", tmp_path / "out")
    assert message in told(run(*words, "--data", questions(**values)))


def test_half_a_surrogate_pair_in_a_stratum_costs_no_result(run, model, questions, tmp_path):
    words = ("eval", model, "--suite", "my_questions", "--out", tmp_path / "out")
    found = run(*words, "--data", questions(subset="s\ud800"), "--json")
    assert found.code == 0 and (tmp_path / "out" / "report.html").is_file()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("dtype=float16", "cannot take dtype='float16'"), ("max_context=abc", "cannot take max_context='abc'"),
        ("max_context=0", "must be at least 1"), ("temperature=1 top_k=a", "cannot take top_k='a'"), ("max_rows=0", "must be at least 1"),
        ("temperature=.inf", "a finite number is needed"), ("device=foo", "There is no device 'foo' here"),
    ],
)  # fmt: skip
def test_an_engine_s_option_of_another_kind_is_refused(run, model, questions, tmp_path, option, message):
    found = run(
        "eval",
        model,
        "--suite",
        "my_questions",
        "--data",
        questions(),
        "--out",
        tmp_path / "out",
        "--set",
        "reading=generate",
        *(word for one in option.split() for word in ("--engine-set", one)),
    )
    assert message in told(found) and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--follow",), "go with --run RUN"), (("--every", "2"), "go with --run RUN"),
        (("--images",), "--images goes with --engine openai"), (("--rescore", "x"), "--rescore takes --data, --index"),
    ],
)  # fmt: skip
def test_options_that_would_do_nothing_are_refused(run, model, words, message):
    assert message in told(run("eval", model, "--suite", "gym", *words))


@pytest.mark.parametrize("header", [b"[1,2]", b'{"a": 1}', b'{"a": {"data_offsets": 3}}', b"[" * 100_000])
def test_weights_with_a_header_of_another_kind_are_damaged(run, model, questions, tmp_path, header):
    shutil.copytree(model, tmp_path / "broken")
    (tmp_path / "broken" / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    found = run("eval", tmp_path / "broken", "--suite", "my_questions", "--data", questions())
    assert "model.safetensors has an unreadable header" in told(found)


def test_a_config_that_is_no_object_is_refused(run, model, questions, tmp_path):
    shutil.copytree(model, tmp_path / "broken")
    (tmp_path / "broken" / "config.json").write_text("[1]")
    found = run("eval", tmp_path / "broken", "--suite", "my_questions", "--data", questions())
    assert "config.json holds no object, but a list" in told(found)


def test_a_report_cannot_be_written_to_a_folder_or_below_a_file(run, tmp_path):
    from stored_evaluations import rows_of, write_evaluation

    folder = write_evaluation(tmp_path / "a", rows_of([1.0, 0.0]))
    (tmp_path / "folder").mkdir()
    assert "folder cannot be used: Is a directory" in told(run("report", folder, "--out", tmp_path / "folder"))
    assert "Is a directory" in told(run("report", folder, "--out", ""))
    assert "cannot be used" in told(run("report", folder, "--out", folder / "rows.jsonl" / "page.html"))
    assert not list(tmp_path.glob(".*"))


def test_a_disk_that_is_full_while_a_report_is_written_is_told_as_such(run, tmp_path, monkeypatch):
    from stored_evaluations import rows_of, write_evaluation

    folder = write_evaluation(tmp_path / "a", rows_of([1.0, 0.0]))

    def full(path, *arguments, **options):
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    monkeypatch.setattr(Path, "write_text", full)
    assert "disk is full" in told(run("report", folder))


def test_a_reader_that_stops_reading_ends_a_command_quietly():
    words = [sys.executable, "-c", "from healthgym.cli.main import main; main()", "tools", "--json"]
    reader, writer = os.pipe()
    os.close(reader)
    found = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert "Traceback" not in found.stderr


def test_an_evaluation_without_a_row_is_known_as_one(run, tmp_path):
    (tmp_path / "run.json").write_text("{}")
    assert "is an evaluation without a row yet" in told(run("report", tmp_path))
