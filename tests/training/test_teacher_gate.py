from pathlib import Path

import pytest
from fever import plain_source
from test_distill_step import make, one_step
from test_run import config, domain  # noqa: F401

from healthgym.errors import ConfigError
from healthgym.training.run import train
from healthgym.training.teacher_gate import TeacherGate


def test_validation_opens_the_gate_until_the_next_evaluation():
    gate = TeacherGate("validation_improves")
    passes = []
    for step in range(1, 9):
        passes.append(gate.lets_pass(None))
        if step % 2 == 0:
            gate.note_validation({2: 0.2, 4: 0.5, 6: 0.5, 8: 0.6}[step])
    # Shut before the first evaluation; open after 0.2 and 0.5; 0.5 again is no better than the best.
    assert passes == [False, False, True, True, True, True, False, False]
    assert (gate.shut, gate.best) == (4, 0.6)


def test_a_worse_evaluation_does_not_lower_the_best():
    gate = TeacherGate("validation_improves")
    for success, is_open in ((0.5, True), (0.3, False), (0.4, False), (0.6, True)):
        gate.note_validation(success)
        assert gate.lets_pass(None) is is_open


def test_the_divergence_shuts_only_its_own_gate():
    assert not TeacherGate("kl_below", kl_high=0.7).lets_pass(0.8)
    assert TeacherGate("kl_below", kl_high=0.7).lets_pass(0.6)
    assert TeacherGate("always", kl_high=0.7).lets_pass(0.8)
    with pytest.raises(ValueError, match="validation_improves"):
        TeacherGate("sometimes")


def test_a_resumed_gate_is_as_it_was_left():
    gate = TeacherGate("validation_improves")
    gate.note_validation(0.4)
    again = TeacherGate("validation_improves")
    again.load_state_dict(gate.state_dict())
    assert again.lets_pass(None) and again.best == 0.4


def test_a_teacher_that_waits_for_validation_moves_only_after_it():
    step = make(0.2, gate=TeacherGate("validation_improves"))
    assert one_step(step, 1)["tt_opd/teacher_updates"] == 0
    step.gate.note_validation(0.4)
    metrics = one_step(step, 2)
    assert (metrics["tt_opd/teacher_updates"], metrics["tt_opd/teacher_paused"]) == (1, 1)
    assert metrics["tt_opd/validation_best"] == 0.4


def test_a_run_moves_its_teacher_by_its_own_evaluations(domain: str, tmp_path: Path):  # noqa: F811
    settings = config(
        domain, teacher={"update_every": 1, "ema_decay": 0.9, "update_when": "validation_improves"}, eval={"every": 1},
        optim={"steps": 4, "tasks_per_step": 1, "num_generations": 2}, warm_start=None,
    )  # fmt: skip
    success = {1: 0.1, 2: 0.3, 3: 0.2, 4: 0.2}
    rows = []
    train(
        settings, run_dir=tmp_path, make_source=plain_source, on_step=lambda step, row: rows.append(row),
        evaluate=lambda model, tokenizer, step: {"eval/success": success[step]},
    )  # fmt: skip
    # The first step has no evaluation before it; 0.1 and 0.3 were the best so far; 0.2 was not.
    assert [row["tt_opd/teacher_updates"] for row in rows] == [0, 1, 2, 2]
    with pytest.raises(ConfigError, match="given none"):
        train(settings, run_dir=tmp_path / "other", make_source=plain_source)
