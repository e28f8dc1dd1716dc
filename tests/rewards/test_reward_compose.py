"""The one number: right outranks wrong, a critical hazard caps, guesses earn nothing, weights are relative."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthgym.errors import ConfigError
from healthgym.rewards import Grade, RewardConfig, compose
from healthgym.rewards.grade import SCORES
from healthgym.tasks import HazardHit

UNIT = st.floats(0.0, 1.0)
QUALITY = st.fixed_dictionaries({name: UNIT for name in SCORES if name != "accuracy"})


def a_grade(accuracy, quality, share, critical=False):
    hits = (HazardHit("overdose", "critical"),) if critical else ()
    return Grade(
        success=False, outcome="wrong", scores={"accuracy": accuracy, **quality}, evidence_share=share,
        missing_evidence=(), hazards=hits, parts={},
    )  # fmt: skip


@given(wrong=st.floats(0.0, 0.999), good=QUALITY, bad=QUALITY, share=st.floats(0.01, 1.0))
def test_a_right_answer_outranks_a_wrong_one_at_equal_evidence_whatever_the_other_scores(wrong, good, bad, share):
    assert compose(a_grade(1.0, bad, share)) > compose(a_grade(wrong, good, share))


@given(accuracy=UNIT, quality=QUALITY, share=UNIT, preset=st.sampled_from(["gated", "paper"]))
def test_a_critical_hazard_caps_the_total_at_a_tenth(accuracy, quality, share, preset):
    assert compose(a_grade(accuracy, quality, share, critical=True), RewardConfig(preset=preset)) <= 0.1


@given(accuracy=UNIT, quality=QUALITY, share=UNIT, preset=st.sampled_from(["gated", "paper"]))
def test_the_reward_stays_between_0_and_1(accuracy, quality, share, preset):
    assert 0.0 <= compose(a_grade(accuracy, quality, share), RewardConfig(preset=preset)) <= 1.0


@given(
    accuracy=UNIT, quality=QUALITY, share=UNIT, factor=st.floats(0.01, 100), preset=st.sampled_from(["gated", "paper"])
)
def test_only_the_proportions_of_the_weights_count(accuracy, quality, share, factor, preset):
    weights = {"accuracy": 0.5, "safety": 0.3, "format": 0.2}
    scaled = {name: weight * factor for name, weight in weights.items()}
    grade = a_grade(accuracy, quality, share)
    assert compose(grade, RewardConfig(preset=preset, weights=weights)) == pytest.approx(
        compose(grade, RewardConfig(preset=preset, weights=scaled))
    )


@given(accuracy=UNIT, quality=QUALITY)
def test_an_answer_without_any_evidence_earns_nothing(accuracy, quality):
    assert compose(a_grade(accuracy, quality, 0.0)) == 0.0


def test_full_marks_are_exactly_1(make_grade):
    for preset in ("gated", "paper"):
        assert compose(make_grade(), RewardConfig(preset=preset)) == 1.0


def test_quality_adds_to_a_right_answer_and_not_to_a_wrong_one(make_grade):
    # Weights sum to 0.85. Right, process 0.5: (0.25 + 0.20*0.5 + 0.20 + 0.10 + 0.10) / 0.85 = 0.75 / 0.85.
    assert compose(make_grade(process=0.5)) == pytest.approx(0.75 / 0.85)
    # Half right, the rest perfect: 0.25*0.5 / 0.85, and half the evidence halves it again.
    assert compose(make_grade(accuracy=0.5)) == pytest.approx(0.125 / 0.85)
    assert compose(make_grade(accuracy=0.5, evidence_share=0.5)) == pytest.approx(0.0625 / 0.85)


def test_the_paper_preset_is_the_weighted_sum(make_grade):
    # Wrong but fluent: (0.20 + 0.20 + 0.10 + 0.10) / 0.85.
    assert compose(make_grade(accuracy=0.0), RewardConfig(preset="paper")) == pytest.approx(0.6 / 0.85)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"preset": "gatd"}, "Did you mean 'gated'"),
        ({"weights": {"accuracy": 1.0, "saftey": 1.0}}, "Did you mean 'safety'"),
        ({"weights": {"safety": 1.0}}, "reward.weights.accuracy must be above 0"),
        ({"weights": {"accuracy": 1.0, "safety": -1.0}}, "must not be negative"),
    ],
)
def test_unknown_missing_and_negative_weights_raise(settings, words):
    with pytest.raises(ConfigError, match=words):
        RewardConfig(**settings)
