from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_episode_trainer import build, settings
from tiny import make_rows, make_trajectory
from transformers import TrainerCallback

from healthgym.errors import ConfigError
from healthgym.training.assembly import make_curriculum
from healthgym.training.checkpoints import latest_checkpoint
from healthgym.training.config import Curriculum
from healthgym.training.curriculum import TaskChooser
from healthgym.training.loading import make_config
from healthgym.training.rows import EpisodeRow

EASY, MEDIUM, HARD = (f"a/{level}/train" for level in ("easy", "medium", "hard"))
IDS = [f"{family}/{i}" for family in (EASY, MEDIUM, HARD) for i in range(20)] + ["b/easy/train/0", "b/easy/train/1"]
TOOLS = {0: ("look", "submit"), 1: ("measure", "submit")}


def task_of(task_id: str) -> Any:
    domain, level, _, number = task_id.split("/")
    solution = tuple(SimpleNamespace(tool=tool) for tool in TOOLS[int(number) % 2])
    return SimpleNamespace(domain=domain, difficulty=level, solution=solution)


def chooser(**changes: Any) -> TaskChooser:
    return TaskChooser(IDS, task_of, Curriculum(smoothing=0.0, **changes), seed=3)


def chosen(made: TaskChooser, count: int = 400) -> list[str]:
    return [made.choose(EpisodeRow("plan", group, group)).task_id for group in range(count)]


def episode(level: str, success: bool, tools: tuple[str, ...] = ("look",)):
    made = make_trajectory(make_rows(1)[0], [1], [2], [1], [0.0], [], float(success), [])
    return replace(made, difficulty=level, domain="a", tool_calls=tools)


def test_levels_open_one_after_another_as_success_comes():
    made = chooser(difficulty=True, unlock_success=0.5)
    assert made.open_levels == ["easy"]
    assert {task_of(task_id).difficulty for task_id in chosen(made, 60)} == {"easy"}
    made.observe([episode("easy", True), episode("easy", False)])  # 0.5
    assert made.open_levels == ["easy", "medium"]
    metrics = made.observe([episode("medium", True)])
    assert metrics["curriculum/open_levels"] == 3 and metrics["curriculum/success/medium"] == 1.0
    assert {task_of(task_id).difficulty for task_id in chosen(made, 200)} == {"easy", "medium", "hard"}


def test_levels_that_alternate_in_the_list_are_all_found():
    # Of 128 tasks every second is looked at: at regular distances those would all be easy.
    ids = [f"a/{'easy' if i % 2 == 0 else 'hard'}/train/{i}" for i in range(128)]
    made = TaskChooser(ids, alternating, Curriculum(difficulty=True), seed=0)
    assert made.levels == ["easy", "hard"]


def test_a_level_too_rare_to_be_noticed_is_practised_once_the_others_are_open():
    ids = [f"a/{'easy' if i % 2 == 0 else 'medium'}/train/{i}" for i in range(1280)]
    for rare in (5, 505):
        ids[rare] = f"a/hard/train/{rare}"
    made = TaskChooser(ids, alternating, Curriculum(difficulty=True, smoothing=0.0, unlock_success=0.5), seed=0)
    assert made.levels == ["easy", "medium"]
    assert "hard" not in {alternating(one).difficulty for one in chosen(made, 300)}
    made.observe([episode("easy", True)])
    # 2 of 1,280 tasks: even at their plain share 4.7 are expected among 3,000.
    assert "hard" in {alternating(one).difficulty for one in chosen(made, 3000)}


def alternating(task_id: str) -> Any:
    domain, level, _, _ = task_id.split("/")
    return SimpleNamespace(domain=domain, difficulty=level, solution=(SimpleNamespace(tool="submit"),))


def test_a_solved_level_is_practised_less_than_one_in_reach():
    made = chooser(difficulty=True, unlock_success=0.5)
    made.observe([episode("easy", True), episode("medium", False), episode("medium", True)])
    levels = Counter(task_of(task_id).difficulty for task_id in chosen(made))
    # Weights: easy 0.05 (solved), medium 0.25, hard 0.25 (not met yet), with 22, 20 and 20 tasks: 10 % easy.
    assert levels["easy"] < 80 and 120 < levels["medium"] < 240 and 120 < levels["hard"] < 240


def test_balanced_domains_are_met_alike_whatever_their_size():
    natural = Counter(task_id[0] for task_id in chosen(chooser(tools=True)))
    balanced = Counter(task_id[0] for task_id in chosen(chooser(domains="balanced")))
    assert natural["b"] < 40  # 2 of 62 tasks
    assert 150 < balanced["b"] < 250


def test_tasks_whose_tools_were_rarely_called_come_first():
    made = chooser(tools=True)
    made.observe([episode("easy", True, ("look",) * 9 + ("measure",) + ("submit",) * 9)])
    rare = sum(int(task_id.rsplit("/", 1)[1]) % 2 for task_id in chosen(made) if task_id[0] == "a")
    assert rare > 280  # weights 1 - 0.9 / 9 = 0.9 against 0.1: nine tenths
    evenly = sum(int(task_id.rsplit("/", 1)[1]) % 2 for task_id in chosen(chooser(tools=True)) if task_id[0] == "a")
    assert 150 < evenly < 250


def test_attempts_of_a_group_share_their_task_on_every_process_and_after_a_resume():
    first, second = chooser(difficulty=True, tools=True), chooser(difficulty=True, tools=True)
    first.observe([episode("easy", True)])
    second.load_state_dict(first.state_dict())
    assert chosen(first, 50) == chosen(second, 50)
    row = EpisodeRow("plan", 7, 11)
    assert first.choose(row) == first.choose(row) and first.choose(row).seed == 11


def test_rows_without_a_wanted_task_are_counted_on_all_processes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("healthgym.training.totals.gather_object", lambda own: own * 2)  # as if another did the same
    made = chooser(difficulty=True)
    made.counts["unsuited"] += 3
    assert made.observe([episode("easy", True)])["curriculum/unsuited"] == 6
    again = chooser(difficulty=True)
    again.load_state_dict(made.state_dict())
    assert again.observe([episode("easy", True)])["curriculum/unsuited"] == 6


def test_progress_is_smoothed():
    made = TaskChooser(IDS, task_of, Curriculum(difficulty=True, smoothing=0.5), seed=0)
    made.observe([episode("easy", False)])
    made.observe([episode("easy", True)])
    assert made.progress.success["easy"] == 0.5


@pytest.mark.parametrize(
    ("ids", "changes", "words"),
    [
        (IDS, {}, "chooses by nothing"),
        (IDS[:20], {"difficulty": True}, "one level"),
        (IDS[:20], {"domains": "balanced"}, "one domain"),
        (IDS[:20:2], {"tools": True}, "same tools"),
    ],
)
def test_a_curriculum_that_could_do_nothing_is_refused(ids: list[str], changes: dict[str, Any], words: str):
    with pytest.raises(ConfigError, match=words):
        TaskChooser(ids, task_of, Curriculum(**changes), seed=0)


def test_a_killed_run_continues_with_the_tasks_the_whole_one_meets(tmp_path: Path):
    config = settings(steps=4, checkpoint={"every": 2, "keep": 9})

    def start(folder: Path):
        trainer, _ = build(folder, config, distilled=False)
        trainer.curriculum = chooser(difficulty=True, tools=True, unlock_success=0.01)
        met: list[str] = []
        play = trainer.collect

        def collect(rows, step):
            met.extend(row.task_id for row in rows)
            return [replace(one, difficulty=task_of(one.task_id).difficulty, domain="a") for one in play(rows, step)]

        trainer.collect = collect
        return trainer, met

    class Kill(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.global_step == 3:
                raise KeyboardInterrupt

    whole, expected = start(tmp_path / "whole")
    whole.train()
    killed, first = start(tmp_path / "killed")
    killed.add_callback(Kill())
    with pytest.raises(KeyboardInterrupt):
        killed.train()
    resumed, rest = start(tmp_path / "killed")
    resumed.train(resume_from_checkpoint=str(latest_checkpoint(tmp_path / "killed")))
    assert first[: len(expected) // 2] + rest == expected
    assert all(task_id in IDS for task_id in expected)
    # Four attempts of each group at the same task.
    assert all(len(set(expected[i : i + 4])) == 1 for i in range(0, len(expected), 4))


def test_a_recipe_with_a_curriculum_gets_one():
    suite: Any = SimpleNamespace(case=lambda task_id: SimpleNamespace(task=task_of(task_id)))
    config = make_config({"preset": "grpo", "model": {"tiny": {}}, "env": {"curriculum": {"difficulty": True}}})
    made = make_curriculum(config, IDS, suite)
    assert made is not None and made.choose(EpisodeRow("plan", 0, 0)).task_id in IDS
    assert make_curriculum(make_config({"preset": "grpo", "model": {"tiny": {}}}), IDS, suite) is None
