"""Files and folders appear whole, and seeds depend on nothing but their parts."""

import os
import shutil
from pathlib import Path

import pytest

from healthgym import locks
from healthgym.files import copy_whole, read_json, write_whole
from healthgym.locks import Held, release_lock, take_lock
from healthgym.seeds import mix_seed


def test_a_file_that_could_not_be_renamed_leaves_the_old_one_whole(tmp_path, monkeypatch):
    file = write_whole(tmp_path / "note.json", "old")

    def killed(self, target):
        raise OSError("killed")

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(OSError, match="killed"):
        write_whole(file, "new")
    assert file.read_text() == "old"


def test_a_copy_cut_short_has_no_name_and_is_made_anew(tmp_path, monkeypatch):
    source, target = tmp_path / "model", tmp_path / "start"
    source.mkdir()
    for name in ("a", "b"):
        (source / name).write_text(name)
    whole = shutil.copytree

    def cut_short(source, aside):
        aside.mkdir()
        (aside / "half").write_text("")
        raise OSError("killed")

    monkeypatch.setattr(shutil, "copytree", cut_short)
    with pytest.raises(OSError, match="killed"):
        copy_whole(source, target)
    assert not target.exists()
    monkeypatch.setattr(shutil, "copytree", whole)
    assert sorted(path.name for path in copy_whole(source, target).iterdir()) == ["a", "b"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "start"]


def test_a_shorter_seed_is_the_head_of_the_longer_one():
    # 63 bits and 31 bits of one digest differ by 32 bits at the end.
    assert mix_seed("train", 7, bits=31) == mix_seed("train", 7) >> 32
    assert mix_seed("train", 7) != mix_seed(7, "train")


def test_two_processes_may_write_one_file_at_once(tmp_path):
    file, children = tmp_path / "report.html", []
    for name in ("a", "b"):
        child = os.fork()
        if child == 0:
            try:
                for _ in range(100):
                    write_whole(file, name * 10_000)
            except OSError:
                os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
    assert file.read_text() in ("a" * 10_000, "b" * 10_000)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_what_is_no_text_is_written_as_its_escape_and_a_failure_leaves_nothing_beside(tmp_path):
    assert write_whole(tmp_path / "a.json", '"x\ud800"').read_text() == '"x\\ud800"'
    (tmp_path / "b").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "b", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b"]


def test_json_that_cannot_be_parsed_is_a_value_error_however_deep(tmp_path):
    for text in ("{", "[" * 100_000, b"\xff", "1" * 5_000):
        with pytest.raises(ValueError):
            read_json(text)


def test_a_lock_whose_folder_was_moved_away_is_not_taken_for_the_new_one(tmp_path, monkeypatch):
    folder = tmp_path / "out"
    folder.mkdir()
    lock, locked = take_lock(folder / "eval.lock"), locks._locked

    def moved(file, *, after=0.0):
        if after:  # the other process moves the folder and lets go while this one waits
            folder.rename(tmp_path / "out.old-1")
            folder.mkdir()
            release_lock(lock)
        return locked(file, after=0.0)

    monkeypatch.setattr(locks, "_locked", moved)
    with pytest.raises(Held):
        take_lock(folder / "eval.lock")
