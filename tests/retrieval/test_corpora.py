"""Corpora of every kind become passages with their origin; what cannot be used is named, or skipped and counted."""

import gzip
import json

import pytest

from healthgym.errors import ConfigError, ContentError, MissingDependency
from healthgym.retrieval import HashingEncoder, build_index, index_info, read_corpus
from healthgym.retrieval.chunking import chunk_text, split_sentences
from healthgym.retrieval.corpora import corpus_parts
from healthgym.retrieval.hub import HubName
from healthgym.retrieval.rows import Reading

ROW = {"id": "a", "title": "T", "text": "x", "source": "s", "licence": "CC0-1.0"}


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def pdf(path, pages, title=None):
    """Write a PDF of one line of text per entry of a page, by hand: no library that we have writes text."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", None, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        shown = " T* ".join(f"({line}) Tj" for line in lines)
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        kids.append(len(objects) + 1)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] >>"
    objects.append(f"<< /Title ({title}) >>" if title else "<< >>")
    content, places = "%PDF-1.4\n", []
    for number, item in enumerate(objects, start=1):
        places.append(len(content))
        content += f"{number} 0 obj\n{item}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>"
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n{trailer}\nstartxref\n{len(content)}\n%%EOF\n"
    path.write_bytes((content + end).encode("latin-1"))
    return path


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("The dose is 5 mg/kg. Give it twice.", ["The dose is 5 mg/kg.", "Give it twice."]),
        ("Seen by Dr. Smith, e.g. Monday. He left.", ["Seen by Dr. Smith, e.g. Monday.", "He left."]),
        ("Potassium was 3.5 mmol/L. Sodium fell.", ["Potassium was 3.5 mmol/L.", "Sodium fell."]),
        ("As Jones et al. 2019 show, it works. It does.", ["As Jones et al. 2019 show, it works.", "It does."]),
        ("See Fig. 2 and No. 5. Then stop.", ["See Fig. 2 and No. 5.", "Then stop."]),
        ("Give max. 10 mg. Wait.", ["Give max. 10 mg.", "Wait."]),
        ("It lacks vitamin C. Scurvy follows.", ["It lacks vitamin C.", "Scurvy follows."]),
        ("Described by J. R. Hughes. Later confirmed.", ["Described by J. R. Hughes.", "Later confirmed."]),
        ("In the U.S. Food and Drug law it is. Yes.", ["In the U.S. Food and Drug law it is.", "Yes."]),
        ("Steps: 1. Wash hands. 2. Dry them.", ["Steps: 1. Wash hands.", "2. Dry them."]),
        ("A GCS of 8. Intubate now!", ["A GCS of 8.", "Intubate now!"]),
        ("Wait 10 min. Then repeat (if needed). Stop?", ["Wait 10 min.", "Then repeat (if needed).", "Stop?"]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text, sentences):
    assert list(split_sentences(text)) == sentences


def test_a_short_rest_takes_a_sentence_over():
    # 70 + 45 words and 8 more would be 123; with the second sentence the rest has 53 words and the first chunk 70.
    first, second, rest = (" ".join(["Word"] * length) + "." for length in (70, 45, 8))
    assert list(chunk_text(" ".join((first, second, rest)))) == [first, f"{second} {rest}"]


def test_an_enormous_text_without_spaces_or_stops_is_cut():
    chunks = list(chunk_text("x" * 100_000))
    assert "".join(chunks).replace(" ", "") == "x" * 100_000
    assert max(map(len, chunks)) <= 120 * 201


def test_long_rows_are_cut_at_sentences_and_keep_title_and_origin(tmp_path):
    text = " ".join(["Word"] * 99) + ". " + " ".join(["Next"] * 50) + "."
    path = write_rows(tmp_path / "p.jsonl", [{**ROW, "text": text, "published": 2020}, {**ROW, "id": "b"}])
    passages = list(read_corpus(path))
    assert [(each.id, len(each.text.split()), each.title, each.date) for each in passages] == [
        ("a#0", 99, "T", "2020"),
        ("a#1", 50, "T", "2020"),
        ("b", 1, "T", None),
    ]


def test_rows_as_medrag_has_them_are_read_by_their_own_keys(tmp_path):
    rows = [
        {
            "id": "Anatomy_Gray_0",
            "title": "Anatomy_Gray",
            "content": "The heart.",
            "contents": "Anatomy_Gray. The heart.",
        },
        {
            "id": "pubmed23n0001_0",
            "title": "A trial.",
            "content": "It worked.",
            "contents": "A trial. It worked.",
            "PMID": 21,
        },
    ]
    passages = list(read_corpus(write_rows(tmp_path / "p.jsonl", rows), source="medrag", licence="NOASSERTION"))
    assert [(each.id, each.text, each.ref) for each in passages] == [
        ("Anatomy_Gray_0", "The heart.", None),
        ("pubmed23n0001_0", "It worked.", "PMID 21"),
    ]


def test_a_row_without_licence_stops_unless_one_is_given(tmp_path):
    path = write_rows(tmp_path / "p.jsonl", [{**ROW, "licence": None}, {**ROW, "id": "b"}])
    with pytest.raises(ContentError, match=r"p\.jsonl:1: licence missing.*--licence"):
        list(read_corpus(path))
    assert [each.licence for each in read_corpus(path, licence="CC-BY-4.0")] == ["CC-BY-4.0", "CC0-1.0"]


def test_fields_may_have_any_name(tmp_path):
    path = write_rows(tmp_path / "p.jsonl", [{**ROW, "text": "", "body": "The text."}])
    part = corpus_parts([path], Reading(fields={"text": "body"}))[0]
    assert next(part.rows(0))[0].text == "The text."
    with pytest.raises(ConfigError, match="'text'"):
        Reading(fields={"txt": "body"})


def test_bad_rows_are_named_by_line_or_skipped_and_counted(tmp_path):
    good = json.dumps(ROW).encode()
    lines = [
        good,
        b'{"id": "\xe9"}',
        b"[1]",
        b"",
        json.dumps({**ROW, "text": " "}).encode(),
        b'{"id": "\\ud800"}',
        b"{",
    ]
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(ContentError, match=r"p\.jsonl:2: not UTF-8 \(byte 0xe9 at column 9\).*iconv"):
        list(read_corpus(path))
    pytest.importorskip("faiss")
    pytest.importorskip("bm25s")
    notes = []
    build_index([path], tmp_path / "out", HashingEncoder(64), skip_bad=True, notice=notes.append)
    info = index_info(tmp_path / "out")
    assert (info["passages"], info["skipped_rows"]) == (1, 5)
    assert any("5 rows were skipped" in note and "p.jsonl:2" in note for note in notes)


def test_half_a_surrogate_pair_is_no_text(tmp_path):
    (tmp_path / "p.jsonl").write_text(json.dumps(ROW).replace('"x"', '"\\ud800"'))
    with pytest.raises(ContentError, match=r"p\.jsonl:1: text holds half a surrogate"):
        list(read_corpus(tmp_path / "p.jsonl"))


def test_a_line_without_end_is_refused_before_it_fills_memory(monkeypatch, tmp_path):
    monkeypatch.setattr("healthgym.retrieval.passages.LONGEST_LINE", 1000)
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress(json.dumps(ROW).encode() + b"\n" + b"x" * 1001))
    with pytest.raises(ContentError, match=r"p\.jsonl\.gz:2: a line of more than 1,000 bytes"):
        list(read_corpus(tmp_path / "p.jsonl.gz"))


def test_a_text_of_another_encoding_is_named_by_line(tmp_path):
    (tmp_path / "notes.txt").write_bytes("First.\nSecond.\nCafé.".encode("latin-1"))
    with pytest.raises(ContentError, match=r"notes\.txt:3: not UTF-8 \(byte 0xe9\)"):
        list(read_corpus(tmp_path / "notes.txt"))


def test_an_empty_text_gives_no_passage(tmp_path):
    (tmp_path / "notes.txt").write_text(" \n")
    assert list(read_corpus(tmp_path / "notes.txt")) == []


def test_a_part_is_read_from_any_row_on(tmp_path):
    path = write_rows(tmp_path / "p.jsonl", [{**ROW, "id": str(number)} for number in range(5)])
    part = corpus_parts([path], Reading())[0]
    assert [row[0].id for row in part.rows(3)] == ["3", "4"]


def test_a_pdf_is_read_without_headers_and_line_end_hyphens_and_cites_pages(tmp_path):
    pytest.importorskip("pypdf")
    body = ["Give fluids early and meas-", "ure lactate.", "Then decide."]
    pages = [["Ward handbook", *body, f"Page {number}"] for number in (1, 2, 3)]
    passages = list(read_corpus(pdf(tmp_path / "ward.pdf", pages, "Sepsis care"), licence="CC0-1.0"))
    assert [(each.title, each.ref, each.licence) for each in passages] == [("Sepsis care", "ward.pdf p. 1", "CC0-1.0")]
    assert passages[0].text == " ".join(["Give fluids early and measure lactate. Then decide."] * 3)
    long = [[" ".join(["Word"] * 99) + "."], [" ".join(["Next"] * 99) + "."]]
    passages = list(read_corpus(pdf(tmp_path / "long.pdf", long)))
    assert [(each.id, each.title, each.ref) for each in passages] == [
        ("long:long.pdf#0", "long", "long.pdf p. 1"),
        ("long:long.pdf#1", "long", "long.pdf p. 2"),
    ]


def test_a_pdf_that_cannot_be_read_says_why(monkeypatch, tmp_path):
    pytest.importorskip("pypdf")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing")
    pdf(tmp_path / "scan.pdf", [[""]])
    for name, word in (("broken.pdf", "cannot be read as a PDF"), ("scan.pdf", "pages without text")):
        with pytest.raises(ContentError, match=word):
            list(read_corpus(tmp_path / name))
    monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
    with pytest.raises(MissingDependency, match=r"healthgym\[kb\]"):
        list(read_corpus(tmp_path / "scan.pdf"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("hf:MedRAG/textbooks", HubName(name="MedRAG/textbooks")),
        ("hf:MedRAG/pubmed@abc::validation", HubName(name="MedRAG/pubmed", revision="abc", split="validation")),
        ("hf:data:small:test", HubName(name="data", config="small", split="test")),
    ],
)
def test_names_of_datasets_are_taken_apart(text, name):
    assert HubName.parse(text) == name
    for wrong in ("hf:", "hf:a:b:c:d"):
        with pytest.raises(ContentError, match="hf:NAME"):
            HubName.parse(wrong)


def test_a_dataset_is_streamed_from_any_row_and_its_licence_is_unknown_unless_given(tmp_path):
    pytest.importorskip("datasets")
    folder = tmp_path / "textbooks"
    folder.mkdir()
    rows = [{"id": f"t{n}", "title": "Gray", "content": f"Fact {n}.", "contents": f"Gray. Fact {n}."} for n in range(6)]
    write_rows(folder / "train.jsonl", rows)
    passages = list(read_corpus(f"hf:{folder}"))
    assert [(each.id, each.text) for each in passages] == [(f"t{n}", f"Fact {n}.") for n in range(6)]
    assert {(each.source, each.licence) for each in passages} == {("textbooks", "NOASSERTION")}
    part = corpus_parts([f"hf:{folder}"], Reading(licence="MIT"))[0]
    assert [(row[0].id, row[0].licence) for row in part.rows(4)] == [("t4", "MIT"), ("t5", "MIT")]


def test_a_dataset_saved_to_disk_is_read_and_a_missing_one_named(tmp_path):
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_list([{"title": "Gout", "content": "Colchicine helps."}, {"title": "", "content": ""}])
    made.save_to_disk(str(tmp_path / "saved"))
    part = corpus_parts([f"hf:{tmp_path / 'saved'}"], Reading())[0]
    first, second = part.rows(0)
    assert (first[0].id, first[0].title) == ("saved#0", "Gout")
    assert isinstance(second, ContentError) and "row 1: text missing" in str(second)
    with pytest.raises(ContentError, match="cannot read the dataset"):
        list(read_corpus(f"hf:{tmp_path / 'none'}"))
