import pytest

from healthgym.errors import ConfigError
from healthgym.training.hints import HINT_WORDING, LEVELS, HintFacts, hint_text

GOLD = "ESI-2-planted-gold"
FAILED = HintFacts(
    outcome="wrong", missing_evidence=("vital signs", "allergies", "vital signs"), hazards=("interaction",), answer=GOLD
)


def test_the_outcome_level_says_only_how_it_went():
    assert hint_text(FAILED, "outcome") == "Review of an attempt at this task: the decision was wrong."


def test_the_process_level_names_kinds_once_each():
    assert hint_text(FAILED, "process") == (
        "Review of an attempt at this task: the decision was wrong. "
        "Not checked before deciding: vital signs, allergies. Harm to avoid: interaction."
    )


def test_the_gold_appears_at_the_answer_level_alone():
    for outcome in ("correct", "wrong", "unsafe", "no_submission"):
        facts = HintFacts(outcome=outcome, answer=GOLD)
        assert [GOLD in hint_text(facts, level) for level in LEVELS] == [False, False, True]


def test_an_unknown_outcome_gets_no_hint():
    assert hint_text(HintFacts(outcome=None, missing_evidence=("vital signs",))) is None


def test_outcomes_read_differently():
    assert len({hint_text(HintFacts(outcome=o)) for o in ("correct", "wrong", "unsafe", "no_submission")}) == 4


def test_every_hint_is_made_of_the_wording_leakage_looks_for():
    assert any(phrase in hint_text(FAILED, "answer") for phrase in HINT_WORDING)


def test_an_unknown_level_offers_the_nearest():
    with pytest.raises(ConfigError, match="process"):
        hint_text(FAILED, "proces")  # type: ignore[arg-type]
