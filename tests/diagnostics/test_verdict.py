"""Each known collapse trips its detector; a healthy, noisy run trips none."""

import json

import pytest
from synthetic_runs import STEPS, ramp, rows

from healthgym.diagnostics import append_metrics, verdict
from healthgym.diagnostics.run import Run, RunFolderError

TOOLS_GONE = {
    "episode/tool_calls": ramp(0.76, 0.02),
    "episode/turns": ramp(2.4, 1.1),
    "episode/single_turn_share": ramp(0.2, 0.92),
}
CHANCE = ramp(0.14, 0.14)
COLLAPSES = {
    # reward rises while the agent stops looking and guesses in one turn
    "guess": ({**TOOLS_GONE, "reward": ramp(0.2, 0.53), "episode/success": CHANCE}, {"tool_use_collapse", "single_turn"}),
    "length": (
        {"completions/mean_length": ramp(84, 193), "episode/tool_calls": ramp(0.78, 0.1), "group/dead_share": ramp(0.3, 0.84), "episode/success": ramp(0.3, 0.1)},
        {"length_explosion", "tool_use_collapse"},
    ),
    "cosine": (
        {"completions/mean_length": ramp(84, 6), "episode/tool_calls": ramp(0.78, 0.0), "episode/success": ramp(0.2, 0.0)},
        {"length_shrinking", "tool_use_collapse"},
    ),
    "rate": (
        {"completions/mean_length": ramp(84, 210), "group/dead_share": ramp(0.3, 0.97), "episode/success": ramp(0.3, 0.02)},
        {"length_explosion", "dead_groups", "success_lost"},
    ),
    "clipped": ({"completions/clipped_ratio": ramp(0.05, 0.92)}, {"clipping"}),
    "turns": ({"episode/turns": ramp(6.0, 1.6), "episode/tool_calls": ramp(6.0, 2.0), "episode/success": ramp(0.4, 0.4)}, {"turn_collapse"}),
    "repetition": ({"episode/repetition": ramp(0.08, 0.75)}, {"degenerate_text"}),
    "foreign text": ({"episode/degenerate": ramp(0.0, 0.5)}, {"degenerate_text"}),
    # KL 0.3, then 0.7, then 1.5; the teacher follows, so its distance stays flat
    "absorbing": ({"tt_opd/kl": lambda p: 0.3 if p < 0.8 else 0.3 + 6.0 * (p - 0.8), "tt_opd/teacher_distance": ramp(0.05, 0.05)}, {"absorbing_teacher"}),
    "runaway": ({"tt_opd/kl": lambda p: 0.3 if p < 0.8 else 0.3 + 6.0 * (p - 0.8), "tt_opd/teacher_distance": lambda p: 0.01 + p**4}, {"runaway_divergence"}),
    "success lost": ({"episode/success": lambda p: 0.7 if p < 0.6 else 0.05}, {"success_lost"}),
}  # fmt: skip
WARNINGS = {
    "stale teacher": ({"tt_opd/teacher_age": lambda p: 200 * p, "tt_opd/teacher_distance": ramp(0.0, 0.6), "tt_opd/lambda": ramp(0.5, 0.5)}, "stale_teacher"),
    "anchored teacher": ({"tt_opd/teacher_share": ramp(0.02, 0.1), "tt_opd/lambda": ramp(1.0, 1.0)}, "anchored_teacher"),
    "leaking hints": ({"tt_opd/kl_correct": ramp(0.02, 0.31)}, "leaking_hints"),
    "gradients": ({"tt_opd/grad_norm_distillation": ramp(4.0, 5.0)}, "gradient_imbalance"),
    "lost episodes": ({"group/gradeable_share": lambda p: 0.9 if p > 0.5 else 1.0}, "ungraded_episodes"),
}  # fmt: skip


@pytest.mark.parametrize("name", COLLAPSES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_known_collapse_trips_its_detectors(write_run, name, seed):
    bent, expected = COLLAPSES[name]
    found = verdict(write_run(rows(seed, **bent)))
    tripped = {finding.name for finding in found.findings}
    assert expected <= tripped, f"{name}: {sorted(tripped)}"
    assert found.status == "collapsed" and found.exit_code == 3
    assert all(finding.message and finding.remedy for finding in found.findings)


@pytest.mark.parametrize("name", WARNINGS)
def test_what_is_not_fatal_is_a_warning(write_run, name):
    bent, expected = WARNINGS[name]
    found = verdict(write_run(rows(0, **bent)))
    assert expected in {finding.name for finding in found.findings}
    assert found.status == "warning" and found.exit_code == 0


def test_two_hundred_healthy_noisy_runs_trip_nothing(tmp_path):
    for seed in range(200):
        found = verdict(Run(path=tmp_path, rows=tuple(rows(seed, steps=STEPS if seed % 2 else 25))))
        assert (found.status, found.findings, found.exit_code) == ("healthy", (), 0), f"seed {seed}"


@pytest.mark.parametrize(
    "bent",
    [
        {"episode/turns": ramp(5.0, 2.6), "episode/tool_calls": ramp(5.0, 4.8)},  # the same calls in fewer turns
        {
            "completions/mean_length": ramp(60, 125),
            "episode/tool_calls": ramp(2.0, 5.0),
            "episode/turns": ramp(2.0, 5.0),
        },
        {"group/dead_share": ramp(0.3, 0.9), "episode/success": ramp(0.5, 0.97)},  # solved, so no spread is left
        {"episode/single_turn_share": ramp(0.97, 0.97), "episode/turns": ramp(1.05, 1.05)},  # one-turn tasks
    ],
    ids=["parallel calls", "learns to look", "solved", "single-turn tasks"],
)
def test_skill_is_not_mistaken_for_collapse(write_run, bent):
    for seed in range(10):
        found = verdict(write_run(rows(seed, **bent)))
        assert found.status == "healthy", found.findings


def test_the_change_point_is_where_the_level_broke(write_run):
    found = verdict(write_run(rows(0, **{"episode/tool_calls": lambda p: 3.0 if p <= 0.5 else 0.1})))
    finding = next(f for f in found.findings if f.name == "tool_use_collapse")
    assert finding.step == 31  # 60 steps, broken after the 30th


def test_a_mechanism_that_never_ran_is_reported(write_run):
    made = [{**row, "tt_opd/hints_fired": 0.0, "tt_opd/teacher_updates": 0.0} for row in rows()]
    finding = verdict(write_run(made)).findings[0]
    assert finding.name == "inert_mechanism"
    assert "never updated" in finding.message and "hint" in finding.message


def test_a_loss_that_is_not_a_number_is_a_collapse(write_run):
    made = rows()
    made[40]["loss"] = float("nan")
    found = verdict(write_run(made))
    assert found.status == "collapsed" and found.findings[0].step == 41


def test_the_trainers_own_names_are_read_too(write_run):
    names = {"episode/tool_calls": "tools/call_frequency", "completions/mean_length": "episode/assistant_tokens"}
    made = [{names.get(key, key): value for key, value in row.items()} for row in rows(0, **COLLAPSES["cosine"][0])]
    assert {"length_shrinking", "tool_use_collapse"} <= {f.name for f in verdict(write_run(made)).findings}


def test_a_short_run_is_not_judged_by_trends(write_run):
    found = verdict(write_run(rows(steps=5, **COLLAPSES["guess"][0])))
    assert found.status == "healthy"
    assert [f.name for f in found.findings] == ["short_run"]


def test_steps_made_again_after_a_resume_count_once(write_run):
    folder = write_run(rows(steps=30))
    append_metrics(folder, 30, {"episode/success": 1.0})
    run = Run.load(folder)
    assert len(run.rows) == 30
    assert run.series("success").values[-1] == 1.0


def test_a_line_cut_off_by_a_kill_is_left_out_and_noted(write_run):
    folder = write_run(rows(steps=30))
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 31, "episode/suc')
    run = Run.load(folder)
    assert len(run.rows) == 30
    assert any("1 line(s) could not be read" in note for note in run.notes)


def test_missing_and_empty_folders_are_named(tmp_path):
    with pytest.raises(RunFolderError, match="does not exist; give the folder"):
        verdict(tmp_path / "nowhere")
    with pytest.raises(RunFolderError, match="holds no run"):
        verdict(tmp_path)


def test_a_verdict_is_json(write_run):
    found = verdict(write_run(rows(0, **COLLAPSES["guess"][0]))).to_dict()
    assert json.loads(json.dumps(found)) == found
