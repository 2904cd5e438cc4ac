"""A ratio of sums: its error against leave-one-out loops, its interval against scipy and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankloop._ratio import mixture_quantile, ratio, reach


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(0.1, 5)), min_size=2, max_size=12))
def test_the_error_is_the_jackknifes(rows):
    above, below = np.array(rows).T
    found = ratio(above, below)
    n, value = len(above), above.sum() / below.sum()
    left = [np.delete(above, i).sum() / np.delete(below, i).sum() for i in range(n)]
    slow = np.sqrt((n - 1) / n * sum((one - value) ** 2 for one in left))
    assert found.value == pytest.approx(value)
    assert found.error == pytest.approx(slow, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), st.sampled_from(["student", "skewed", "share"]))
def test_every_interval_holds_its_value(values, kind):
    found = ratio(np.array(values), np.ones(len(values)), kind=kind)
    assert found.low <= found.value <= found.high
    if kind == "share":
        assert found.low >= -1e-12
        assert found.high <= 1 + 1e-12


def test_equal_units_are_students_t():
    values = np.array([0.1, 0.4, 0.35, 0.8])
    found = ratio(values, np.ones(4), kind="student")
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.units == 4


def test_a_share_of_hits_is_wilsons_by_hand():
    """10 hits of 100: Wilson's interval with t = 1.984 and the variance of 99 degrees of freedom."""
    found = ratio(np.repeat([1.0, 0.0], [10, 90]), np.ones(100), kind="share")
    t2 = stats.t.ppf(0.975, 99) ** 2 * (100 / 99) / 100
    centre, half = (0.1 + t2 / 2) / (1 + t2), np.sqrt(t2 * (0.09 + t2 / 4)) / (1 + t2)
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half))
    none = ratio(np.zeros(20), np.ones(20), kind="share")
    assert none.low == 0.0
    assert 0.1 < none.high < 0.25  # "none of 20" is not "never"


def test_skewness_turns_the_interval_the_way_of_the_tail():
    low, high = reach(0.0, 1.0, 50.0, skew=0.4)
    assert high > -low
    assert reach(0.0, 1.0, 50.0, skew=-0.4) == pytest.approx((-high, -low))
    assert reach(0.0, 1.0, 50.0, skew=1e-12) == pytest.approx(reach(0.0, 1.0, 50.0))


def test_one_unit_says_nothing():
    assert ratio(np.ones(1), np.ones(1)).high == np.inf
    assert ratio(np.array([1.0, 0.0]), np.array([1.0, 0.0])).high == np.inf


def test_a_mixture_against_its_own_draws():
    """Half of the assumptions say 0 ± 1, half 3 ± 2: the quantiles are those of a large sample."""
    values, errors = np.repeat([0.0, 3.0], 5), np.repeat([1.0, 2.0], 5)
    rng = np.random.default_rng(0)
    drawn = rng.normal(np.repeat([0.0, 3.0], 500_000), np.repeat([1.0, 2.0], 500_000))
    for share in (0.0125, 0.5, 0.975):
        found = mixture_quantile(values, errors, 1e9, share)
        assert found == pytest.approx(np.quantile(drawn, share), abs=0.02)
    assert mixture_quantile(np.zeros(3), np.zeros(3), 20.0, 0.025) == pytest.approx(0.0)


def test_a_share_of_few_skewed_values_is_covered():
    """Reciprocal ranks of 20 queries, seven of ten 0: 91.8 % were covered with the spread as seen."""
    rng, held = np.random.default_rng(3), 0
    true = 0.3 * 0.3 * np.log(1 / 0.3) / 0.7  # a geometric rank's mean reciprocal, for three queries of ten
    for _ in range(3000):
        values = np.where(rng.random(20) < 0.3, 1.0 / rng.geometric(0.3, 20), 0.0)
        found = ratio(values, np.ones(20), kind="share")
        held += found.low <= true <= found.high
    assert 0.932 < held / 3000 < 0.96


def test_the_spread_of_a_skewed_share_by_hand():
    """One half among nine zeros: the spread is 1 + skew**2 / 2 times as large, at most that of hits, 1."""
    values = np.array([0.5, *[0.0] * 9])
    found = ratio(values, np.ones(10), kind="share")
    square = 0.45**2 + 9 * 0.05**2
    skew = (0.45**3 - 9 * 0.05**3) / square**1.5
    spread = square / 90 * 10 / (0.05 * 0.95)
    assert 0.5 < spread < 0.6
    assert skew**2 > 0.7
    spread = min(spread * (1 + skew**2 / 2), 1)
    wide = stats.t.ppf(0.975, 9) ** 2 * spread / 10
    half = np.sqrt(wide * (0.05 * 0.95 + wide / 4)) / (1 + wide)
    assert found.high == pytest.approx((0.05 + wide / 2) / (1 + wide) + half)


def test_values_that_are_close_together_stay_so():
    """A mean near 0.8 with hardly any skewness: what is added is that much, and not a part of 1."""
    values = np.random.default_rng(0).beta(20, 5, 40)
    found = ratio(values, np.ones(40), kind="share")
    usual = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert 0.98 < (found.high - found.low) / (usual.high - usual.low) < 1.03
