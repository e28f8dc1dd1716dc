"""Finished episodes and grades made by hand."""

import pytest

from healthgym.rewards import EpisodeRecord, Grade
from healthgym.rewards.grade import SCORES
from healthgym.tasks import AnswerField, Call, Criteria, HazardHit, Task
from healthgym.world import Chart, ExecutedCall, World


@pytest.fixture
def make_grade():
    """Return a function that builds a grade from its scores."""

    def make(evidence_share=1.0, critical=False, **scores):
        values = {name: scores.get(name, 1.0) for name in SCORES}
        hits = (HazardHit("overdose", "critical"),) if critical else ()
        return Grade(
            success=values["accuracy"] == 1.0 and evidence_share == 1.0 and not critical,
            outcome="correct", scores=values, evidence_share=evidence_share, missing_evidence=(), hazards=hits, parts={},
        )  # fmt: skip

    return make


@pytest.fixture
def make_record():
    """Return a function that builds a finished episode from criteria, executed calls and what was said."""

    def make(*, calls=(), facts=(), state=(), submission=None, messages=(), rules=(), malformed=0, idle=0, **criteria):
        criteria.setdefault("answer", {"level": AnswerField(gold=2)})
        task = Task(
            id="d/f/train/0000", domain="d", split="train", prompt="P1 is here.", criteria=Criteria(**criteria),
            solution=(Call("submit_level", level=2),), provenance="by hand",
        )  # fmt: skip
        world = World({"P1": Chart(patient_id="P1", age_years=50, sex="female", weight_kg=70)})
        for path, value in state:
            world.state.set(path, value)
        for key in facts:
            world.reveal("P1", key)
        for turn, call in enumerate(calls, 1):
            world.calls.append(
                ExecutedCall(**{"effect": "read", "turn": turn, "minutes": 0.0, "arguments": {}, **call})
            )
        return EpisodeRecord(
            task=task, world=world, messages=messages, submission=submission, stop_reason="submitted",
            malformed_calls=malformed, idle_turns=idle, hazard_rules=rules,
        )  # fmt: skip

    return make
