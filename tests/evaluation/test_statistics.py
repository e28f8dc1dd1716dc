"""Statistics agree with scipy, with enumeration, and with numbers worked out by hand."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from healthgym.evaluation.statistics import (
    cluster_bootstrap,
    compare_paired,
    holm,
    mcnemar_exact,
    pass_at_k,
    pass_hat_k,
    required_pairs,
    wilson_interval,
)


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (0, 20), (1, 20), (10, 20), (20, 20), (217, 256), (1, 3600)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_agrees_with_scipy(successes, n, confidence):
    expected = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert wilson_interval(successes, n, confidence) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_nothing_measured_says_nothing():
    assert wilson_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("arguments", [(3, 2), (-1, 2), (1, 2, 1.0)])
def test_impossible_counts_and_confidences_are_refused(arguments):
    with pytest.raises(ValueError, match="must lie"):
        wilson_interval(*arguments)


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (5, 0), (3, 3), (12, 4), (30, 55)])
def test_mcnemar_agrees_with_the_exact_binomial_test(gained, lost):
    expected = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert mcnemar_exact(gained, lost) == pytest.approx(expected)


def test_a_bootstrap_of_independent_rows_agrees_with_scipy():
    values = np.random.default_rng(1).normal(3.0, 2.0, 200)
    ours = cluster_bootstrap(list(values), range(200), resamples=5000)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=5000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    # The width is about 0.55; two bootstraps of 5,000 draws differ by far less than 0.05.
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.05)


def test_rows_of_one_patient_count_as_one():
    # 10 patients, each with 30 equal rows: the interval must be as wide as that of 10 rows, not of 300.
    patients = [0.0, 1.0] * 5
    many = cluster_bootstrap(
        [v for v in patients for _ in range(30)], [p for p in range(10) for _ in range(30)], seed=3
    )
    few = cluster_bootstrap(patients, range(10), seed=3)
    assert many == pytest.approx(few)
    naive = cluster_bootstrap([v for v in patients for _ in range(30)], range(300), seed=3)
    assert many[1] - many[0] > 3 * (naive[1] - naive[0])


def test_clusters_of_different_size_weigh_by_their_rows():
    # All clusters drawn alike are impossible to see through; a constant is: 0.25 whatever is drawn.
    assert cluster_bootstrap([0.25] * 5, ["a", "a", "a", "b", "c"]) == (0.25, 0.25)


@pytest.mark.parametrize(("values", "clusters"), [([], []), ([1.0], [])])
def test_a_bootstrap_needs_a_cluster_for_every_value(values, clusters):
    with pytest.raises(ValueError, match="one cluster per value"):
        cluster_bootstrap(values, clusters)


def test_a_paired_comparison_counts_what_was_gained_and_lost():
    first = [True] * 60 + [False] * 40
    second = [True] * 55 + [False] * 5 + [True] * 20 + [False] * 20
    found = compare_paired(first, second)
    assert (found.gained, found.lost, found.n) == (20, 5, 100)
    assert found.difference == pytest.approx(0.15)
    assert found.odds_ratio == 4.0
    assert found.p_value == pytest.approx(stats.binomtest(5, 25).pvalue)
    assert found.interval[0] > 0.0
    # (1.95996*sqrt(0.25) + 0.84162*sqrt(0.25 - 0.0225))^2 / 0.15^2 = (0.97998 + 0.40142)^2 / 0.0225 = 84.8
    assert found.required_n == 85
    assert found.to_dict()["ci"] == list(found.interval)


def test_attempts_at_one_task_are_one_piece_of_evidence():
    # 8 attempts at each of 3 tasks, all gained: 24 rows, but 3 tasks, so 2 of 2^3 patterns of signs.
    found = compare_paired([False] * 24, [True] * 24, [row // 8 for row in range(24)])
    assert found.p_value == pytest.approx(0.25)
    # ((1.96 * 1 + 0.8416 * 0) / 1)^2 = 3.8 tasks, of 8 attempts.
    assert found.required_n == 4 * 8


def test_equal_runs_differ_in_nothing():
    found = compare_paired([True, False], [True, False])
    assert (found.difference, found.p_value, found.odds_ratio, found.required_n) == (0.0, 1.0, 1.0, None)
    assert required_pairs(0.1, 0.1) is None


def test_runs_on_other_rows_cannot_be_paired():
    with pytest.raises(ValueError, match="same rows"):
        compare_paired([True], [True, False])


@pytest.mark.parametrize(("n", "correct", "k"), [(5, 0, 2), (5, 2, 1), (5, 2, 3), (6, 6, 4), (6, 1, 6)])
def test_pass_at_k_and_pass_hat_k_equal_enumeration(n, correct, k):
    attempts = [True] * correct + [False] * (n - correct)
    draws = list(combinations(attempts, k))
    assert pass_at_k(n, correct, k) == pytest.approx(np.mean([any(draw) for draw in draws]))
    assert pass_hat_k(n, correct, k) == pytest.approx(np.mean([all(draw) for draw in draws]))


@pytest.mark.parametrize("arguments", [(3, 1, 4), (3, 1, 0), (3, 4, 1)])
def test_impossible_attempts_are_refused(arguments):
    with pytest.raises(ValueError, match="must lie in"):
        pass_at_k(*arguments)


def test_holm_steps_down():
    # Sorted 0.01, 0.02, 0.04 times 3, 2, 1 = 0.03, 0.04, 0.04, never falling.
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.9, 0.8]) == [1.0, 1.0]  # 2 * 0.8 is cut to 1, and the next cannot fall below
    assert holm([]) == []
