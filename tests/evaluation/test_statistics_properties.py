"""Every statistic agrees with scipy or statsmodels on whatever is drawn, and keeps the laws it is used for."""

from itertools import product
from math import isinf
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint, proportion_effectsize

from healthgym.evaluation.design_effect import design_effect, inflated
from healthgym.evaluation.effects import cohens_d_paired, cohens_h, newcombe_paired, paired_odds_ratio
from healthgym.evaluation.sample_size import (
    required_for_mean,
    required_for_one,
    required_for_two,
    required_for_width,
)
from healthgym.evaluation.statistics import (
    _resampled_means,
    cluster_bootstrap,
    cluster_t_interval,
    holm,
    mcnemar_exact,
    pass_at_k,
    pass_hat_k,
    required_pairs,
    sign_flip_test,
    wilson_interval,
)

counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
rates = st.integers(1, 99).map(lambda hundredths: hundredths / 100)
cells = st.tuples(*[st.integers(0, 60)] * 4).filter(lambda four: sum(four) > 0)


@settings(max_examples=50)
@given(counts, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_wilson_agrees_with_statsmodels(case, confidence):
    successes, n = case
    expected = proportion_confint(successes, n, alpha=1 - confidence, method="wilson")
    assert wilson_interval(successes, n, confidence) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=50)
@given(counts)
def test_wilson_holds_the_rate_and_mirrors(case):
    successes, n = case
    low, high = wilson_interval(successes, n)
    assert 0 <= low <= successes / n <= high <= 1
    assert wilson_interval(n - successes, n) == pytest.approx((1 - high, 1 - low))


@settings(max_examples=50)
@given(st.integers(0, 80), st.integers(0, 80))
def test_mcnemar_agrees_with_statsmodels(gained, lost):
    expected = mcnemar([[5, lost], [gained, 7]], exact=True).pvalue if gained + lost else 1.0
    assert mcnemar_exact(gained, lost) == pytest.approx(expected)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=20))
@settings(max_examples=12)  # each call of statsmodels collects garbage
def test_holm_agrees_with_statsmodels(thousandths):
    p_values = [each / 1000 for each in thousandths]
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


@settings(max_examples=50)
@given(st.lists(st.integers(-100, 100), min_size=2, max_size=9), st.integers(0, 9))
def test_sign_flips_agree_with_scipy(hundredths, seed):
    differences = [each / 100 for each in hundredths]
    # Of whole numbers, whose sums are exact: scipy tells a sum of 0 from one of 3e-18.
    expected = stats.permutation_test(
        (np.array(hundredths, float),), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    ).pvalue
    # The exact distribution is symmetric, so twice the smaller tail is the share that is as far from 0.
    assert sign_flip_test(differences, range(len(differences)), seed=seed) == pytest.approx(min(1.0, expected))


@settings(max_examples=50)
@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 5))
def test_sign_flips_of_single_zero_one_rows_are_mcnemar(gained, lost, tied):
    differences = [1.0] * gained + [-1.0] * lost + [0.0] * tied
    assert sign_flip_test(differences, range(len(differences))) == pytest.approx(mcnemar_exact(gained, lost))


def test_sums_that_are_zero_but_for_rounding_are_no_difference():
    # 0.1 + 0.2 - 0.3 is 5.6e-17; every pattern of signs is as far from 0.
    assert sign_flip_test([0.1, 0.2, -0.3], range(3)) == sign_flip_test([0.3, -0.1, -0.2, 0.0], range(4)) == 1.0


def test_random_sign_flips_come_near_the_exact_test():
    # 40 rows gained 27 and lost 13: 2 * P(X <= 13), X ~ B(40, 1/2) = 0.0385; 9,999 draws err by about 0.002.
    differences = [1.0] * 27 + [-1.0] * 13
    assert sign_flip_test(differences, range(40)) == pytest.approx(mcnemar_exact(27, 13), abs=0.008)


def test_rows_of_a_cluster_flip_together():
    # Four patients of ten rows, all better: 2 of 2^4 patterns are as far from 0, whatever the number of rows.
    assert sign_flip_test([1.0] * 40, [row // 10 for row in range(40)]) == pytest.approx(2 / 16)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 100), min_size=3, max_size=40, unique=True), st.integers(0, 3))
def test_bca_agrees_with_scipy_on_clusters(values, seed):
    # scipy is handed our draws, so that nothing but the correction is compared.
    sizes = np.arange(len(values)) % 3 + 1
    sums = np.array(values) * sizes
    rows = [value for value, size in zip(values, sizes, strict=True) for _ in range(size)]
    clusters = [place for place, size in enumerate(sizes) for _ in range(size)]
    theirs = stats.bootstrap(
        (sums, sizes), lambda s, n, axis: s.sum(axis=axis) / n.sum(axis=axis), paired=True, vectorized=True,
        n_resamples=0, method="BCa",
        bootstrap_result=SimpleNamespace(bootstrap_distribution=_resampled_means(sums, sizes, 1000, seed)),
    ).confidence_interval  # fmt: skip
    ours = cluster_bootstrap(rows, clusters, method="bca", resamples=1000, seed=seed)
    assert ours == pytest.approx((theirs.low, theirs.high))


@pytest.mark.parametrize("count", range(2, 10))
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_few_single_rows_have_the_t_interval_of_scipy(count, confidence):
    values = [float(place**2 % 7) for place in range(count)]
    expected = stats.t.interval(confidence, count - 1, np.mean(values), stats.sem(values))
    assert cluster_t_interval(values, range(count), confidence) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_few_clusters_cover_the_truth_where_a_bootstrap_does_not():
    # Five patients of four rows, patients differing more than rows. The t interval holds the truth about 19 times in 20.
    rng, clusters = np.random.default_rng(3), [place // 4 for place in range(20)]
    draws = [np.repeat(rng.normal(size=5), 4) + 0.3 * rng.normal(size=20) for _ in range(400)]
    held = np.mean([low <= 0 <= high for low, high in (cluster_t_interval(list(draw), clusters) for draw in draws)])
    assert held >= 0.92
    drawn = [cluster_bootstrap(list(draw), clusters, method="bca", resamples=300) for draw in draws[:200]]
    assert np.mean([low <= 0 <= high for low, high in drawn]) < 0.9


@pytest.mark.parametrize(("count", "confidence"), [(1, 0.95), (10, 0.95), (5, 0.99)])
def test_the_t_interval_is_for_few_clusters_only(count, confidence):
    with pytest.raises(ValueError, match="two to nine clusters"):
        cluster_t_interval([1.0] * count, range(count), confidence)


@given(st.lists(st.integers(-50, 50), min_size=3, max_size=20), st.integers(1, 9), st.integers(-9, 9))
@settings(max_examples=25)
def test_a_bootstrap_moves_and_stretches_with_its_values(values, scale, shift):
    assume(len(set(values)) > 1)
    low, high = cluster_bootstrap(values, range(len(values)), resamples=200)
    moved = cluster_bootstrap([scale * value + shift for value in values], range(len(values)), resamples=200)
    assert moved == pytest.approx((scale * low + shift, scale * high + shift), abs=1e-6)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_few_kinds_of_clusters_are_drawn_as_all_are(method):
    # 400 clusters of two kinds take the short way; a hair's difference between them takes the long one.
    values = [0.0] * 300 + [1.0] * 100
    short = cluster_bootstrap(values, range(400), method=method, resamples=4000)
    long = cluster_bootstrap([v + 1e-9 * i for i, v in enumerate(values)], range(400), method=method, resamples=4000)
    assert short == pytest.approx(long, abs=0.006)  # the width is 0.085


@settings(max_examples=50)
@given(rates, rates)
def test_cohens_h_agrees_with_statsmodels(first, second):
    assert cohens_h(first, second) == pytest.approx(proportion_effectsize(second, first))
    assert cohens_h(first, second) == pytest.approx(-cohens_h(second, first))


def test_cohens_d_is_the_t_statistic_over_root_n():
    differences = [0.5, 0.1, 0.3, -0.2, 0.4]
    assert cohens_d_paired(differences) == pytest.approx(stats.ttest_1samp(differences, 0).statistic / 5**0.5)
    assert cohens_d_paired([0.2, 0.2]) is None and cohens_d_paired([0.2]) is None


@settings(max_examples=50)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40), st.integers(1, 40))
def test_uncorrelated_pairs_have_newcombes_interval_of_two_samples(a, b, c, d):
    # A table whose cells are products of its margins has phi 0: the pairs say nothing of each other.
    n = (a + b) * (c + d)
    both, first, second, neither = a * c, a * d, b * c, b * d
    assert n == both + first + second + neither
    expected = confint_proportions_2indep(both + second, n, both + first, n, method="newcomb", alpha=0.05)
    assert newcombe_paired(both, first, second, neither) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=50)
@given(cells)
def test_newcombes_interval_holds_the_difference_and_mirrors(four):
    both, first, second, neither = four
    low, high = newcombe_paired(both, first, second, neither)
    assert -1 <= low <= (second - first) / sum(four) <= high <= 1
    assert newcombe_paired(both, second, first, neither) == pytest.approx((-high, -low))


@settings(max_examples=50)
@given(st.integers(0, 80), st.integers(0, 80))
def test_the_odds_ratio_holds_its_estimate(gained, lost):
    ratio, (low, high) = paired_odds_ratio(gained, lost)
    assert low <= ratio <= high
    back, (low_back, high_back) = paired_odds_ratio(lost, gained)
    if gained and lost:
        assert back == pytest.approx(1 / ratio)
        assert (low_back, high_back) == pytest.approx((1 / high, 1 / low))
    assert isinf(high) == (lost == 0)


@settings(max_examples=50)
@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_and_pass_hat_k_mirror_and_are_hypergeometric(case):
    n, correct, k = case
    drawn = stats.hypergeom(n, correct, k)
    assert pass_at_k(n, correct, k) == pytest.approx(1 - drawn.pmf(0))
    assert pass_hat_k(n, correct, k) == pytest.approx(drawn.pmf(k))
    assert pass_hat_k(n, correct, k) == pytest.approx(1 - pass_at_k(n, n - correct, k))


@settings(max_examples=50)
@given(rates, rates.filter(lambda width: width <= 0.3))
def test_the_n_for_a_width_is_the_smallest_that_gives_it(rate, half_width):
    n = required_for_width(rate, half_width)

    def half(n):
        low, high = proportion_confint(rate * n, n, method="wilson")
        return (high - low) / 2

    assert half(n) <= half_width + 1e-9
    assert n == 1 or half(n - 1) > half_width - 1e-9


@settings(max_examples=50)
@given(rates, rates)
def test_the_n_for_two_runs_has_the_power_that_statsmodels_says(first, second):
    assume(abs(first - second) > 0.02)
    n = required_for_two(first, second)
    power = NormalIndPower().power
    effect = cohens_h(first, second)
    # statsmodels counts rejections in the wrong direction as well: never more than 0.025 of them.
    assert power(effect, n, 0.05) >= 0.8 - 1e-6
    assert n == 2 or power(effect, n - 1, 0.05) < 0.83


@settings(max_examples=50)
@given(rates, st.sampled_from([0.5, 1.0, 3.0]))
def test_the_n_for_a_mean_has_the_power_that_statsmodels_says(difference, spread):
    n = required_for_mean(difference, spread)
    power = NormalIndPower(ddof=0).power(difference / spread, n, 0.05, ratio=0)
    assert power >= 0.8 - 1e-6


def test_the_n_against_a_floor_finds_it_four_times_in_five():
    # Rate 0.35 against 0.25: (1.96 sqrt(0.1875) + 0.8416 sqrt(0.2275))^2 / 0.01 = (0.8487 + 0.4014)^2 / 0.01 = 156.3
    n = required_for_one(0.35, 0.25)
    assert n == 157
    cut = 0.25 + 1.959964 * (0.1875 / n) ** 0.5
    assert stats.binom(n, 0.35).sf(np.floor(cut * n)) == pytest.approx(0.8, abs=0.03)
    assert required_for_one(0.25, 0.25) is None


def test_the_n_for_pairs_finds_the_difference_four_times_in_five():
    # 15 % gained, 7 % lost; the chance that z = (b - c) / sqrt(b + c) passes 1.96, over all discordant counts.
    n = required_pairs(0.15, 0.07)
    draws = np.random.default_rng(0).multinomial(n, [0.15, 0.07, 0.78], size=20000)
    z = (draws[:, 0] - draws[:, 1]) / np.sqrt(draws[:, 0] + draws[:, 1])
    assert (z > 1.959964).mean() == pytest.approx(0.8, abs=0.02)


clustered = st.lists(st.lists(st.integers(0, 4).map(lambda x: x / 4), min_size=1, max_size=6), min_size=1, max_size=12)


def flat(groups):
    return [value for group in groups for value in group], [place for place, group in enumerate(groups) for _ in group]


@settings(max_examples=50)
@given(clustered)
def test_the_design_effect_lies_between_one_and_the_largest_cluster(groups):
    values, clusters = flat(groups)
    assert 1.0 <= design_effect(values, clusters) <= max(map(len, groups)) + 1e-9


@settings(max_examples=50)
@given(clustered, st.integers(2, 5))
def test_rows_repeated_within_their_cluster_are_worth_no_more(groups, times):
    # m copies of every row: the effect is m times as large where it was not raised to 1, and so are the rows needed.
    values, clusters = flat(groups)
    repeated = design_effect(values * times, clusters * times)
    single = design_effect(values, clusters)
    assert repeated == pytest.approx(times * single) if single > 1 + 1e-9 else repeated <= times * (1 + 1e-9)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 4).map(lambda x: x / 4), min_size=1, max_size=30))
def test_rows_by_themselves_have_a_design_effect_of_one_and_equal_ones_that_of_their_number(values):
    assert design_effect(values, range(len(values))) == pytest.approx(1.0)
    equal, clusters = flat([[value] * 3 for value in values])
    assert design_effect(equal, clusters) == pytest.approx(3.0)


@settings(max_examples=50)
@given(clustered, st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
def test_the_design_effect_knows_no_unit_and_no_zero(groups, scale, shift):
    values, clusters = flat(groups)
    assume(len(set(values)) > 1)
    moved = [scale * value + shift for value in values]
    assert design_effect(moved, clusters) == pytest.approx(design_effect(values, clusters))


def test_the_design_effect_is_that_of_correlation_within_equal_clusters():
    # 4,000 clusters of 5 rows, a quarter of the variance shared: 1 + (5 - 1) * 0.25 = 2.
    rng = np.random.default_rng(0)
    values = np.sqrt(0.25) * rng.normal(size=(4000, 1)) + np.sqrt(0.75) * rng.normal(size=(4000, 5))
    assert design_effect(values.ravel().tolist(), np.repeat(np.arange(4000), 5).tolist()) == pytest.approx(
        2.0, abs=0.06
    )


def test_the_inflated_n_gives_clustered_rows_the_width_that_was_asked_for():
    # Rate 0.4 with clusters of 5 rows, half of which copy the patient's own value (r = 0.25): the spread of the means of
    # samples as large as stated is that of the width, 0.05 / 1.96.
    n = inflated(required_for_width(0.4, 0.05), 1 + 4 * 0.25)
    rng, patients = np.random.default_rng(1), n // 5
    own = rng.random((2000, patients, 1)) < 0.4
    copies = rng.random((2000, patients, 5)) < 0.5
    means = np.where(copies, own, rng.random((2000, patients, 5)) < 0.4).mean(axis=(1, 2))
    assert 1.959964 * means.std() == pytest.approx(0.05, abs=0.003)
    assert inflated(None, 2.0) is None


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: design_effect([], []), "at least one"),
        (lambda: required_for_width(1.2, 0.1), "rate must lie"),
        (lambda: required_for_width(0.5, 0.0), "half_width must lie"),
        (lambda: required_for_one(0.5, -0.1), "floor must lie"),
        (lambda: required_for_mean(0.1, -1.0), "spread must not"),
        (lambda: cohens_h(0.2, 1.2), "second must lie"),
        (lambda: newcombe_paired(0, 0, 0, 0), "not all 0"),
        (lambda: cluster_bootstrap([], []), "at least one"),
    ],
)
def test_impossible_arguments_are_refused(call, told):
    with pytest.raises(ValueError, match=told):
        call()


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "least"), [(30, 0.90), (100, 0.925)])
def test_the_clustered_bootstrap_covers_the_truth(clusters, least):
    # Patients with a success rate of their own, Beta(1, 2): mean 1/3; four rows each. 95 % is nominal.
    rng, held = np.random.default_rng(5), 0
    names = np.repeat(np.arange(clusters), 4)
    for seed in range(1000):
        rows = rng.random(4 * clusters) < np.repeat(rng.beta(1, 2, clusters), 4)
        low, high = cluster_bootstrap(rows.astype(float), names, method="bca", resamples=1000, seed=seed)
        held += low <= 1 / 3 <= high
    assert least <= held / 1000 <= 0.975


def test_newcombes_interval_covers_the_truth():
    # Exact coverage over every table of 20 rows at 45 % both, 20 % second only, 10 % first only: difference 0.1.
    n, shares = 20, (0.45, 0.10, 0.20, 0.25)
    held = total = 0.0
    for both, first, second in product(range(n + 1), repeat=3):
        if both + first + second <= n:
            table = (both, first, second, n - both - first - second)
            chance = stats.multinomial.pmf(table, n, shares)
            if chance > 1e-7:
                low, high = newcombe_paired(*table)
                held, total = held + chance * (low <= 0.1 <= high), total + chance
    assert held / total == pytest.approx(0.95, abs=0.02)
