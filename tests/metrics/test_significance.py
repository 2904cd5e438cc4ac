import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankloop.metrics.results.mean import mean_of
from rankloop.metrics.results.significance import holm, paired_bootstrap, paired_t, randomization

TESTS = [paired_t, randomization, paired_bootstrap]
grades = st.integers(0, 8).map(lambda eighth: eighth / 8)
pairs_of_values = st.lists(st.tuples(grades, grades), min_size=1, max_size=9).map(
    lambda rows: (np.array(rows)[:, 0], np.array(rows)[:, 1])
)


def systems(n, *, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    baseline = rng.beta(2, 2, n)
    return np.clip(baseline + shift + rng.normal(0, 0.1, n), 0, 1), baseline


def slow_randomization_p(values, baseline, weight):
    """Every way of swapping, in plain loops."""
    differences = [w * (v - b) for v, b, w in zip(values, baseline, weight, strict=True)]
    seen, as_large, ways = abs(sum(differences)), 0, 0
    for signs in itertools.product((1, -1), repeat=len(differences)):
        ways += 1
        total = sum(sign * d for sign, d in zip(signs, differences, strict=True))
        as_large += abs(total) >= seen - 1e-9
    return as_large / ways


# the paired t-test


@pytest.mark.parametrize("n", [2, 3, 10, 500])
def test_paired_t_is_scipys(n):
    values, baseline = systems(n, shift=0.02, seed=n)
    ours, theirs = paired_t(values, baseline), stats.ttest_rel(values, baseline)
    interval = theirs.confidence_interval(0.95)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert ours.mean == pytest.approx(np.mean(values - baseline))


def test_paired_t_by_hand():
    # differences 1, 2, 3: mean 2, standard error 1/sqrt(3), t = 3.4641 with two degrees of freedom
    found = paired_t([2, 3, 4], [1, 1, 1])
    assert found.p_value == pytest.approx(0.0741799, abs=1e-7)
    assert found.low == pytest.approx(2 - 4.302653 / np.sqrt(3), abs=1e-6)


def test_integer_weights_move_the_mean_as_repeated_queries_would():
    values, baseline = systems(30, seed=3)
    weight = np.random.default_rng(0).integers(0, 4, 30)
    repeated = np.repeat(values - baseline, weight)
    for test in TESTS:
        assert test(values, baseline, weight=weight).mean == pytest.approx(repeated.mean())


# Fisher's randomisation


@given(pairs_of_values, st.data())
def test_randomization_tries_every_swap_when_few(both, data):
    values, baseline = both
    weight = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(values), max_size=len(values))))
    expected = slow_randomization_p(values, baseline, weight)
    assert randomization(values, baseline, weight=weight).p_value == expected


@pytest.mark.parametrize("seed", range(5))
def test_randomization_is_scipys_exact_permutation_test(seed):
    values, baseline = systems(11, shift=0.05, seed=seed)
    theirs = stats.permutation_test(
        (values, baseline),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert randomization(values, baseline).p_value == pytest.approx(theirs.pvalue, abs=1e-12)


def test_randomization_drawn_agrees_with_exact():
    values, baseline = systems(14, shift=0.03, seed=8)
    exact = randomization(values, baseline)  # 2^14 swaps
    drawn = randomization(values, baseline, resamples=2**14 - 1, seed=1)
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.012)  # three standard errors
    assert (drawn.low, drawn.high) == pytest.approx((exact.low, exact.high), abs=0.005)


@pytest.mark.parametrize("weighted", [False, True])
def test_randomization_interval_holds_what_the_test_does_not_reject(weighted):
    values, baseline = systems(12, shift=0.05, seed=4)
    weight = np.random.default_rng(1).uniform(0.5, 2, 12) if weighted else np.ones(12)
    found = randomization(values, baseline, weight=weight)
    for edge, outward in ((found.low, -1e-6), (found.high, 1e-6)):
        inside = randomization(values - (edge - outward), baseline, weight=weight).p_value
        outside = randomization(values - (edge + outward), baseline, weight=weight).p_value
        assert outside <= 0.05 < inside


def test_few_queries_prove_nothing_by_randomization():
    found = randomization([1, 1, 1, 1, 1], [0, 0, 0, 0, 0])
    assert found.p_value == 2 / 2**5
    assert (found.low, found.high) == (-np.inf, np.inf)


def test_randomization_of_many_queries_is_nearly_normal():
    values, baseline = systems(5_000, shift=0.0015, seed=2)
    drawn = randomization(values, baseline, resamples=20_000)
    assert drawn.p_value == pytest.approx(paired_t(values, baseline).p_value, abs=0.01)


# the bootstrap


def slow_bootstrap(values, baseline, draws):
    """The studentised bootstrap over given draws of queries, in plain loops."""
    d = [v - b for v, b in zip(values, baseline, strict=True)]
    n = len(d)

    def mean_and_error(sample):
        mean = sum(sample) / n
        return mean, (sum((x - mean) ** 2 for x in sample) / (n * (n - 1))) ** 0.5

    mean, error = mean_and_error(d)
    as_large = 1
    for draw in draws:
        again, spread = mean_and_error([d[i] for i in draw])
        as_large += abs(again - mean) * error >= abs(mean) * spread * (1 - 1e-9)
    return as_large / (len(draws) + 1)


@pytest.mark.parametrize("n", [4, 9, 25])
def test_bootstrap_is_its_slow_twin_on_the_same_draws(n):
    values, baseline = systems(n, shift=0.04, seed=n)
    draws = np.random.default_rng(7).integers(0, n, (400, n), dtype=np.int32)
    found = paired_bootstrap(values, baseline, resamples=400, seed=7)
    assert found.p_value == pytest.approx(slow_bootstrap(values, baseline, draws.tolist()))


def test_bootstrap_interval_of_many_queries_is_scipys():
    values, baseline = systems(400, shift=0.01, seed=5)
    theirs = stats.bootstrap(
        (values - baseline,), np.mean, n_resamples=5_000, method="BCa", rng=np.random.default_rng(0)
    ).confidence_interval
    found = paired_bootstrap(values, baseline)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.001)


# all of them


def thousand(test, seed, drawn):
    """The outcomes of a thousand experiments."""
    rng = np.random.default_rng(seed)
    options = {} if test is paired_t else {"resamples": 400}
    return [test(*drawn(rng), **options) for _ in range(1_000)]


@pytest.mark.parametrize("test", TESTS)
def test_false_alarms_are_one_in_twenty(test):
    # 1,000 experiments without a difference; 5 % +- 2 % is three standard errors.
    found = thousand(test, 11, lambda rng: rng.beta(2, 2, (2, 25)))
    assert 30 <= sum(one.p_value <= 0.05 for one in found) <= 70


@pytest.mark.parametrize("test", TESTS)
def test_intervals_hold_the_truth_nineteen_times_in_twenty(test):
    def better(rng):
        baseline = rng.beta(2, 2, 25)
        return baseline + rng.normal(0.1, 0.2, 25), baseline

    assert 930 <= sum(one.low <= 0.1 <= one.high for one in thousand(test, 12, better)) <= 970


@pytest.mark.parametrize("test", TESTS)
@given(both=pairs_of_values)
def test_swapping_the_systems_mirrors_the_answer(test, both):
    options = {} if test is paired_t else {"resamples": 200}
    there, back = test(both[0], both[1], **options), test(both[1], both[0], **options)
    assert there.mean == pytest.approx(-back.mean)
    assert there.p_value == pytest.approx(back.p_value)
    assert 0 <= there.p_value <= 1
    assert there.low <= there.mean + 1e-12
    assert there.mean - 1e-12 <= there.high


@pytest.mark.parametrize("test", TESTS)
def test_no_difference_at_all(test):
    found = test([0.2, 0.4, 0.9], [0.2, 0.4, 0.9])
    assert found.mean == 0
    assert found.p_value == 1


@pytest.mark.parametrize("test", TESTS)
def test_one_query_shows_nothing(test):
    assert test([1.0], [0.0])[1:4] == (-np.inf, np.inf, 1.0)


@pytest.mark.parametrize("test", TESTS)
def test_the_same_difference_everywhere(test):
    found = test(np.arange(30.0) + 0.5, np.arange(30.0))
    assert found.p_value < 0.001
    assert (found.low, found.high) == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize("test", [randomization, paired_bootstrap])
def test_seeds_repeat(test):
    values, baseline = systems(40, seed=6)
    assert test(values, baseline, seed=3) == test(values, baseline, seed=3)
    assert test(values, baseline, seed=3) != test(values, baseline, seed=4)


@pytest.mark.parametrize("test", TESTS)
def test_bad_input(test):
    with pytest.raises(ValueError, match=r"same order, got shapes \(2,\) and \(3,\)"):
        test([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match=r"got nan and 1\.0 for query 1; leave out"):
        test([1, np.nan], [1, 1])
    with pytest.raises(ValueError, match="no query to compare on"):
        test([], [])
    with pytest.raises(ValueError, match="finite number >= 0 per query"):
        test([1, 2], [0, 0], weight=[1, -1])
    with pytest.raises(ValueError, match="confidence lies between 0 and 1, got 95"):
        test([1, 2], [0, 0], confidence=95)


@pytest.mark.parametrize("test", [randomization, paired_bootstrap])
def test_no_resamples(test):
    with pytest.raises(ValueError, match="at least 1, got 0"):
        test([1, 2], [0, 0], resamples=0)


def test_holm_by_hand():
    assert holm([0.04, 0.01, 0.03, 0.005]).tolist() == pytest.approx([0.06, 0.03, 0.06, 0.02])
    assert holm([0.6, 0.9]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_never_lowers(p_values):
    adjusted = holm(p_values)
    assert np.all(adjusted >= p_values)
    assert np.all(adjusted <= np.minimum(1, np.multiply(p_values, len(p_values))))  # Bonferroni
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(adjusted[order]) >= 0)


@pytest.mark.parametrize("wrong", [[0.5, 1.5], [np.nan], [[0.5]]])
def test_holm_takes_p_values(wrong):
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm(wrong)


def test_mean_of_weighted_lists_by_hand():
    mean = mean_of(np.array([1.0, 0.0, np.nan, 0.25]), np.array([3.0, 1.0, 5.0, 0.0]))
    assert (mean.value, mean.n) == (0.75, 2)
    # jackknife: without the first query the mean is 0, without the second 1
    assert mean.error == pytest.approx(np.sqrt((0.75**2 + 0.25**2) / 2))
    assert mean.units == pytest.approx(10**2 / (9**2 + 1))  # about the error
    counted = mean_of(np.array([1.0, 0.0]), np.array([3.0, 1.0]), kind="student")
    assert counted.units == pytest.approx(16 / 10)  # about the value
    assert mean_of(np.array([np.nan]), np.ones(1)).n == 0
