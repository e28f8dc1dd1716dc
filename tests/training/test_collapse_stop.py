import sys
from pathlib import Path
from types import SimpleNamespace

from transformers import TrainerControl

sys.path.insert(0, str(Path(__file__).parents[1] / "diagnostics"))
from synthetic_runs import ramp, rows

from healthgym.training.collapse_stop import LOOK_EVERY, CollapseStop
from healthgym.training.run_folder import RunFolder


def watched(tmp_path: Path, num_iterations: int = 1, **bent) -> tuple[CollapseStop, int | None]:
    """Feed a synthetic run step by step; return the callback and the step at which it asked to stop."""
    folder = RunFolder(tmp_path)
    stop = CollapseStop(folder, {}, num_iterations=num_iterations)
    for row in rows(0, **bent):
        folder.append(row)
        control = TrainerControl()
        stop.on_log(SimpleNamespace(), SimpleNamespace(global_step=row["step"]), control)
        if control.should_training_stop:
            assert control.should_save
            return stop, row["step"]
    return stop, None


def test_a_collapsed_run_is_stopped_with_a_checkpoint_and_the_reason(tmp_path: Path):
    stop, step = watched(tmp_path, **{"completions/clipped_ratio": ramp(0.05, 0.95)})
    assert step is not None and step % LOOK_EVERY == 0 and step < 60
    assert "clipping" in stop.findings[0]


def test_a_healthy_run_goes_on(tmp_path: Path):
    assert watched(tmp_path)[1] is None


def test_no_run_is_stopped_between_two_passes_over_a_batch(tmp_path: Path):
    _, step = watched(tmp_path, num_iterations=4, **{"completions/clipped_ratio": ramp(0.05, 0.95)})
    assert step is not None and step % 4 == 0
