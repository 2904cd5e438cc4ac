"""Curves that are drawn towards a plain shape, but only where they know little themselves."""

import numpy as np
import pytest

from rankloop.propensity import Propensity
from rankloop.serve.learning.curve import shrunk


def curve(values, variance):
    values = np.array(values, float)
    noise = np.diag([0.0, *[variance] * (len(values) - 1)])
    return Propensity(values, values.copy(), values.copy(), "swaps", log_covariance=noise)


def test_a_sure_curve_stays_as_it_is():
    values = [1.0, 0.9, 0.3, 0.25]
    np.testing.assert_allclose(shrunk(curve(values, 1e-8)).values, values, rtol=1e-4)


def test_a_vague_one_becomes_a_power_of_the_rank():
    found = shrunk(curve([1.0, 0.001, 0.9, 0.9], 1e6))
    np.testing.assert_allclose(found.values, 1 / np.arange(1, 5), rtol=1e-3)
    assert found.high[3] / found.low[3] > 4  # nobody knows how steep it is


def test_a_sure_rank_says_how_steep_the_others_are():
    noise = np.diag([0.0, 1e-4, 1e4, 1e4])
    values = np.array([1.0, 0.25, 0.9, 0.9])
    found = shrunk(Propensity(values, values, values, "swaps", log_covariance=noise)).values
    assert found[1] == pytest.approx(0.25, rel=0.01)
    assert found[3] < 0.15  # about 1/16, where 1/4 was the guess


def test_ranks_that_were_never_swapped_follow_the_shape():
    found = shrunk(curve([1.0, 0.5], 1e-4), depth=4)
    assert "if it is one, the interval is wide" in found.method
    assert len(found) == 4
    assert np.all(np.diff(found.values) <= 0)
    assert found.high[3] / found.low[3] > found.high[1] / found.low[1]
    assert shrunk(Propensity.given([1.0, 0.5])).values.tolist() == [1.0, 0.5]


def test_the_naive_posterior_agrees():
    """By conditioning a joint normal of shape, curve and evidence, one number at a time."""
    observed, variance, spread = np.log([0.6, 0.3]), 0.2, 0.3
    steps = np.log([2.0, 3.0])
    prior = np.outer(steps, steps) + spread**2 * np.eye(2)
    joint = np.block([[prior, prior], [prior, prior + variance * np.eye(2)]])
    center = -steps + joint[:2, 2:] @ np.linalg.inv(joint[2:, 2:]) @ (observed + steps)
    found = shrunk(curve([1.0, 0.6, 0.3], variance), spread=spread)
    np.testing.assert_allclose(np.log(found.values[1:]), center, atol=1e-9)
