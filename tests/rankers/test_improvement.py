"""How far settings are expected to improve on the best one."""

from math import erf, exp, log, pi, sqrt

import numpy as np
import pytest

from rankloop.rankers.base import improvement
from rankloop.rankers.base.improvement import FoldModel
from rankloop.rankers.base.space import Space

SPACE = Space.of({"leaves": (4, 64, "log"), "rate": (0.0, 1.0), "loss": ["a", "b", "c"]})


def naive_improvement(tried, at, fold, values, folds, candidates, own, best, rng):
    """In plain loops, with inverse matrices: the mean over all folds is one more value of the process."""
    n, parameters = len(values), tried.shape[1]
    middle = {one: np.median([v for v, f in zip(values, fold, strict=True) if f == one]) for one in set(fold)}
    level = np.mean([middle.get(one, np.mean(list(middle.values()))) for one in range(folds)])
    y = np.array([v - middle[f] for v, f in zip(values, fold, strict=True)])
    y = np.maximum(y, -improvement.LOWEST * max(y))
    unit = np.std(y)
    y = y / unit

    def smooth(a, b, length):
        def matern(r):
            r = sqrt(5.0) * r
            return (1 + r + r * r / 3) * exp(-r)

        distances = SPACE.apart(a[None], b[None])[0, 0]
        alone = sum(matern(d / one) for d, one in zip(distances, length, strict=True)) / parameters
        together = matern(sqrt(sum((d / one) ** 2 for d, one in zip(distances, length, strict=True))))
        return improvement.ALONE * alone + (1 - improvement.ALONE) * together

    total, evidence = [], []
    for _ in range(improvement.MODELS):
        length = np.exp(rng.normal(log(improvement.LENGTH), improvement.SPREAD, parameters))
        shares = [improvement.OF_FOLD, improvement.OF_SETTING, improvement.OF_FIT] * np.exp(
            rng.normal(size=3)
        )

        def covariance(a, fold_a, own_a, b, fold_b, own_b, length=length, shares=shares):
            """Of the values of two settings on two folds."""
            same, same_fold = own_a == own_b, fold_a == fold_b
            found = smooth(a, b, length) * (1 + shares[0] * same_fold) + shares[1] * same
            return found + shares[2] * (same and same_fold) + improvement.LEVEL * (1 + same_fold)

        K = np.array(
            [
                [covariance(tried[at[i]], fold[i], at[i], tried[at[j]], fold[j], at[j]) for j in range(n)]
                for i in range(n)
            ]
        )
        inverse = np.linalg.inv(K)
        scale = y @ inverse @ y / n
        evidence.append(-n / 2 * log(scale) - np.linalg.slogdet(K)[1] / 2)
        found = []
        for place, me in zip(candidates, own, strict=True):
            me = "new" if me < 0 else me
            k = np.array(
                [
                    np.mean([covariance(place, f, me, tried[at[j]], fold[j], at[j]) for f in range(folds)])
                    for j in range(n)
                ]
            )
            itself = np.mean(
                [[covariance(place, f, me, place, g, me) for f in range(folds)] for g in range(folds)]
            )
            sd = sqrt(max(itself - k @ inverse @ k, 1e-9) * scale) * unit
            z = ((k @ inverse @ y) * unit + level - best) / sd
            found.append(sd * (z * (1 + erf(z / sqrt(2))) / 2 + exp(-z * z / 2) / sqrt(2 * pi)))
        total.append(found)
    weights = np.exp(np.array(evidence) - max(evidence))
    return weights @ np.array(total) / weights.sum()


@pytest.mark.parametrize("seed", range(4))
def test_as_in_plain_loops(seed):
    rng = np.random.default_rng(seed)
    tried, candidates = SPACE.draw(7, rng), SPACE.draw(5, rng)
    at = np.array([0, 0, 0, 1, 1, 2, 3, 4, 5, 6])
    fold = np.array([0, 1, 2, 1, 2, 2, 1, 0, 1, 0]) if seed else np.array([0, 1, 2, 1, 2, 2, 1, 2, 1, 1])
    values = rng.normal(size=len(at)) + 5 * fold
    candidates, own = np.concatenate((candidates, tried)), np.r_[np.full(5, -1), np.arange(7)]
    best = values[:3].mean() + 0.1
    model = FoldModel(SPACE.apart(tried, tried), at, fold, values, 3, np.random.default_rng(seed))
    found = model.expected_improvement(SPACE.apart(candidates, tried), own, best)
    naive = naive_improvement(tried, at, fold, values, 3, candidates, own, best, np.random.default_rng(seed))
    np.testing.assert_allclose(found, naive, rtol=0.05, atol=1e-9)  # unlikely models are left out
    assert found[5] < 1e-6  # it has all folds, and is known to be below the best


def test_what_is_known_of_a_setting_counts():
    """Two settings at the same distance from all others: the one that did well on a fold promises more."""
    tried = np.array([[0.0], [0.5], [0.5], [1.0]])
    apart = np.abs(tried[:, None] - tried[None])
    at, fold = np.array([0, 0, 1, 2, 3, 3]), np.array([0, 1, 0, 0, 0, 1])
    values = np.array([0.5, 0.6, 0.58, 0.42, 0.5, 0.6])
    model = FoldModel(apart, at, fold, values, 2, np.random.default_rng(0))
    well, badly, new = model.expected_improvement(apart[[1, 2, 1]], np.array([1, 2, -1]), 0.55)
    assert well > new > badly


def test_a_fold_that_is_easier_for_all_says_nothing_of_a_setting():
    rng = np.random.default_rng(0)
    tried, candidates = SPACE.draw(8, rng), SPACE.draw(4, rng)
    at, fold = np.arange(8).repeat(2), np.tile([0, 1], 8)
    values = rng.normal(size=16)
    found = [
        FoldModel(
            SPACE.apart(tried, tried), at, fold, values + more * fold, 2, np.random.default_rng(1)
        ).expected_improvement(SPACE.apart(candidates, tried), np.full(4, -1), values[:2].mean() + more / 2)
        for more in (0.0, 100.0)
    ]
    np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.parametrize("values", [np.full(6, 0.5), np.r_[np.full(5, 0.5), 0.6]])
def test_values_that_are_equal_and_settings_that_are(values):
    at, fold = np.arange(3).repeat(2), np.tile([0, 1], 3)
    model = FoldModel(np.zeros((3, 3, 2)), at, fold, values, 2, np.random.default_rng(0))
    found = model.expected_improvement(np.zeros((3, 3, 2)), np.array([-1, 0, 2]), 0.5)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
