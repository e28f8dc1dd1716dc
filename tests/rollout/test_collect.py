"""The rollout loop: order, refilling, budgets, masks, and what is never scored."""

import dataclasses

import pytest

from healthgym.envs.episode import Episode
from healthgym.errors import ConfigError, GraderError
from healthgym.rollout import Job, OraclePolicy, ScriptedPolicy, TurnResult, collect
from healthgym.rollout.scripted import turn_index
from healthgym.seeds import mix_seed


class OneAtATime(ScriptedPolicy):
    """Answers only the newest request at each poll, so older episodes wait."""

    def __init__(self, script, **options):
        super().__init__(script, **options)
        self.most_pending, self.cancelled, self.seeds = 0, [], {}

    def submit(self, request):
        super().submit(request)
        self.seeds[request.key, turn_index(request)] = request.seed
        self.most_pending = max(self.most_pending, len(self._requests))

    def poll(self):
        return [self._write(self._requests.popitem()[1])]

    def cancel(self, key):
        super().cancel(key)
        self.cancelled.append(key)


def oracle(suite):
    return OraclePolicy(suite).script


def test_trajectories_come_in_the_order_of_the_jobs(suite, make_episode, jobs):
    made = collect(jobs, OneAtATime(oracle(suite)), make_episode, in_flight=3)
    assert [t.task_id for t in made] == [job.task_id for job in jobs]
    assert [t.group for t in made] == [job.group for job in jobs]
    assert all(t.reward == 1.0 and t.stop_reason == "submitted" for t in made)


def test_an_episode_that_never_answers_holds_up_no_other(suite, make_episode, jobs):
    # Newest first: job 0 is answered last, yet the other seats are refilled until every other job is done.
    policy, finished = OneAtATime(oracle(suite)), []
    collect(jobs, policy, make_episode, in_flight=2, on_trajectory=lambda t: finished.append(t.group))
    assert policy.most_pending == 2
    assert finished == [1, 2, 3, 4, 5, 6, 7, 0]


def test_the_policy_hears_once_that_an_episode_is_over(suite, make_episode, jobs):
    policy = OneAtATime(oracle(suite))
    collect(jobs, policy, make_episode)
    assert sorted(policy.cancelled) == list(range(len(jobs)))


def test_every_turn_has_a_seed_of_its_own(suite, make_episode, jobs):
    first, again, other = (OneAtATime(oracle(suite)) for _ in range(3))
    collect(jobs, first, make_episode, in_flight=2, seed=5)
    collect(jobs, again, make_episode, in_flight=8, seed=5)
    collect(jobs, other, make_episode, seed=6)
    assert first.seeds == again.seeds and len(set(first.seeds.values())) == len(first.seeds)
    assert not set(first.seeds.values()) & set(other.seeds.values())
    assert mix_seed(5, 0, 0) == 6418553430805041468  # the same on every platform


def test_infrastructure_failures_are_left_out_and_never_scored(suite, make_episode, jobs, caplog):
    class Flaky(ScriptedPolicy):
        def _write(self, request):
            if request.key == 2 and turn_index(request) == 1:
                return TurnResult(request.key, "", error="connection lost")
            return super()._write(request)

    seen = []
    made = collect(jobs, Flaky(oracle(suite)), make_episode, on_trajectory=seen.append)
    assert [t is None for t in made] == [i == 2 for i in range(len(jobs))]
    assert len(seen) == len(jobs) - 1
    assert "1 of 8 episodes failed in the infrastructure" in caplog.text


def test_a_grader_that_crashes_stops_the_loop_and_frees_the_policy(suite, make_episode, jobs):
    def broken(job):
        episode = make_episode(job)
        episode.case = dataclasses.replace(episode.case)
        episode.task = dataclasses.replace(episode.task, criteria=None)
        return episode

    policy = OneAtATime(oracle(suite))
    with pytest.raises(GraderError):
        collect(jobs, policy, broken, in_flight=4)
    assert not policy._requests


def test_masks_mark_the_policys_tokens_turn_by_turn(suite, make_episode, jobs, template):
    policy = OraclePolicy(suite, template=template, prose=lambda task, turn: f"Turn {turn}.")
    for trajectory in collect(jobs, policy, make_episode, template=template):
        decode, ids = template.tokenizer.decode, trajectory.completion_ids
        said = [message.get("raw", "") for message in trajectory.messages if message["role"] == "assistant"]
        assert [decode(ids[span.start : span.end]) for span in trajectory.turns] == [f"{raw}<|im_end|>" for raw in said]
        inside = [0] * len(ids)
        for span in trajectory.turns:
            inside[span.start : span.end] = [1] * (span.end - span.start)
        assert list(trajectory.completion_mask) == inside
        assert trajectory.assistant_tokens == sum(inside) and trajectory.num_turns == len(trajectory.turns)
        assert trajectory.completion_mask[-1] == 1  # nothing follows the submission
        between = decode(ids[trajectory.turns[0].end : trajectory.turns[1].start])
        answer = trajectory.messages[2]["content"]  # after the task and the first turn
        assert between == f"\n<|im_start|>tool\n{answer}<|im_end|>\n<|im_start|>assistant\n"
        assert trajectory.logprobs is None  # a script has none


def test_a_clipped_turn_is_closed_by_the_environment(make_episode, jobs, template):
    policy = ScriptedPolicy(lambda request: "word " * 50, template=template)
    (made,) = collect(jobs[:1], policy, make_episode, template=template, max_tokens_per_turn=10)
    first = made.turns[0]
    assert (first.start, first.end) == (0, 10) and made.clipped
    assert made.completion_ids[10] == template.turn_end_id
    assert list(made.completion_mask[9:12]) == [1, 0, 0]


def test_the_token_budget_ends_an_episode_on_the_policys_last_token(make_episode, jobs, template):
    policy = ScriptedPolicy(lambda request: "word " * 50, template=template)
    (made,) = collect(
        jobs[:1], policy, make_episode, template=template, max_tokens_per_turn=10, max_completion_tokens=30
    )
    assert made.stop_reason == "token_budget" and made.clipped
    assert len(made.completion_ids) <= 30 and made.completion_mask[-1] == 1
    prompt = len(made.prompt_ids)
    (made,) = collect(jobs[:1], policy, make_episode, template=template, max_tokens_per_turn=10, max_context=prompt + 4)
    assert len(made.completion_ids) == 4 and made.stop_reason == "token_budget"


def test_a_prompt_without_room_for_a_turn_is_refused(suite, make_episode, jobs, template):
    with pytest.raises(ConfigError, match="leaves no room for a turn"):
        collect(jobs, OraclePolicy(suite, template=template), make_episode, template=template, max_context=5)


def test_a_policy_of_text_does_not_pass_for_one_of_tokens(suite, make_episode, jobs, template):
    with pytest.raises(ConfigError, match="turn without tokens"):
        collect(jobs, OraclePolicy(suite), make_episode, template=template)


def test_a_hint_is_read_and_leaves_no_mark(suite, make_episode, jobs, template):
    read = []

    def script(request):
        read.append([message["content"] for message in request.messages])
        return oracle(suite)(request)

    hinted = [dataclasses.replace(jobs[0], hint="Weigh the child first.")]
    (made,) = collect(hinted, ScriptedPolicy(script, template=template), make_episode, template=template)
    (plain,) = collect(jobs[:1], ScriptedPolicy(script, template=template), make_episode, template=template)
    assert read[0][1] == read[1][1] == "Weigh the child first."
    assert made.completion_ids == plain.completion_ids and made.messages == plain.messages
    assert len(made.prompt_ids) > len(plain.prompt_ids) and made.extra == {"hinted": True}


def test_counts_tell_failed_and_idle_turns(make_episode, jobs):
    turns = [
        "Let me think.", "<tool_call>{broken</tool_call>",
        '<tool_call>{"name": "weigh_patient", "arguments": {"patient_id": "P1"}}</tool_call>'
        '<tool_call>{"name": "wiegh", "arguments": {}}</tool_call>',
        "Hm.", "Hm.", "Hm.",
    ]  # fmt: skip
    (made,) = collect([Job(jobs[0].task_id)], ScriptedPolicy(lambda r: turns[turn_index(r)]), make_episode)
    assert made.stop_reason == "parse_failure" and made.num_turns == 6
    assert made.tool_calls == ("weigh_patient", "wiegh")
    assert made.tool_failures == 2  # one unreadable, one unknown
    assert made.idle_turns == 4


def test_a_sampling_seed_of_its_own_makes_an_episode_independent_of_its_place(suite, make_episode, jobs):
    named = [dataclasses.replace(job, sampling=100 + job.group) for job in jobs]
    all_of_them, last_alone = OneAtATime(oracle(suite)), OneAtATime(oracle(suite))
    collect(named, all_of_them, make_episode, seed=5)
    collect(named[-1:], last_alone, make_episode, seed=5)
    assert last_alone.seeds[0, 0] == all_of_them.seeds[7, 0] == mix_seed(5, 107, 0)


def test_whoever_asks_is_told_of_jobs_that_gave_nothing_and_the_others_go_on(
    suite, make_episode, jobs, template, monkeypatch
):
    lost = []
    made = collect(
        jobs[:2], OneAtATime(oracle(suite)), make_episode, template=template, max_context=10, on_lost=lost.append
    )
    assert made == [None, None] and [one.kind for one in lost] == ["no_room", "no_room"]

    true_grade = Episode.grade

    def grade(episode):
        if episode.task.id == jobs[1].task_id:
            raise GraderError("broken")
        return true_grade(episode)

    monkeypatch.setattr(Episode, "grade", grade)
    policy, lost = OneAtATime(oracle(suite)), []
    made = collect(jobs, policy, make_episode, on_lost=lost.append)
    assert [(one.job, one.kind, one.reason) for one in lost] == [(jobs[1], "grader", "broken")]
    assert [place for place, one in enumerate(made) if one is None] == [1]
    assert sorted(policy.cancelled) == list(range(len(jobs)))
