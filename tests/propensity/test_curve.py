"""The curve as an object."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.clicks import simulate
from rankloop.data import synthetic
from rankloop.propensity import Propensity, harvest, regression_em


@pytest.fixture(scope="module")
def data():
    return synthetic(n_queries=60, docs_per_query=8, n_features=4, seed=0)


@pytest.fixture(scope="module")
def curve(data):
    return harvest(simulate(data, logging_policy=data.y, sessions=5000, k=5, temperature=1.0, layout="phone"))


def test_first_rank_is_one_without_doubt(curve):
    assert (curve.values[0], curve.low[0], curve.high[0]) == (1, 1, 1)
    assert np.all(curve.low <= curve.values)
    assert np.all(curve.values <= curve.high)
    assert curve.layout == "phone"
    assert curve.pages == 5000
    assert curve.resamples.shape == (1000, 5)


def test_save_and_load(curve, tmp_path):
    curve.save(tmp_path / "curve.json")
    again = Propensity.load(tmp_path / "curve.json")
    for name in ("values", "low", "high", "log_covariance"):
        np.testing.assert_array_equal(getattr(again, name), getattr(curve, name))
    assert (again.layout, again.method, again.pages, again.resamples) == ("phone", curve.method, 5000, None)
    spread = np.log(again.sample(20_000, seed=1)).std(axis=0)
    np.testing.assert_allclose(spread[1:], np.sqrt(np.diag(curve.log_covariance))[1:], rtol=0.05)


def test_the_report_travels_with_a_joint_fit(data, tmp_path):
    log = simulate(data, logging_policy=data.y, sessions=5000, k=4, seed=0)
    with pytest.warns(UserWarning, match="no document connects these groups"):
        curve = regression_em(log, data)
    curve.save(tmp_path / "curve.json")
    again = Propensity.load(tmp_path / "curve.json")
    assert again.identifiability.to_dict() == curve.identifiability.to_dict()
    assert "warning: " in repr(again)


def test_same_seed_same_curve(data):
    log = simulate(data, logging_policy=data.y, sessions=3000, k=4, temperature=1.0)
    one, two, other = (harvest(log, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.low, two.low)
    np.testing.assert_allclose(one.values, other.values, rtol=1e-12)
    assert not np.array_equal(one.low, other.low)


@given(st.lists(st.floats(0.01, 1.5), min_size=1, max_size=12))
def test_monotone_is_the_isotonic_projection(rest):
    curve = Propensity.given([1.0, *rest]).monotone()
    assert np.all(np.diff(curve.values) <= 1e-12)
    assert curve.values[0] == 1
    raw = np.array([1.0, *rest])
    blocks = [[one] for one in raw]  # pool adjacent violators, in the obvious way
    i = 0
    while i < len(blocks) - 1:
        if np.mean(blocks[i]) < np.mean(blocks[i + 1]):
            blocks[i] += blocks.pop(i + 1)
            i = max(i - 1, 0)
        else:
            i += 1
    slow = np.concatenate([[np.mean(block)] * len(block) for block in blocks])
    np.testing.assert_allclose(curve.values, slow / slow[0], rtol=1e-9)


def test_monotone_keeps_the_interval_around_the_values(curve):
    falling = curve.monotone()
    assert np.all(np.diff(falling.values) <= 0)
    assert np.all(np.diff(falling.resamples, axis=1) <= 1e-12)
    assert np.all(falling.low <= falling.values)
    assert np.all(falling.values <= falling.high)


def test_to_frame(curve):
    frame = curve.to_frame()
    assert frame.columns == ["rank", "value", "low", "high"]
    assert len(frame) == 5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Propensity.given([]), "one number above 0 per rank"),
        (lambda: Propensity.given([1.0, 0.0]), "one number above 0 per rank"),
        (lambda: Propensity.given([1.0, 0.5]).at([3]), "the curve has ranks 1 to 2, got rank 3"),
        (lambda: Propensity.given([1.0, 0.5]).at([0]), "got rank 0"),
        (lambda: Propensity.from_dict({"format": 7}), "of format 1, got 7"),
        (lambda: Propensity(np.ones(2), np.ones(3), np.ones(2), "x"), "one number per rank each"),
        (lambda: Propensity(np.array([1, np.nan]), np.ones(2), np.ones(2), "x"), "finite and above 0"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_damaged_file_says_so(tmp_path):
    path = tmp_path / "curve.json"
    Propensity.given([1.0, 0.5]).save(path)
    path.write_text(path.read_text()[:20])
    with pytest.raises(ValueError, match=r"not a saved propensity curve.*; estimate the curve again"):
        Propensity.load(path)
