"""Rows become one result: what counts where, which interval is taken, and what a reader is warned of."""

import json

import pytest
from stored_evaluations import row, rows_of

from healthgym.evaluation.benchmark import Floor
from healthgym.evaluation.estimate import mean_estimate, score_estimate
from healthgym.evaluation.statistics import cluster_bootstrap, wilson_interval
from healthgym.evaluation.summary import summarise_rows


def floor(score, name="random"):
    return Floor(name=name, score=score, how="draws")


def test_unanswered_rows_lower_only_the_score_over_all_and_lost_rows_neither():
    rows = [
        row(0, 1.0), row(1, 1.0), row(2, 0.0),
        row(3, status="refused"), row(4, status="degenerate"), row(5, status="truncated"), row(6, status="unparsed"),
        row(7, status="grader_error", error="x"), row(8, status="infra_error", error="x"),
    ]  # fmt: skip
    found = summarise_rows(rows).to_dict()
    assert (found["n"], found["score"]) == (3, pytest.approx(2 / 3))
    assert (found["n_all"], found["score_all"]) == (7, pytest.approx(2 / 7))
    assert found["counts"] == {
        "answered": 3, "refused": 1, "degenerate": 1, "truncated": 1, "unparsed": 1, "grader_error": 1,
        "infra_error": 1,
    }  # fmt: skip
    assert found["ci"] == list(wilson_interval(2, 3)) and found["ci_all"] == list(wilson_interval(2, 7))


def test_one_zero_one_row_a_question_gets_wilsons_interval():
    found = summarise_rows(rows_of([1.0] * 30 + [0.0] * 10))
    assert found.answered.method == "Wilson"
    assert found.answered.interval == wilson_interval(30, 40)


def test_rows_that_share_a_patient_get_a_bootstrap_over_patients():
    # 20 patients, five equal rows each: as sure as 20 rows, not as 100.
    scores = [float(patient % 2) for patient in range(20) for _ in range(5)]
    rows = [row(place, score, cluster=f"p{place // 5}") for place, score in enumerate(scores)]
    found = summarise_rows(rows).answered
    low, high = wilson_interval(50, 100)
    assert (found.n, found.clusters, found.method) == (100, 20, "BCa bootstrap over clusters")
    assert found.interval[1] - found.interval[0] > 1.8 * (high - low)


def test_partial_credit_gets_a_bootstrap_too():
    scores = [0.0, 0.5, 1.0, 0.25] * 10
    found = score_estimate(scores, range(40))
    assert found.interval == cluster_bootstrap(scores, range(40), method="bca")


def test_patients_who_all_score_alike_do_not_make_a_score_certain():
    # Ten patients of three rows, all right: at best what ten rows say, 10 / (10 + 3.84) = 0.722.
    found = score_estimate([1.0] * 30, [place // 3 for place in range(30)])
    assert found.interval == pytest.approx((0.722, 1.0), abs=0.001)
    # Five questions of 0.25 each: 1.25 successes in 5.
    assert score_estimate([0.25] * 5, range(5)).interval == wilson_interval(1.25, 5)


def test_few_patients_are_few_whatever_their_rows_say():
    # Four patients of two rows, means 1, 1, 1, 0.5: 3.5 of 4. A bootstrap of four would end at 62.5 %.
    found = score_estimate([1.0] * 7 + [0.0], [place // 2 for place in range(8)])
    assert (found.value, found.method) == (0.875, "Wilson on clusters")
    assert found.interval == wilson_interval(3.5, 4) and found.interval[0] < 0.5


def test_counts_that_do_not_vary_have_no_interval():
    assert mean_estimate([3.0, 3.0], ["a", "b"]).interval is None
    assert mean_estimate([3.0, 4.0], ["a", "a"]).interval is None
    assert mean_estimate([], []).value is None


def test_nothing_measured_is_no_score():
    found = summarise_rows([]).to_dict()
    assert (found["n"], found["score"], found["ci"], found["required_n"]) == (0, None, None, {})
    assert json.loads(json.dumps(found)) == found
    lost = summarise_rows([row(0, status="unparsed")])
    assert (lost.answered.value, lost.everything.value) == (None, 0.0)
    assert "None of 1 row was answered: there is no score." in lost.warnings


def test_the_last_row_of_a_key_counts():
    assert summarise_rows([row(0, 0.0), row(0, 1.0)]).answered.value == 1.0


def test_floors_say_where_the_interval_lies():
    # 20 of 40: Wilson 0.352 to 0.648.
    found = summarise_rows(
        rows_of([1.0, 0.0] * 20),
        floors=[floor(0.25), floor(0.4, "majority"), floor(0.9, "oracle"), floor(None, "blind")],
    )
    assert [each["interval_is"] for each in found.floors] == ["above", "around", "below", None]
    assert "The score lies below what needs no understanding: oracle 90.0%." in found.warnings
    assert "The interval includes what needs no understanding: majority 40.0%." in found.warnings


def test_a_floor_that_needs_a_model_is_the_score_of_its_name_where_rows_measured_it():
    rows = [row(place, 1.0, scores={"blind": float(place % 2)}) for place in range(40)]
    (found,) = summarise_rows(rows, floors=[floor(None, "blind")]).floors
    assert (found["score"], found["interval_is"]) == (0.5, "above")  # 20 of 40; Wilson of 40 of 40 begins at 0.912


def test_parts_come_with_n_and_interval_of_both_kinds():
    rows = [row(place, 1.0, strata={"step": "one"}) for place in range(3)] + [
        row(3, status="unparsed", strata={"step": "one"}), row(4, 0.0, strata={"step": "two"}),
    ]  # fmt: skip
    one = summarise_rows(rows).to_dict()["strata"]["step"]["one"]
    assert (one["n"], one["score"], one["n_all"], one["score_all"]) == (3, 1.0, 4, 0.75)
    assert one["ci"] == list(wilson_interval(3, 3)) and one["ci_all"] == list(wilson_interval(3, 4))


def test_several_attempts_give_pass_at_k_and_pass_hat_k_by_counts():
    # Two items of three attempts, 2 and 0 right. pass@2: (1 + 0)/2; pass^2: (1/3 + 0)/2; unanswered attempts fail.
    outcomes = {"a": [1.0, 1.0, None], "b": [0.0, 0.0, 0.0]}
    rows = [
        row(name, score, "answered" if score is not None else "refused", attempt=number)
        for name, scores in outcomes.items()
        for number, score in enumerate(scores)
    ]
    found = summarise_rows(rows).to_dict()
    assert {k: each["value"] for k, each in found["pass_at_k"].items()} == {
        "1": pytest.approx(1 / 3), "2": 0.5, "3": 0.5,
    }  # fmt: skip
    assert found["pass_hat_k"]["2"]["value"] == pytest.approx(1 / 6)
    assert found["pass_hat_k"]["3"]["value"] == 0.0
    assert found["pass_at_k"]["2"]["n"] == 2


def test_one_attempt_or_partial_credit_has_no_pass_at_k():
    assert summarise_rows(rows_of([1.0, 0.0])).pass_at_k == {}
    assert summarise_rows([row(0, 0.5), row(0, 1.0, attempt=1)]).pass_at_k == {}


def test_counts_and_further_scores_are_means_over_the_rows_that_have_them():
    rows = [row(0, 1.0, tokens=10, scores={"f1": 0.5}), row(1, 0.0, tokens=20, scores={"f1": 1.0}), row(2, 1.0)]
    found = summarise_rows([*rows, row(3, status="infra_error", tokens=900)])
    assert (found.means["tokens"].n, found.means["tokens"].value) == (2, 15.0)
    assert (found.scores["f1"].n, found.scores["f1"].value) == (2, 0.75)
    assert "turns" not in found.means


def test_what_a_result_rests_on_is_carried_along():
    found = summarise_rows(
        [row(0, seed=7), row(1, seed=3)], suite="quiz", mode="text", candidate="m", hashes={"weights": "w"},
        scorer="s-1", engine="e", sampling={"temperature": 0.0}, settings={"max_tokens": 5}, machine={"cores": 2},
    ).to_dict()  # fmt: skip
    assert (found["suite"], found["mode"], found["candidate"], found["scorer"]) == ("quiz", "text", "m", "s-1")
    assert (found["seeds"], found["hashes"], found["settings"]) == ([3, 7], {"weights": "w"}, {"max_tokens": 5})


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (rows_of([1.0, 0.0] * 5), "Only 10 rows"),
        (rows_of([1.0, 0.0] * 40 + [None] * 5), "Only 94.1% of rows were answered"),
        ([row(0, status="infra_error")], "Lost to infra_error: 1 row"),
        ([row(n, 1.0, prediction="A", gold="AB"[n % 2]) for n in range(40)], "100% of rows have the same answer, 'A'"),
        ([row(n, 1.0, attempt=a, output="same") for n in range(40) for a in (0, 1)], "attempts at an item are alike"),
        ([row(n, float(n % 2), cluster=f"p{n % 12}") for n in range(60)], "60 rows come from only 12 clusters"),
    ],
)
def test_a_reader_is_warned(rows, told):
    assert any(told in warning for warning in summarise_rows(rows).warnings)


def test_nothing_is_said_where_nothing_speaks_against_a_score():
    rows = [row(n, float(n % 2), prediction="ABCD"[n % 4], gold="ABCD"[n % 3]) for n in range(100)]
    assert list(summarise_rows(rows, floors=[floor(0.25)], expected=100).warnings) == []


def test_a_run_with_missing_or_lost_rows_is_partial():
    assert summarise_rows(rows_of([1.0] * 3), expected=4).partial
    assert summarise_rows([row(0), row(1, status="grader_error")], expected=2).partial
    assert not summarise_rows([row(0), row(1, status="refused")], expected=2).partial
    assert "Partial: 3 of 4 rows are done" in summarise_rows(rows_of([1.0] * 3), expected=4).warnings[0]


def test_required_rows_are_stated_for_five_points():
    # Half right: Wilson's half width at n is about 1.96/2 * sqrt(1/(n + 3.84)) = 0.05, so n = 384.1 - 3.84 = 380.3.
    found = summarise_rows(rows_of([1.0, 0.0] * 20), floors=[floor(0.25)]).required_n
    assert found["width"] == 381
    # h = 2 asin(sqrt 0.55) - 2 asin(sqrt 0.5) = 0.10017; 2 (2.8016 / 0.10017)^2 = 1564.5
    assert found["two_runs"] == 1565
    # (1.96 sqrt(0.1875) + 0.8416 sqrt(0.25))^2 / 0.0625 = 25.8
    assert found["above_floor"] == 26
    assert found["design_effect"] == 1.0
    assert summarise_rows(rows_of([1.0, 0.0]), floors=[floor(0.0)]).required_n["above_floor"] is None


def test_rows_that_share_a_patient_are_needed_in_greater_number():
    # Twenty patients of four equal rows, ten right: each row is worth a quarter, so four times as many as above.
    rows = [row(place, score=float(place // 4 % 2), cluster=f"p{place // 4}") for place in range(80)]
    found = summarise_rows(rows, floors=[floor(0.25)]).required_n
    assert found["design_effect"] == pytest.approx(4.0)
    assert (found["width"], found["two_runs"], found["above_floor"]) == (4 * 381, 4 * 1565, 4 * 26)
