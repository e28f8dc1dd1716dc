from pathlib import Path

from healthgym.training.checkpoints import checkpoints, latest_checkpoint, publish, rotate, working_folder


def write(root: Path, step: int) -> None:
    folder = working_folder(root) / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / "weights").write_text(str(step))


def test_a_half_written_checkpoint_is_neither_found_nor_kept(tmp_path: Path):
    write(tmp_path, 5)
    assert latest_checkpoint(tmp_path) is None
    assert not working_folder(tmp_path).exists()


def test_published_checkpoints_are_ordered_by_step_and_rotated(tmp_path: Path):
    for step in (9, 10, 100):
        write(tmp_path, step)
        publish(tmp_path, f"checkpoint-{step}")
    (tmp_path / "checkpoint-best").mkdir()
    assert [path.name for path in checkpoints(tmp_path)] == ["checkpoint-9", "checkpoint-10", "checkpoint-100"]
    rotate(tmp_path, 2)
    assert [path.name for path in checkpoints(tmp_path)] == ["checkpoint-10", "checkpoint-100"]
    assert latest_checkpoint(tmp_path).name == "checkpoint-100"


def test_publishing_again_replaces(tmp_path: Path):
    for _ in range(2):
        write(tmp_path, 3)
        publish(tmp_path, "checkpoint-3")
    assert (tmp_path / "checkpoint-3" / "weights").read_text() == "3"
