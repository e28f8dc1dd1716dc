"""What counts as seen is what was read before the message that decides."""

import pytest

from healthgym.envs import Episode
from healthgym.registry import load_domain
from healthgym.rollout.markup import render_call
from healthgym.tasks import load_suite


@pytest.fixture
def played():
    """Return a function that plays the oracle's calls of one task in so many messages and grades them."""
    domain = load_domain("triage_emergency")
    case = next(load_suite("triage_emergency").cases(split="train", families=["vital_sign_triage"]))

    def play(messages):
        episode = Episode(case, domain)
        for calls in messages(case.task.solution):
            episode.apply("".join(render_call(call.tool, dict(call.arguments)) for call in calls))
        assert episode.stop_reason == "submitted"
        return episode.grade()

    return play


def test_an_answer_sent_together_with_its_look_ups_is_a_guess(played):
    grade = played(lambda calls: [calls])
    assert not grade.success and grade.evidence_share == 0.0 and grade.missing_evidence


def test_look_ups_of_one_message_count_once_they_were_read(played):
    grade = played(lambda calls: [calls[:-1], calls[-1:]])
    assert grade.success and grade.evidence_share == 1.0 and not grade.missing_evidence


def test_a_look_up_repeated_beside_the_submission_still_counts(played):
    grade = played(lambda calls: [calls[:-1], calls[-2:]])
    assert grade.success and grade.evidence_share == 1.0
