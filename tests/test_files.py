"""Files and folders appear whole, and seeds depend on nothing but their parts."""

import shutil
from pathlib import Path

import pytest

from healthgym.files import copy_whole, write_whole
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
