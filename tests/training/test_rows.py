import pytest

from healthgym.errors import ConfigError
from healthgym.training.rows import EpisodeRow, choose_tasks, plan_rows

TASKS = [f"d/f/train/{i:04d}" for i in range(5)]


def test_every_pass_meets_every_task_once():
    rows = plan_rows(TASKS, 12, seed=0)
    assert sorted(row.task_id for row in rows[:5]) == sorted(row.task_id for row in rows[5:10]) == TASKS
    assert [row.group for row in rows] == list(range(12))
    assert rows == plan_rows(TASKS, 12, seed=0) != plan_rows(TASKS, 12, seed=1)
    assert rows[:7] == plan_rows(TASKS, 12, seed=0)[:7]


def test_a_row_survives_the_trip_through_a_prompt():
    row = EpisodeRow("d|odd/f", 3, 99)
    assert EpisodeRow.from_prompt(row.to_prompt()) == row


def test_a_subset_is_drawn_by_the_seed():
    assert len(choose_tasks(TASKS, 3, seed=0)) == 3
    assert choose_tasks(TASKS, 0, seed=0) == choose_tasks(TASKS, 9, seed=0) == TASKS


def test_no_tasks_are_refused():
    with pytest.raises(ConfigError, match="no tasks"):
        plan_rows([], 3, seed=0)
