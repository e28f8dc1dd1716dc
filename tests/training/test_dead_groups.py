from pathlib import Path

from test_episode_trainer import build, settings

from healthgym.training.checkpoints import latest_checkpoint
from healthgym.training.dead_groups import DeadGroups


def test_dead_groups_are_found_once_after_as_many_steps_in_a_row():
    watch = DeadGroups(share=0.9, steps=3)
    shares = [1.0, 1.0, 0.5, 0.95, 0.9, 1.0, 1.0]
    found = [watch.observe(step, share, 0.1) for step, share in enumerate(shares, 1)]
    # The row begins again at step 4 and reaches three at step 6; step 7 says nothing new.
    assert [finding.step for finding in found if finding] == [6]
    assert "too hard" in watch.findings[0].message


def test_groups_that_are_dead_because_tasks_are_solved_get_another_remedy():
    watch = DeadGroups(share=0.9, steps=1)
    assert "take harder ones" in watch.observe(1, 1.0, 0.95).message


def test_the_count_survives_a_resume():
    first, second = DeadGroups(share=0.9, steps=2), DeadGroups(share=0.9, steps=2)
    first.observe(1, 1.0, 0.1)
    second.load_state_dict(first.state_dict())
    assert second.observe(2, 1.0, 0.1) is not None


def test_a_run_that_ended_for_dead_groups_ends_again_when_it_is_continued_and_they_still_are(tmp_path: Path):
    config = settings(steps=6, checkpoint={"every": 6})

    def start():
        trainer, _ = build(tmp_path, config, distilled=False)
        trainer.dead_groups, trainer.stops_when_dead = DeadGroups(share=0.0, steps=2), True  # any share counts as dead
        return trainer

    first, second = start(), start()
    first.train()
    assert first.state.global_step == 2
    second.train(resume_from_checkpoint=str(latest_checkpoint(tmp_path)))
    assert second.state.global_step == 3
