"""An index opens whole or not at all, and says what to do."""

import os
import random
import signal
import subprocess
import sys

import numpy as np
import pytest

from healthgym.errors import ConfigError, ContentError, MissingDependency, PassageIndexError
from healthgym.retrieval import (
    HashingEncoder,
    Passage,
    build_index,
    index_info,
    open_retriever,
    verify_index,
    write_passages,
)
from healthgym.retrieval.manifest import MANIFEST

pytest.importorskip("faiss")
pytest.importorskip("bm25s")


def data_files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")


def number(count, source="s"):
    rng = random.Random(7)
    words = [f"word{index}" for index in range(2000)]
    return [
        Passage(
            id=f"{source}-{row}",
            title=f"T{row}",
            text=" ".join(rng.choices(words, k=30)),
            source=source,
            licence="CC0-1.0",
        )
        for row in range(count)
    ]


def test_info_counts_what_was_built(built, facts):
    info = index_info(built)
    assert (info["passages"], info["encoder"], info["index"], info["checksum_ok"]) == (10, "hashing", "exact", True)
    assert info["bytes"] == sum(path.stat().st_size for path in data_files(built) if path.name != MANIFEST)
    assert info["sources"] == {"conditions": 7, "drugs": 3}


def test_every_passage_comes_back_by_id(built, facts):
    retriever = open_retriever(built)
    assert [retriever.passage(each.id) for each in facts] == facts


def test_files_and_folders_and_passages_build_together(facts, tmp_path):
    write_passages(facts[:4], tmp_path / "p.jsonl.gz")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "ward.md").write_text("# Ward rules\nWash your hands.")
    manifest = build_index(
        [tmp_path / "p.jsonl.gz", str(tmp_path / "texts"), facts[4:]], tmp_path / "out", HashingEncoder()
    )
    assert manifest.passages == 11
    hit = open_retriever(tmp_path / "out").search("wash hands", 1)[0]
    assert (hit.passage.source, hit.passage.title, hit.passage.licence) == ("texts", "Ward rules", "NOASSERTION")


def test_small_batches_build_the_same_index(facts, built, tmp_path):
    build_index([facts], tmp_path / "out", HashingEncoder(), batch_size=3)
    names = ("passages.jsonl", "dense.faiss", "ids.npy", "data.csc.index.npy")
    for name in names:
        one, other = (next(folder.rglob(name)).read_bytes() for folder in (built, tmp_path / "out"))
        assert one == other, name


def test_progress_tells_of_every_stage_up_to_the_end(facts, tmp_path):
    seen = []
    build_index([facts], tmp_path / "out", HashingEncoder(), batch_size=4, progress=lambda *step: seen.append(step))
    assert [step for step in seen if step[0] == "encode"] == [("encode", 4, 10), ("encode", 8, 10), ("encode", 10, 10)]
    assert [step[0] for step in seen if step[1] == 10] == ["read", "dedupe", "encode", "dense", "lexical", "check"]


@pytest.mark.parametrize("kind", ["exact", "hnsw"])
def test_the_nearest_passages_are_found_filtered_or_not(tmp_path, kind):
    encoder = HashingEncoder(64)
    passages = number(1500, "a") + number(500, "b")
    build_index([passages], tmp_path / "out", encoder, kind=kind)
    retriever = open_retriever(tmp_path / "out")
    vectors = encoder.encode([each.full_text for each in passages])
    queries = [each.text[:80] for each in passages[:40]]
    scores = encoder.encode(queries) @ vectors.T
    for sources, rows in ((None, range(2000)), (["b"], range(1500, 2000))):
        masked = np.full_like(scores, -1)
        masked[:, rows] = scores[:, rows]
        found = retriever.search_many(queries, 10, mode="dense", sources=sources)
        tenth = np.sort(masked, axis=1)[:, -10]
        good = [
            np.mean([scores[row, retriever.store.position(hit.id)] >= tenth[row] - 0.01 for hit in hits])
            for row, hits in enumerate(found)
        ]
        assert np.mean(good) > 0.97
        assert {len(hits) for hits in found} == {10}


def test_auto_takes_the_graph_from_20000_passages(monkeypatch, facts, tmp_path):
    monkeypatch.setattr("healthgym.retrieval.stages.EXACT_BELOW", 10)
    assert build_index([facts[:9]], tmp_path / "a", HashingEncoder()).index == "exact"
    assert build_index([facts], tmp_path / "b", HashingEncoder()).index == "hnsw"
    assert open_retriever(tmp_path / "b").search("gout", 1)[0].id == "gout"


def test_no_index_names_the_build_command(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(PassageIndexError, match="healthgym kb build --corpus"):
            open_retriever(folder)
        with pytest.raises(PassageIndexError, match="healthgym kb build"):
            index_info(folder)


def test_a_flipped_bit_in_the_list_of_repeats_is_noticed(facts, tmp_path):
    repeated = Passage(id="again", title=facts[0].title, text=facts[0].text, source="other", licence="CC0-1.0")
    build_index([[*facts, repeated]], tmp_path / "index", HashingEncoder(), duplicates="exact")
    path = next((tmp_path / "index").rglob("duplicates.jsonl"))
    whole = path.read_bytes()
    assert b'"again"' in whole
    for place in (0, whole.index(b"again"), len(whole) - 1):
        broken = bytearray(whole)
        broken[place] ^= 1
        path.write_bytes(broken)
        with pytest.raises(PassageIndexError, match=r"duplicates\.jsonl"):
            open_retriever(tmp_path / "index")
        assert verify_index(tmp_path / "index")["duplicates.jsonl"] != "ok"
        assert index_info(tmp_path / "index")["checksum_ok"] is False
    path.write_bytes(whole)
    assert set(verify_index(tmp_path / "index").values()) == {"ok"}


def test_a_changed_byte_anywhere_is_noticed(damaged):
    rng = random.Random(1)
    files = data_files(damaged)
    assert len(files) == 12
    for path in files:
        whole = path.read_bytes()
        for place in {0, len(whole) - 1, *(rng.randrange(len(whole)) for _ in range(5))}:
            broken = bytearray(whole)
            broken[place] ^= 1 << rng.randrange(8)
            path.write_bytes(broken)
            with pytest.raises(PassageIndexError, match=path.name):
                open_retriever(damaged)
            if path.name != MANIFEST:
                assert index_info(damaged)["checksum_ok"] is False
        path.write_bytes(whole)
    assert len(open_retriever(damaged).store) == 10


def test_a_file_cut_short_or_gone_is_noticed_without_reading_it(damaged):
    for path in data_files(damaged):
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        with pytest.raises(PassageIndexError, match="healthgym kb build"):
            open_retriever(damaged, verify=False)
        path.unlink()
        with pytest.raises(PassageIndexError, match="healthgym kb build"):
            open_retriever(damaged, verify=False)
        path.write_bytes(whole)


def test_another_encoder_is_refused_with_both_names(built):
    with pytest.raises(PassageIndexError, match=r"'hashing' .*'hashing-64' .*healthgym kb build") as caught:
        open_retriever(built, HashingEncoder(64))
    assert "--encoder hashing-64" in str(caught.value)
    assert open_retriever(built, "hashing").search("gout", 1)[0].id == "gout"


def test_two_passages_of_one_id_are_refused_by_name(facts, tmp_path):
    with pytest.raises(ContentError, match="two passages have the id 'gout'"):
        build_index([facts, [facts[-1]]], tmp_path / "out", HashingEncoder())
    with pytest.raises(PassageIndexError):
        open_retriever(tmp_path / "out")


def test_a_corpus_without_passages_is_refused(tmp_path):
    with pytest.raises(ContentError, match="no passage"):
        build_index([[]], tmp_path / "out", HashingEncoder())
    with pytest.raises(ConfigError, match="kind"):
        build_index([[]], tmp_path / "out", HashingEncoder(), kind="flat")


def test_foreign_folders_and_files_are_left_alone(facts, tmp_path):
    (tmp_path / "thesis.txt").write_text("do not touch")
    for out in (tmp_path, tmp_path / "thesis.txt"):
        with pytest.raises(PassageIndexError, match="folder"):
            build_index([facts], out, HashingEncoder())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_failed_build_leaves_the_old_index_in_place(facts, damaged):
    def broken():
        yield facts[0]
        raise OSError("disk gone")

    before = {path: path.read_bytes() for path in data_files(damaged)}
    with pytest.raises(OSError, match="disk gone"):
        build_index([broken()], damaged, HashingEncoder())
    assert {path: path.read_bytes() for path in data_files(damaged)} == before


def test_an_open_retriever_outlives_the_index_it_opened(facts, damaged):
    retriever = open_retriever(damaged)
    build_index([facts[:3]], damaged, HashingEncoder())
    assert retriever.search("acute gout", 1)[0].id == "gout"
    assert len(open_retriever(damaged).store) == 3
    assert len(list(damaged.glob("data-*"))) == 1


SLOW_BUILD = """
import sys, time
from healthgym.retrieval import HashingEncoder, Passage, build_index
rows = [Passage(id=str(i), title="t", text=f"text {i}", source="s", licence="CC0-1.0") for i in range(64)]
def progress(stage, done, total):
    if stage == sys.argv[2] and done >= 16:
        print("there", flush=True)
        time.sleep(60)
build_index([rows], sys.argv[1], HashingEncoder(64), batch_size=16, progress=progress)
"""


@pytest.mark.parametrize("stage", ["read", "encode", "lexical", "check"])
def test_a_killed_build_never_opens_and_the_next_build_clears_it_away(facts, tmp_path, stage):
    out = tmp_path / "index"
    process = subprocess.Popen([sys.executable, "-c", SLOW_BUILD, str(out), stage], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "there\n"
    with pytest.raises(PassageIndexError, match="another build is writing"):
        build_index([facts], out, HashingEncoder())
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert list(out.glob(".building-*"))
    with pytest.raises(PassageIndexError, match="never finished"):
        open_retriever(out)
    build_index([facts], out, HashingEncoder())
    assert open_retriever(out).search("acute gout", 1)[0].id == "gout"
    assert not list(out.glob(".building-*"))


def test_a_build_killed_over_an_old_index_leaves_the_old_one(damaged):
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_BUILD, str(damaged), "encode"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "there\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert len(open_retriever(damaged).store) == 10


@pytest.mark.parametrize("module", ["faiss", "bm25s"])
def test_a_missing_library_names_the_extra(monkeypatch, facts, built, tmp_path, module):
    monkeypatch.setitem(sys.modules, module, None)
    for act in (lambda: open_retriever(built), lambda: build_index([facts], tmp_path / "out", HashingEncoder())):
        with pytest.raises(MissingDependency, match=r"healthgym\[kb\]"):
            act()


def test_a_file_is_no_index_and_a_folder_that_cannot_be_made_is_named(facts, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(PassageIndexError, match="is a file, not the folder of an index"):
        open_retriever(tmp_path / "notes.txt")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "else")
    for out, reason in (("notes.txt/index", "Not a directory"), ("dangling", "File exists")):
        with pytest.raises(PassageIndexError, match=f"cannot write to .*{reason}"):
            build_index([facts], tmp_path / out)
    assert (tmp_path / "notes.txt").read_text() == "mine"
