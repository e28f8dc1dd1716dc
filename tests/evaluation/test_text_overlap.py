"""Overlap of texts agrees with figures worked by hand and with the package that papers use for ROUGE-L."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healthgym.evaluation.text_overlap import (
    common_subsequence,
    exact_match,
    rouge_l,
    token_f1,
    token_recall,
    words,
)


def test_recall_and_f1_count_words_as_often_as_they_occur():
    # Gold: pleural, effusion. Said: the, left, pleural, effusion. Recall 2/2; without "the" precision 2/3, F1 = 2*2/5.
    assert token_recall("the left pleural effusion", ["Pleural effusion."]) == 1.0
    assert token_f1("the left pleural effusion", ["Pleural effusion."]) == pytest.approx(0.8)
    # "very very large" holds one of the two words "large large".
    assert token_recall("very very large", ["large large"]) == 0.5


def test_exact_match_looks_past_case_and_punctuation_only():
    assert exact_match("  Pulmonary embolism. ", ["pe", "pulmonary embolism"]) == 1.0
    assert exact_match("a pulmonary embolism", ["pulmonary embolism"]) == 0.0


def test_the_best_reference_counts():
    assert token_f1("cyst", ["tumour", "cyst"]) == 1.0
    assert rouge_l("a b c", ["x y z", "a b c"]).f1 == 1.0


def test_nothing_said_and_nothing_wanted_score_nothing():
    assert rouge_l("", ["a"]).f1 == token_f1("", [""]) == token_recall("a", []) == rouge_l("a", []).f1 == 0.0


def test_rouge_l_by_hand():
    # "police killed the gunman" and "police kill the gunman" share police, the, gunman in order: 3 of 4 on both sides.
    assert rouge_l("police kill the gunman", ["police killed the gunman"]) == pytest.approx((0.75, 0.75, 0.75))


def test_chinese_characters_are_words():
    assert words("左肺 CT") == ["左", "肺", "ct"]


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_common_subsequence_is_that_of_the_usual_table(first, second):
    row = [0] * (len(second) + 1)
    for one in first:
        before = row[:]
        for place, other in enumerate(second):
            row[place + 1] = before[place] + 1 if one == other else max(before[place + 1], row[place])
    assert common_subsequence(first, second) == row[-1]


@pytest.mark.slow  # importing rouge_score loads nltk
def test_rouge_l_is_that_of_rouge_score():
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"], use_stemmer=False)
    texts = st.text(alphabet="ab cD1.,é\n", max_size=40)

    @settings(deadline=None, max_examples=300)
    @given(texts, texts)
    def agrees(said: str, wanted: str) -> None:
        theirs = scorer.score(target=wanted, prediction=said)["rougeL"]
        assert rouge_l(said, [wanted]) == pytest.approx((theirs.precision, theirs.recall, theirs.fmeasure))

    agrees()
