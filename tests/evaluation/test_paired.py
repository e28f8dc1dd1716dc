"""Two runs on the same rows: the test, interval and effect that fit, and when they count as alike."""

import numpy as np
import pytest
from scipy import stats

from healthgym.evaluation.effects import cohens_h, newcombe_paired
from healthgym.evaluation.paired import compare_scores
from healthgym.evaluation.statistics import cluster_bootstrap, sign_flip_test


def zero_one(both, lost, gained, neither):
    """Return two runs with these cells."""
    first = [1.0] * (both + lost) + [0.0] * (gained + neither)
    second = [1.0] * both + [0.0] * lost + [1.0] * gained + [0.0] * neither
    return first, second


def test_single_zero_one_rows_get_mcnemar_and_newcombe():
    first, second = zero_one(40, 5, 20, 35)
    found = compare_scores(first, second, range(100))
    assert (found.gained, found.lost, found.difference) == (20, 5, pytest.approx(0.15))
    assert found.p_value == pytest.approx(stats.binomtest(5, 25).pvalue) and found.test == "McNemar, exact"
    assert found.interval == newcombe_paired(40, 5, 20, 35)
    assert (found.effect, found.effect_name) == (cohens_h(0.45, 0.6), "Cohen's h")
    assert found.odds_ratio[0] == 4.0
    assert found.required_n == 85  # as worked out for `required_pairs`


def test_newcombes_interval_by_hand():
    # 40, 5, 20, 35 of 100: rates 0.45 and 0.60; Wilson (0.3561, 0.5476) and (0.5020, 0.6906).
    # phi = (40*35 - 5*20 - 50) / sqrt(45*55*60*40) = 1250 / 2437.2 = 0.5129.
    # low = 0.15 - sqrt(0.0980^2 - 2*0.5129*0.0980*0.0976 + 0.0976^2) = 0.15 - 0.0966
    # high = 0.15 + sqrt(0.0906^2 - 2*0.5129*0.0906*0.0939 + 0.0939^2) = 0.15 + 0.0911
    assert newcombe_paired(40, 5, 20, 35) == pytest.approx((0.0534, 0.2411), abs=0.001)


def test_rows_that_share_a_patient_get_sign_flips_and_a_bootstrap():
    # Ten patients of six rows; three patients gain all of theirs. As rows 18 gains, p < 0.0001; as patients 3 of 3.
    first = [0.0] * 60
    second = [float(place // 6 < 3) for place in range(60)]
    found = compare_scores(first, second, [place // 6 for place in range(60)])
    assert found.p_value == pytest.approx(2 / 2**3)
    assert (found.clusters, found.test) == (10, "sign flips of clusters")
    assert found.interval_method == "BCa bootstrap over clusters"
    # 0.3 gained: Connor's n is ((1.96 sqrt 0.3 + 0.8416 sqrt(0.3 - 0.09)) / 0.3)^2 = 23.7, of patients; six rows each.
    assert found.required_n == 24 * 6


def test_partial_credit_gets_a_paired_bootstrap_and_d():
    rng = np.random.default_rng(0)
    first = list(rng.random(50).round(2))
    second = [min(1.0, value + 0.1) for value in first]
    found = compare_scores(first, second, range(50))
    differences = [b - a for a, b in zip(first, second, strict=True)]
    assert found.interval == cluster_bootstrap(differences, range(50), method="bca")
    assert found.p_value == sign_flip_test(differences, range(50))
    assert (found.effect_name, found.odds_ratio) == ("Cohen's d_z", None)
    assert found.effect == pytest.approx(np.mean(differences) / np.std(differences, ddof=1))


def test_the_order_of_runs_turns_the_sign_alone():
    first, second = zero_one(30, 12, 4, 14)
    there, back = compare_scores(first, second, range(60)), compare_scores(second, first, range(60))
    assert back.difference == -there.difference and back.p_value == there.p_value
    assert back.interval == pytest.approx((-there.interval[1], -there.interval[0]))
    assert (back.gained, back.lost) == (there.lost, there.gained)


def test_equal_runs_on_many_rows_are_alike_and_on_few_are_not():
    few, many = ([1.0, 0.0] * n for n in (5, 500))
    assert compare_scores(many, many, range(1000)).alike
    assert not compare_scores(few, few, range(10)).alike  # ten rows do not rule out five points
    found = compare_scores(many, many, [place // 2 for place in range(1000)])
    assert (found.difference, found.p_value, found.required_n) == (0.0, 1.0, None)
    assert found.interval_method == "Newcombe, paired, on clusters" and found.interval[0] < 0 < found.interval[1]


def test_differences_that_are_all_the_same_have_no_interval():
    found = compare_scores([0.25] * 4, [0.5] * 4, range(4))
    assert found.interval is None and not found.alike and found.effect is None
    assert found.to_dict()["ci"] is None


def test_infinite_odds_are_none_in_json():
    found = compare_scores(*zero_one(5, 0, 5, 0), range(10)).to_dict()
    assert found["odds_ratio"]["value"] is None and found["odds_ratio"]["ci"][1] is None


def test_a_margin_decides_what_is_alike():
    first, second = zero_one(480, 10, 12, 498)
    assert compare_scores(first, second, range(1000), margin=0.02).alike
    assert not compare_scores(first, second, range(1000), margin=0.005).alike


def test_runs_of_other_length_and_empty_ones_are_refused():
    with pytest.raises(ValueError, match="same rows"):
        compare_scores([1.0], [], [0])
    with pytest.raises(ValueError, match="same rows"):
        compare_scores([], [], [])


@pytest.mark.slow
def test_a_true_null_is_rejected_one_time_in_twenty_with_clusters():
    # 25 patients of four correlated rows; both runs draw from the same rates. Counting rows would reject far more often.
    rng, rejected = np.random.default_rng(3), 0
    for seed in range(400):
        rates = rng.beta(1, 1, 25).repeat(4)
        shift = rng.normal(0, 0.3, 25).repeat(4)  # a patient's luck with the second run
        first = (rng.random(100) < rates).astype(float)
        second = (rng.random(100) < np.clip(rates + shift, 0, 1)).astype(float)
        rejected += compare_scores(list(first), list(second), list(np.arange(25).repeat(4)), seed=seed).p_value < 0.05
    assert rejected / 400 < 0.09
