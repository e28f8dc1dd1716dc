"""Samples of corpora take turns between files and pass over rows that cannot be used."""

import json

import pytest

from healthgym.errors import ContentError
from healthgym.retrieval.sampling import sample_texts


def write(path, texts):
    path.write_text(
        "".join(json.dumps({"id": text, "title": "T", "text": text, "source": "s"}) + "\n" for text in texts)
    )


def test_texts_come_in_turn_from_every_file_until_there_are_enough(tmp_path):
    write(tmp_path / "a.jsonl", ["a1", "a2", "a3", "a4"])
    write(tmp_path / "b.jsonl", ["b1"])
    (tmp_path / "c.txt").write_text("Sepsis needs early antibiotics.")
    found = [text.removeprefix("T\n").split("\n")[-1] for text in sample_texts([tmp_path], 5)]
    # Turns: a1 b1 c, then a2 alone (b and c are spent), a3; a4 would be the sixth.
    assert [text[-2:] for text in found[:2]] == ["a1", "b1"]
    assert "antibiotics" in found[2]
    assert [text[-2:] for text in found[3:]] == ["a2", "a3"]


def test_rows_without_a_text_are_passed_over_and_a_missing_path_is_not(tmp_path):
    write(tmp_path / "a.jsonl", ["a1"])
    with (tmp_path / "a.jsonl").open("a") as stream:
        stream.write('{"id": "x"}\nno json\n')
    assert len(sample_texts([tmp_path / "a.jsonl"], 9)) == 1
    with pytest.raises(ContentError, match="no corpus"):
        sample_texts([tmp_path / "none"], 9)
