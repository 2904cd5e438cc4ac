"""The space of a search for parameters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.rankers.base.space import Space

SPACE = Space.of(
    {
        "leaves": (4, 64, "log"),
        "rate": (0.0, 1.0),
        "depth": {"low": 2, "high": 11, "step": 3},
        "share": {"low": 0.1, "high": 0.9, "step": 0.25},
        "loss": ["a", "b", "c"],
        "fixed": (3, 3),
    }
)


@given(seed=st.integers(0, 1000), count=st.integers(1, 20))
def test_settings_are_in_the_ranges(seed, count):
    rng = np.random.default_rng(seed)
    rows = SPACE.draw(count, rng)
    settings = SPACE.settings(rows)
    assert len(settings) == count
    for found in settings:
        assert [type(value) for value in found.values()] == [int, float, int, float, str, int]
        assert 4 <= found["leaves"] <= 64
        assert 0 <= found["rate"] <= 1
        assert found["depth"] in (2, 5, 8, 11)
        assert min(abs(found["share"] - one) for one in (0.1, 0.35, 0.6, 0.85)) < 1e-9
        assert found["loss"] in ("a", "b", "c")
        assert found["fixed"] == 3
    numbered = [{**found, "loss": "abc".index(found["loss"])} for found in settings]
    np.testing.assert_allclose(SPACE.places(numbered, rng), rows)


def test_a_small_space_is_drawn_whole_and_once():
    space = Space.of({"n": (1, 4), "step": {"low": 0.5, "high": 1.4, "step": 0.5}, "kind": ["a", "b"]})
    found = space.settings(space.draw(16, np.random.default_rng(0)))
    assert len({tuple(one.values()) for one in found}) == len(found) == 16
    assert {one["step"] for one in found} == {0.5, 1.0}
    assert len(space.draw(15, np.random.default_rng(0))) == 15


@pytest.mark.parametrize(
    "range_",
    [(1, 4), {"low": 0.0, "high": 1.6, "step": 0.5}, ["a", "b", "c", "d"], {"low": 2, "high": 9, "step": 2}],
)
def test_values_of_a_range_of_steps_are_equally_likely(range_):
    space = Space.of({"x": range_, "y": (0.0, 1.0)})
    found = [one["x"] for one in space.settings(space.draw(20_000, np.random.default_rng(0)))]
    counts = np.unique(found, return_counts=True)[1]
    assert len(counts) == 4
    np.testing.assert_allclose(counts / 20_000, 0.25, atol=0.02)


def test_distances_by_hand():
    space = Space.of({"C": (0.1, 10.0, "log"), "loss": ["a", "b"], "fixed": (2.0, 2.0)})
    rows = space.places([{"C": 0.1, "loss": 0}, {"C": 1.0, "loss": 1}], np.random.default_rng(0))
    np.testing.assert_allclose(space.apart(rows, rows)[0], [[0, 0, 0], [0.5, 1, 0]])


def test_a_parameter_that_is_not_named_is_drawn():
    rows = SPACE.places([{"rate": 0.25}] * 50, np.random.default_rng(0))
    settings = SPACE.settings(rows)
    assert {one["rate"] for one in settings} == {0.25}
    assert len({one["leaves"] for one in settings}) > 5
    assert {one["loss"] for one in settings} == {"a", "b", "c"}
