"""Every limit ends an episode under its own name."""

from dataclasses import replace

import pytest

from healthgym.authoring import new_domain
from healthgym.envs import ClinicalEnv, Episode
from healthgym.errors import GraderError
from healthgym.registry import load_domain
from healthgym.rollout.markup import render_call
from healthgym.tasks import Budget, Case, load_suite

WEIGH = render_call("weigh_patient", {"patient_id": "P1"})  # takes one simulated minute


def episode(folder, **limits):
    domain, case = load_domain(folder), next(load_suite(folder).cases(split="train"))
    criteria = replace(case.task.criteria, budget=Budget(**limits))
    return Episode(Case(replace(case.task, criteria=criteria), case.charts), domain)


@pytest.mark.parametrize(
    ("limits", "reason", "turns"),
    [
        ({"turns": 3}, "max_turns", 3),
        ({"turns": 9, "tool_calls": 2}, "max_tool_calls", 2),
        ({"turns": 9, "minutes": 3}, "time_budget", 4),  # three minutes are allowed, the fourth is over
    ],
)
def test_each_budget_stops_with_its_own_reason(fever, limits, reason, turns):
    running = episode(fever, **limits)
    while not running.is_over:
        running.apply(WEIGH)
    assert (running.stop_reason, running.turns) == (reason, turns)


def test_a_task_that_sets_no_budget_has_its_domains(tmp_path):
    # The scaffold's tasks set none; its domain.yaml allows 8 turns and 12 calls. Without that, 12 turns are the default.
    for name, old, limits in (
        ("fever", "", (8, 12)),
        ("no_budget", "budget:\n  turns: 8\n  tool_calls: 12\n", (12, None)),
    ):
        new_domain(tmp_path / name)
        settings = tmp_path / name / "domain.yaml"
        settings.write_text(settings.read_text().replace(old, ""))
        budget = next(load_suite(str(tmp_path / name)).cases(split="train")).task.criteria.budget
        assert (budget.turns, budget.tool_calls) == limits


def test_a_task_that_sets_a_budget_keeps_it(tmp_path):
    new_domain(tmp_path / "fever")
    tasks = tmp_path / "fever" / "tasks.py"
    text = tasks.read_text().replace(
        "            hazards=(", "            budget=Budget(turns=5),\n            hazards=("
    )
    tasks.write_text(text.replace("import AnswerField,", "import AnswerField, Budget,"))
    budget = next(load_suite(str(tmp_path / "fever")).cases(split="train")).task.criteria.budget
    assert (budget.turns, budget.tool_calls) == (5, None)


def test_the_cost_budget_stops_what_costs_too_much(fever):
    running = episode(fever, turns=9, cost=5)
    running.world.cost = 5.0
    running.apply(WEIGH)
    assert running.stop_reason is None  # 5 of 5 is within the budget
    running.world.cost = 5.5
    running.apply(WEIGH)
    assert running.stop_reason == "cost_budget"


def test_three_turns_without_a_call_that_ran_are_a_parse_failure(fever):
    running = episode(fever, turns=9)
    for message in ("Hm.", WEIGH, "Hm.", "Hm."):
        running.apply(message)
    assert running.stop_reason is None  # a call that ran starts the count again
    running.apply("Hm.")
    assert running.stop_reason == "parse_failure"


@pytest.mark.parametrize("reason", ["token_budget", "timeout"])
def test_limits_outside_the_episode_stop_it_once(fever, reason):
    running = episode(fever, turns=9)
    running.stop(reason)
    running.stop("max_turns")
    assert running.is_over and running.stop_reason == reason


def test_submitting_in_the_last_turn_counts_as_submitted(fever):
    running = episode(fever, turns=1)
    running.apply(render_call("submit_dose", {"dose_mg": 0}))
    assert running.stop_reason == "submitted"


def test_a_failing_grader_raises_and_is_no_score_of_zero(fever):
    env = ClinicalEnv(fever)

    def broken(task, world):
        raise KeyError("no such field")

    env.domain = replace(env.domain, hazard_rules=(broken,))
    env.reset(seed=0)
    with pytest.raises(GraderError, match=r"grading fever/.* failed: KeyError"):
        env.step(render_call("submit_dose", {"dose_mg": 0}))


@pytest.mark.parametrize(("profile", "roles", "shown"), [("full", 2, True), ("compact", 2, True), ("bare", 1, False)])
def test_profiles_shorten_the_prompt(fever, profile, roles, shown):
    env = ClinicalEnv(fever, profile=profile)
    _, info = env.reset(seed=0)
    assert (len(info["messages"]), bool(info["tools"])) == (roles, shown)
    assert list(env.domain.tools) == info["permitted"]


@pytest.mark.parametrize(
    ("limits", "reason", "ran"),
    [({"tool_calls": 2}, "max_tool_calls", 2), ({"minutes": 1}, "time_budget", 2)],  # each call takes one minute
)
def test_a_budget_spent_within_a_message_stops_the_calls_that_follow(fever, limits, reason, ran):
    running = episode(fever, turns=9, **limits)
    running.apply(WEIGH * 5)
    assert (running.stop_reason, len(running.world.calls), running.turns) == (reason, ran, 1)


def test_the_last_call_a_budget_allows_may_be_the_submission(fever):
    running = episode(fever, turns=9, tool_calls=2)
    submit = running.case.task.solution[-1]
    running.apply(WEIGH + render_call(submit.tool, dict(submit.arguments)))
    assert running.stop_reason == "submitted"
