"""The setting that a search tries next."""

from math import erf, exp, log, pi, sqrt

import numpy as np
import pytest

from rankloop.rankers.base import improvement
from rankloop.rankers.base.improvement import expected_improvement
from rankloop.rankers.base.next_setting import next_setting, places, separation

RANGES = {
    "leaves": {"low": 4, "high": 64, "log": True},
    "rate": {"low": 0.0, "high": 1.0},
    "depth": {"low": 2, "high": 11, "step": 3},
    "share": {"low": 0.1, "high": 0.9, "step": 0.25},
    "loss": ["a", "b", "c"],
    "fixed": {"low": 3, "high": 3},
}


def some(rng, count):
    return [
        {
            "leaves": int(rng.integers(4, 65)),
            "rate": float(rng.random()),
            "depth": int(rng.choice([2, 5, 8, 11])),
            "share": float(rng.choice([0.1, 0.35, 0.6, 0.85])),
            "loss": int(rng.integers(3)),
            "fixed": 3,
        }
        for _ in range(count)
    ]


def naive_improvement(apart, values, reach, rng):
    """In plain loops, with inverse matrices."""
    n, parameters = apart.shape[1:]

    def covariance(distances, length):
        def matern(r):
            r = sqrt(5.0) * r
            return (1 + r + r * r / 3) * exp(-r)

        alone = sum(matern(d / one) for d, one in zip(distances, length, strict=True)) / parameters
        together = matern(sqrt(sum((d / one) ** 2 for d, one in zip(distances, length, strict=True))))
        return improvement.ALONE * alone + (1 - improvement.ALONE) * together

    middle = np.median(values)
    y = np.array([max(value, middle - improvement.LOWEST * (max(values) - middle)) for value in values])
    y = (y - y.mean()) / y.std()
    lengths = np.exp(
        rng.normal(log(improvement.LENGTH), improvement.SPREAD, (improvement.MODELS, parameters))
    )
    noises = np.exp(rng.normal(log(improvement.NOISE), 1.0, improvement.MODELS))
    total, evidence = [], []
    for length, noise in zip(lengths, noises, strict=True):
        K = np.array(
            [[covariance(apart[i, j], length) + noise * (i == j) for j in range(n)] for i in range(n)]
        )
        inverse = np.linalg.inv(K)
        scale = y @ inverse @ y / n
        evidence.append(-n / 2 * log(scale) - np.linalg.slogdet(K)[1] / 2)
        found = []
        for row in reach:
            k = np.array([covariance(one, length) for one in row])
            sd = sqrt(scale * (1 - k @ inverse @ k + noise))
            z = (k @ inverse @ y - y.max()) / sd
            found.append(sd * (z * (1 + erf(z / sqrt(2))) / 2 + exp(-z * z / 2) / sqrt(2 * pi)))
        total.append(found)
    return np.exp(np.array(evidence) - max(evidence)) @ np.array(total)


@pytest.mark.parametrize("seed", range(4))
def test_expected_improvement_as_in_plain_loops(seed):
    rng = np.random.default_rng(seed)
    tried, candidates = places(some(rng, 9), RANGES), places(some(rng, 6), RANGES)
    values = rng.normal(size=9)
    apart, reach = separation(tried, tried, RANGES), separation(candidates, tried, RANGES)
    found = expected_improvement(apart, values, reach, np.random.default_rng(seed))
    naive = naive_improvement(apart, values, reach, np.random.default_rng(seed))
    np.testing.assert_allclose(found, naive, rtol=0.05)  # models that explain the values badly are left out


def test_values_that_are_all_equal_and_settings_that_are():
    same = np.zeros((5, 5, 2))
    found = expected_improvement(same, np.full(5, 0.5), np.zeros((3, 5, 2)), np.random.default_rng(0))
    assert np.isfinite(found).all()


@pytest.mark.parametrize("seed", range(10))
def test_it_is_in_the_ranges_and_not_near_what_was_tried(seed):
    rng = np.random.default_rng(seed)
    tried = some(rng, 12)
    values = rng.normal(size=12)
    found = next_setting(tried, values, RANGES, 0.1, np.random.default_rng(seed))
    assert found == next_setting(tried, values, RANGES, 0.1, np.random.default_rng(seed))
    assert [type(value) for value in found.values()] == [int, float, int, float, int, int]
    assert 4 <= found["leaves"] <= 64
    assert 0 <= found["rate"] <= 1
    assert found["depth"] in (2, 5, 8, 11)
    assert min(abs(found["share"] - one) for one in (0.1, 0.35, 0.6, 0.85)) < 1e-9
    assert found["loss"] in (0, 1, 2)
    assert found["fixed"] == 3
    apart = separation(places([found], RANGES), places(tried, RANGES), RANGES)
    assert apart.max(axis=2).min() > 0.1


def test_it_finds_the_best_of_a_smooth_function_sooner_than_chance():
    ranges = {
        "x": {"low": 0.01, "high": 100.0, "log": True},
        "y": {"low": 0.0, "high": 1.0},
        "kind": ["a", "b"],
    }

    def value(one):
        return -((np.log10(one["x"]) / 4) ** 2) - (one["y"] - 0.3) ** 2 - 0.1 * one["kind"]

    reached, chance = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        random = [
            {"x": 10 ** rng.uniform(-2, 2), "y": rng.random(), "kind": int(rng.integers(2))}
            for _ in range(40)
        ]
        tried = random[:8]
        while len(tried) < 20:
            values = np.array([value(one) for one in tried])
            tried = [*tried, next_setting(tried, values, ranges, 0.01, rng)]
        reached.append(max(map(value, tried)))
        chance.append(max(map(value, random)))
    assert np.mean(reached) > 0.25 * np.mean(chance)  # both below 0, the maximum
