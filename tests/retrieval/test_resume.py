"""A build that was killed goes on where it stood and makes the same index."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from healthgym.errors import ContentError, PassageIndexError
from healthgym.retrieval import HashingEncoder, build_index, index_info, open_retriever, verify_index
from healthgym.retrieval.journal import Journal
from healthgym.retrieval.manifest import read_manifest

pytest.importorskip("faiss")
pytest.importorskip("bm25s")

KILLED_BUILDS = """
import os, signal, sys
from healthgym.retrieval import HashingEncoder, build_index
from healthgym.retrieval import workshop

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def build(out, stage):
    def progress(now, done, total):
        if now == stage and done >= 24:
            die()
    if stage == "publish":
        workshop.sync = lambda path: die() if path.name == ".manifest.json" else None
    build_index(sys.argv[2:], out, HashingEncoder(64), batch_size=12, duplicates="near", progress=progress)

for stage in ("read", "dedupe", "encode", "dense", "lexical", "check", "publish"):
    child = os.fork()
    if not child:
        build(f"{sys.argv[1]}/{stage}", stage)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL, stage
"""
STAGES = ("read", "dedupe", "encode", "dense", "lexical", "check", "publish")


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Two passage files with a repeat and a folder of texts: 40 passages, 39 of them new."""
    folder = tmp_path_factory.mktemp("corpora")
    rows = [
        {"id": str(n), "title": f"T{n}", "text": f"text {n} on fever", "source": "s", "licence": "CC0-1.0"}
        for n in range(36)
    ]
    rows[30] = {**rows[3], "id": "again"}
    for name, part in (("a.jsonl", rows[:20]), ("b.jsonl", rows[20:])):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in part))
    (folder / "texts").mkdir()
    for n in range(4):
        (folder / "texts" / f"{n}.md").write_text(f"# Note {n}\nAbout cough {n}.\n")
    return [str(folder / name) for name in ("a.jsonl", "b.jsonl", "texts")]


@pytest.fixture(scope="module")
def unkilled(corpora, tmp_path_factory):
    return build(corpora, tmp_path_factory.mktemp("whole") / "index")


@pytest.fixture(scope="module")
def killed(corpora, tmp_path_factory):
    """Folder with what builds left that were killed in each stage."""
    folder = tmp_path_factory.mktemp("killed")
    subprocess.run([sys.executable, "-c", KILLED_BUILDS, str(folder), *corpora], check=True)
    return folder


def build(corpora, out, **options):
    return build_index(corpora, out, HashingEncoder(64), **{"batch_size": 12, "duplicates": "near", **options})


@pytest.mark.parametrize("stage", STAGES)
def test_a_build_killed_in_any_stage_never_opens_and_goes_on_to_the_same_index(
    killed, unkilled, corpora, tmp_path, stage
):
    out = shutil.copytree(killed / stage, tmp_path / "index")
    with pytest.raises(PassageIndexError, match="never finished"):
        open_retriever(out)
    seen, notes = [], []
    manifest = build(corpora, out, progress=lambda *step: seen.append(step), notice=notes.append)
    assert manifest.files == unkilled.files
    assert manifest.parameters == unkilled.parameters
    assert (manifest.sources, manifest.licences, manifest.passages) == (unkilled.sources, unkilled.licences, 39)
    assert any("goes on at stage" in note for note in notes)
    stages = [name for name, _, _ in seen]
    if stage == "read":
        assert seen[0] == ("read", 36, None)  # 12 and 24 were read before the kill
    elif stage == "encode":
        assert seen[0] == ("encode", 36, 39)
    else:
        assert "read" not in stages
    assert set(verify_index(out).values()) == {"ok"}
    assert [path.name for path in out.iterdir() if path.name.startswith(".building")] == []
    assert len(list(out.glob("data-*"))) == 1


def test_other_arguments_or_a_changed_file_start_afresh_and_say_so(killed, corpora, tmp_path):
    for change in ("batch", "file"):
        out = shutil.copytree(killed / "encode", tmp_path / change)
        names, options = corpora, {}
        if change == "batch":
            options = {"source": "other"}
        else:
            written = Path(corpora[0]).stat()
            os.utime(corpora[0], ns=(1, 1))
        seen, notes = [], []
        build(names, out, progress=lambda *step, seen=seen: seen.append(step), notice=notes.append, **options)
        assert seen[0] == ("read", 12, None)
        assert any("cleared away" in note for note in notes) and not any("goes on" in note for note in notes)
    os.utime(corpora[0], ns=(written.st_atime_ns, written.st_mtime_ns))  # others go on with the same file


def test_a_damaged_journal_starts_afresh(killed, unkilled, corpora, tmp_path):
    original = Path(corpora[0]).stat()
    out = tmp_path / "index"
    with pytest.raises(KeyboardInterrupt):
        build(corpora, out, progress=interrupt("encode"))
    journal = next(out.glob(".building-*/journal.json"))
    journal.write_text(journal.read_text().replace('"encoded": 12', '"encoded": 24'))
    assert build(corpora, out).files == unkilled.files
    assert Path(corpora[0]).stat().st_size == original.st_size


@pytest.mark.parametrize(
    ("stage", "name"),
    [("dedupe", "read.jsonl"), ("dedupe", "signatures"), ("encode", "data/passages.jsonl"), ("dense", "vectors.f32")],
)
def test_a_file_shorter_than_the_journal_says_never_replaces_an_index(killed, unkilled, corpora, tmp_path, stage, name):
    out = shutil.copytree(killed / stage, tmp_path / "index")
    file = next(out.glob(".building-*")) / name
    os.truncate(file, file.stat().st_size // 2)  # as a power cut may leave it
    with pytest.raises(PassageIndexError, match="damaged and was removed; build once more"):
        build(corpora, out)
    assert not (out / "manifest.json").exists() and build(corpora, out).files == unkilled.files


def test_what_counts_as_a_row_of_a_text_is_part_of_what_a_build_goes_on_with(
    killed, unkilled, corpora, tmp_path, monkeypatch
):
    out = shutil.copytree(killed / "encode", tmp_path / "index")
    monkeypatch.setattr("healthgym.retrieval.corpora.PIECE", 1)
    seen = []
    assert build(corpora, out, progress=lambda *step: seen.append(step)).files == unkilled.files
    assert seen[0] == ("read", 12, None)


def interrupt(at):
    def progress(stage, done, total):
        if stage == at:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_build_goes_on(corpora, unkilled, tmp_path):
    out, notes = tmp_path / "index", []
    for stage in ("read", "encode", "lexical"):
        with pytest.raises(KeyboardInterrupt):
            build(corpora, out, progress=interrupt(stage))
    assert build(corpora, out, notice=notes.append).files == unkilled.files
    assert "39 encoded" in notes[0]


@pytest.mark.parametrize(
    ("number", "told"), [(errno.ENOSPC, "disk of .* is full"), (errno.EFBIG, r"largest size allowed.*ulimit -f")]
)
def test_a_full_disk_is_named_and_the_build_goes_on_once_there_is_space(
    monkeypatch, corpora, unkilled, tmp_path, number, told
):
    out = tmp_path / "index"
    save = Journal.save

    def full(self, folder):
        if self.encoded >= 24:
            raise OSError(number, os.strerror(number))
        save(self, folder)

    monkeypatch.setattr(Journal, "save", full)
    with pytest.raises(PassageIndexError, match=f"{told}.*same command goes on"):
        build(corpora, out)
    with pytest.raises(PassageIndexError, match="never finished"):
        index_info(out)
    monkeypatch.setattr(Journal, "save", save)
    notes = []
    assert build(corpora, out, notice=notes.append).files == unkilled.files
    assert "12 encoded" in notes[0]


def test_passages_from_memory_leave_nothing_behind(facts, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        build([facts], tmp_path / "index", progress=interrupt("encode"))
    assert [path.name for path in (tmp_path / "index").iterdir()] == [".lock"]


def test_after_an_error_in_a_corpus_nothing_is_left_behind(corpora, tmp_path):
    (tmp_path / "bad.jsonl").write_text("{}\n")
    with pytest.raises(ContentError, match=r"bad\.jsonl:1"):
        build([*corpora, tmp_path / "bad.jsonl"], tmp_path / "index")
    assert [path.name for path in (tmp_path / "index").iterdir()] == [".lock"]


def test_skipped_rows_are_counted_once_across_a_kill(corpora, tmp_path):
    rows = Path(corpora[0]).read_text().splitlines()
    (tmp_path / "holes.jsonl").write_text("\n".join(line for row in rows for line in (row, "{broken")))
    options = {"skip_bad": True, "batch_size": 6}
    with pytest.raises(KeyboardInterrupt):
        build([tmp_path / "holes.jsonl"], tmp_path / "index", progress=interrupt("read"), **options)
    manifest = build([tmp_path / "holes.jsonl"], tmp_path / "index", **options)
    assert (manifest.passages, manifest.parameters["skipped_rows"]) == (20, 20)
    assert read_manifest(tmp_path / "index") == manifest


@pytest.mark.slow
def test_a_really_full_disk_is_named(corpora, tmp_path):
    """On a file system of 300 kB of its own, mounted in a name space of its own."""
    command = f"{sys.executable} -c 'from healthgym.cli.main import main; main()'"
    mount = f"mount -t tmpfs -o size=300k tmpfs {tmp_path}"
    script = f"{mount} && exec {command} kb build -e hashing --out {tmp_path}/index"
    probe = subprocess.run(["unshare", "-m", "true"], capture_output=True)
    if probe.returncode:
        pytest.skip("needs the right to mount")
    ran = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
    assert ran.returncode == 2 and "is full" in ran.stderr, ran.stderr
