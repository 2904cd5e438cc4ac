"""Agreement of raters: published figures, scikit-learn, the definition in plain loops, chance, bad input."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from rankloop.metrics import krippendorff_alpha, weighted_kappa

NO = np.nan
# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section C: four observers, twelve units.
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NO, NO, NO],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NO, 3],
        [NO, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NO],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NO],
    ]
).T


@pytest.mark.parametrize(
    ("distance", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_is_the_published_one(distance, alpha):
    found = krippendorff_alpha(PUBLISHED, distance=distance)
    assert found.value == pytest.approx(alpha, abs=5e-4)
    assert (found.items, found.raters) == (11, 4)
    assert sum(found.rates.values()) == pytest.approx(1)
    assert found.low < found.value < found.high


def naive_alpha(table, distance):
    """The definition: the mean distance of two grades of an item over that of any two grades."""
    items = [[grade for grade in row if grade == grade] for row in table]
    items = [row for row in items if len(row) > 1]
    pool = [grade for row in items for grade in row]

    def apart(one, two):
        if distance == "nominal":
            return float(one != two)
        if distance == "interval":
            return (one - two) ** 2
        if distance == "ratio":
            return 0.0 if one == two else ((one - two) / (one + two)) ** 2
        low, high = sorted((one, two))
        between = sum(low <= grade <= high for grade in pool)
        return (between - (pool.count(one) + pool.count(two)) / 2) ** 2 if one != two else 0.0

    if len(pool) < 2:
        return np.nan
    within = sum(sum(apart(a, b) for a, b in permutations(row, 2)) / (len(row) - 1) for row in items)
    anywhere = sum(apart(a, b) for a, b in permutations(pool, 2)) / (len(pool) - 1)
    return 1 - within / anywhere if anywhere > 0 else np.nan


grades = st.sampled_from([0.0, 1.0, 2.0, 3.0, NO])


@given(
    table=st.integers(1, 4).flatmap(
        lambda raters: st.lists(st.lists(grades, min_size=raters, max_size=raters), min_size=1, max_size=9)
    ),
    distance=st.sampled_from(["nominal", "ordinal", "interval", "ratio"]),
)
def test_alpha_is_the_definition(table, distance):
    found = krippendorff_alpha(table, distance=distance, resamples=1)
    np.testing.assert_allclose(found.value, naive_alpha(table, distance), atol=1e-12)


@given(
    pairs=st.lists(st.tuples(*[st.integers(0, 3)] * 2), min_size=1, max_size=40),
    weights=st.sampled_from(["none", "linear", "quadratic"]),
)
def test_kappa_is_that_of_scikit_learn(pairs, weights):
    one, two = np.array(pairs).T
    found = weighted_kappa(one, two, weights=weights, resamples=1)
    if len(set(one.tolist() + two.tolist())) == 1:
        assert np.isnan(found.value)
        assert found.observed == 1
        return
    theirs = cohen_kappa_score(one, two, labels=[0, 1, 2, 3], weights=None if weights == "none" else weights)
    assert found.value == pytest.approx(theirs)


def test_kappa_by_hand():
    """Observed agreement 0.7, by chance .5 * .6 + .5 * .4 = 0.5, so that kappa is 0.4 (Cohen, 1960)."""
    one = [1] * 25 + [0] * 25
    two = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    found = weighted_kappa(one, two, weights="none")
    assert (found.observed, found.expected, found.value) == pytest.approx((0.7, 0.5, 0.4))
    assert found.rates == pytest.approx({0.0: 0.45, 1.0: 0.55})
    assert "observed 0.700, by chance 0.500" in str(found)


def test_the_base_rate_tells_why_kappa_is_low():
    one, two = np.zeros(100), np.zeros(100)
    one[0] = two[1] = 3
    found = weighted_kappa(one, two)
    assert found.observed == pytest.approx(0.98)
    assert found.value < 0
    assert found.rates == pytest.approx({0.0: 0.99, 3.0: 0.01})


@pytest.mark.parametrize("measure", ["kappa", "alpha"])
def test_raters_who_guess_agree_by_chance_and_the_interval_says_so(measure):
    """Of 200 pairs of raters who roll dice, the 95 % interval covers 0 in 90 to 99 %."""
    rng, covered = np.random.default_rng(3), 0
    for trial in range(200):
        table = rng.choice(4, (60, 2), p=[0.4, 0.3, 0.2, 0.1]).astype(float)
        if measure == "kappa":
            found = weighted_kappa(table[:, 0], table[:, 1], resamples=200, seed=trial)
        else:
            found = krippendorff_alpha(table, distance="interval", resamples=200, seed=trial)
        covered += found.low <= 0 <= found.high
    assert 180 <= covered <= 198


def test_the_interval_narrows_as_its_square_root():
    rng = np.random.default_rng(0)
    wide = []
    for items in (100, 1600):
        truth = rng.integers(0, 4, items)
        seen = np.where(rng.random((items, 2)) < 0.7, truth[:, None], rng.integers(0, 4, (items, 2)))
        found = krippendorff_alpha(seen.astype(float))
        wide.append(found.high - found.low)
    assert 2.5 < wide[0] / wide[1] < 6


def test_nobody_agrees_where_nobody_graded_twice():
    for found in (
        krippendorff_alpha([[1, NO], [NO, 2]]),
        krippendorff_alpha(np.empty((0, 3))),
        weighted_kappa([1, NO], [NO, 2]),
    ):
        assert np.isnan(found.value)
        assert np.isnan(found.low)
        assert found.items == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: weighted_kappa([1, 2], [1]), "the same items, got 2 and 1"),
        (lambda: weighted_kappa([1], [1], weights="cubic"), "unknown weights 'cubic'"),
        (lambda: weighted_kappa([np.inf], [1]), "infinite"),
        (lambda: weighted_kappa(range(200), range(200)), "at most 100 distinct grades, got 200"),
        (lambda: weighted_kappa([1], [1], confidence=95), "between 0 and 1, got 95"),
        (lambda: weighted_kappa([1], [1], resamples=0), "at least 1, got 0"),
        (lambda: krippendorff_alpha([1, 2]), "array of 1 dimensions"),
        (lambda: krippendorff_alpha([[1, 2]], distance="euclid"), "unknown distance 'euclid'"),
        (lambda: krippendorff_alpha([[-1, 2]], distance="ratio"), "grades from 0, got -1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
