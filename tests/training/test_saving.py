"""A full disk costs the checkpoint at hand and nothing else."""

import errno
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from test_episode_trainer import build, settings, weights

from healthgym.errors import ConfigError
from healthgym.training.checkpoints import checkpoints, latest_checkpoint, working_folder
from healthgym.training.saving import SaveError, check_finite, whole_or_nothing


def continues_from(folder: Path, expected: str) -> None:
    found = latest_checkpoint(folder)
    assert found is not None and found.name == expected
    resumed, log = build(folder, settings(steps=3, checkpoint={"every": 1, "keep": 9}))
    resumed.train(resume_from_checkpoint=str(found))
    assert len(log.rows) == 3 - int(expected.removeprefix("checkpoint-"))


@pytest.mark.parametrize("hidden", [False, True])
def test_a_checkpoint_that_does_not_fit_leaves_the_earlier_ones_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: bool
):
    save = torch.save

    def full(value: Any, target: Any, *args: Any, **kwargs: Any) -> None:
        if "checkpoint-2" in str(target) and str(target).endswith("healthgym.pt"):
            Path(target).write_bytes(b"half")
            raise (
                RuntimeError("[enforce fail at inline_container.cc:664] . unexpected pos 64 vs 0")
                if hidden  # as torch's own writer puts it
                else OSError(errno.ENOSPC, "No space left on device")
            )
        save(value, target, *args, **kwargs)

    monkeypatch.setattr(torch, "save", full)
    trainer, _ = build(tmp_path, settings(steps=3, checkpoint={"every": 1, "keep": 9}))
    with pytest.raises(
        SaveError, match=r"checkpoint-2 could not be written .*Whole are checkpoint-1: the same command"
    ):
        trainer.train()
    assert not working_folder(tmp_path).exists()
    monkeypatch.setattr(torch, "save", save)
    continues_from(tmp_path, "checkpoint-1")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB, where this process may make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    done = mount and subprocess.run([mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True)
    if not done or done.returncode:
        pytest.skip("making a small file system needs the rights to mount one")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_disk_that_really_fills_up_is_explained(small_disk: Path, tmp_path: Path):
    config = settings(steps=9, checkpoint={"every": 1, "keep": 9})
    trainer, _ = build(small_disk, config)
    with pytest.raises(SaveError, match="could not be written"):
        trainer.train()
    whole = checkpoints(small_disk)
    assert 1 <= len(whole) < 9 and not working_folder(small_disk).exists()
    shutil.copytree(whole[-1], tmp_path / "roomy" / whole[-1].name)
    steps = len(whole) + 1
    resumed, log = build(tmp_path / "roomy", settings(steps=steps, checkpoint={"every": 1}))
    resumed.train(resume_from_checkpoint=str(tmp_path / "roomy" / whole[-1].name))
    assert len(log.rows) == 1 and trainer.state.global_step == steps
    assert all(torch.equal(tensor, weights(trainer)[name]) for name, tensor in weights(resumed).items())


def test_errors_that_are_no_matter_of_saving_pass(tmp_path: Path):
    with pytest.raises(RuntimeError, match="our bug"), whole_or_nothing(tmp_path / ".writing", "checkpoint-1"):
        raise RuntimeError("our bug")


def test_weights_that_are_not_numbers_are_not_saved(tmp_path: Path):
    trainer, _ = build(tmp_path, settings(steps=1))
    check_finite(trainer.model, "checkpoint-1")
    with torch.no_grad():
        next(trainer.model.parameters())[0] = torch.nan
    with pytest.raises(ConfigError, match=r"checkpoint-1 was not saved: .*embed_tokens"):
        check_finite(trainer.model, "checkpoint-1")
