"""Records are read from the formats that datasets come in; a broken file names itself and what is wrong."""

import gzip
import json
import pickle
from pathlib import Path
from zipfile import ZipFile

import pytest

from healthgym.errors import ConfigError
from healthgym.evaluation.records import Table, hub_table, read_table

NAMESPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def workbook(path: Path) -> Path:
    shared = f"<sst {NAMESPACE}><si><t>Question</t></si><si><r><t>How </t></r><r><t>much?</t></r><rPh><t>x</t></rPh></si></sst>"
    sheet = (
        f'<worksheet {NAMESPACE}><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>Answer'
        '</t></is></c></row><row r="2"><c r="A2" t="s"><v>1</v></c><c r="C2"><v>40</v></c></row><row r="3"/>'
        '<row r="4"><c r="C4" t="str"><v>none</v></c></row></sheetData></worksheet>'
    )
    with ZipFile(path, "w") as book:
        book.writestr("xl/sharedStrings.xml", shared)
        book.writestr("xl/worksheets/sheet1.xml", sheet)
    return path


def test_a_workbook_is_read_with_shared_inline_and_missing_cells(tmp_path):
    assert read_table(workbook(tmp_path / "a.xlsx")).records == [
        {"Question": "How much?", "Answer": "40"},
        {"Question": "", "Answer": "none"},
    ]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", b'\xef\xbb\xbfq,"a b"\n1,"two\nlines"\n'),
        ("a.tsv", b'q\ta b\n1\t"two\nlines"\n'),
        ("a.json", json.dumps([{"q": "1", "a b": "two\nlines"}]).encode()),
        ("b.json", json.dumps({"version": 2, "data": [{"q": "1", "a b": "two\nlines"}]}).encode()),
        ("a.jsonl", json.dumps({"q": "1", "a b": "two\nlines"}).encode() + b"\n\n"),
        ("a.jsonl.gz", gzip.compress(json.dumps({"q": "1", "a b": "two\nlines"}).encode(), mtime=0)),
        ("a.pkl", pickle.dumps([{"q": "1", "a b": "two\nlines"}])),
    ],
)
def test_every_format_gives_the_same_record(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    table = read_table(tmp_path / name)
    assert list(table.records) == [{"q": "1", "a b": "two\nlines"}]
    assert table.column("A_B") == "a b"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"q\n\xff\xfe\n", "not UTF-8 text: byte 2"),
        ("a.csv", b"q,a\n1,2\n1,2,3\n", "line 3: 3 fields, expected 2: q, a"),
        ("a.json", b'[{"q": 1}', "no JSON"),
        ("a.json", b'"text"', "expected a list of objects, found str"),
        ("a.jsonl", b'{"q": 1}\n[1]\n', "line 2: expected an object, got list"),
        ("a.jsonl.gz", b"plain", "no whole gzip file"),
        ("a.jsonl.gz", gzip.compress(b'{"q": "\xe9"}'), "byte 7 is b'\\\\xe9'"),
        ("a.xlsx", b"PK nothing", "as an Excel workbook"),
        ("a.parquet", b"nothing", "as parquet"),
        ("a.doc", b"", "no way to read .doc"),
        ("a.pkl", pickle.dumps([Path("x")]), "only lists, objects, texts and numbers"),
    ],
)
def test_a_broken_file_names_itself(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigError, match=message) as caught:
        read_table(tmp_path / name)
    assert name in str(caught.value)


def test_a_missing_column_lists_those_found():
    with pytest.raises(ConfigError, match=r"no column 'answer' or 'label'. Its columns: question, reply"):
        Table("x.csv", [{"question": "?", "reply": ""}]).column("answer", "label")
    with pytest.raises(ConfigError, match="holds no records"):
        Table("x.csv", []).column("answer")


def test_a_line_of_json_may_hold_other_line_separators(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"q": "one\u2028two"}\r\n{"q": "three"}\n', encoding="utf-8")
    assert [record["q"] for record in read_table(tmp_path / "a.jsonl").records] == ["one\u2028two", "three"]


@pytest.mark.slow  # loads datasets
def test_hub_rows_keep_their_images_packed_and_a_failing_hub_says_what_to_do(monkeypatch):
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"image": [{"bytes": b"not decoded", "path": None}], "question": ["?"]})
    rows = rows.cast_column("image", datasets.Image())
    monkeypatch.setattr(datasets, "load_dataset", lambda name, config, split: rows)
    table = hub_table("owner/name", "test", how="Get it there")
    assert table.where == "owner/name:test" and table.records[0]["image"]["bytes"] == b"not decoded"
    assert table.columns() == ["image", "question"]

    def fail(name: str, config: str | None, split: str) -> None:
        raise datasets.exceptions.DatasetNotFoundError("no such dataset")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    with pytest.raises(ConfigError, match=r"owner/name \(split test\) could not be loaded.*Get it there"):
        hub_table("owner/name", "test", how="Get it there")
