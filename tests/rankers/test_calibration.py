"""Calibrated scores: the same order, and values that come true."""

import numpy as np
import pytest

from rankloop.data import RankingDataset, synthetic
from rankloop.rankers import RankSVM, calibrate
from rankloop.rankers.calibrate import Reliability

TRAIN, HELD, TEST = synthetic(n_queries=600, docs_per_query=8, n_features=4, seed=0).split(
    0.2, 0.4, 0.4, seed=0
)
RANKER = RankSVM().fit(TRAIN)


@pytest.mark.parametrize("method", ["isotonic", "platt"])
@pytest.mark.parametrize("target", ["label", "relevant"])
def test_values_come_true_on_other_queries(method, target):
    steady = calibrate(RANKER, HELD, method=method, target=target)
    outcome = TEST.y if target == "label" else (TEST.y >= 1)
    found = Reliability.of(steady.predict(TEST), outcome.astype(float), np.ones(len(TEST.y)))
    spread = found.observed.max() - found.observed.min()
    assert found.error < 0.05 * spread
    np.testing.assert_array_equal(steady.rank(TEST), RANKER.rank(TEST))


def test_probabilities_stay_probabilities():
    steady = calibrate(RANKER, HELD, target="relevant", method="platt")
    far = steady.predict(np.full((2, 4), [[1e6], [-1e6]], np.float32))
    assert 0 <= far.min() <= far.max() <= 1


def test_weights_count():
    weight = np.where(HELD.y > 0, 3.0, 1.0)
    heavy = calibrate(RANKER, HELD.replace(item_weight=weight), target="relevant")
    plain = calibrate(RANKER, HELD, target="relevant")
    assert heavy.predict(TEST).mean() > plain.predict(TEST).mean() + 0.1


def test_reliability_by_hand():
    found = Reliability.of(np.array([0.1, 0.2, 0.8, 0.9]), np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4), bins=2)
    np.testing.assert_allclose(found.predicted, [0.15, 0.85])
    np.testing.assert_allclose(found.observed, [0, 1])
    assert found.error == pytest.approx(0.15)


def test_wrong_use():
    upside_down = RANKER.__class__().fit(TRAIN.replace(X=-TRAIN.X))
    with pytest.raises(ValueError, match="no increasing curve fits"):
        calibrate(upside_down, HELD, method="platt")
    with pytest.raises(ValueError, match="unknown method 'beta'"):
        calibrate(RANKER, HELD, method="beta")
    with pytest.raises(ValueError, match="no document of this data set has a label above 0"):
        calibrate(RANKER, HELD.replace(y=np.zeros(HELD.n_documents)), method="platt")


def test_equal_scores_have_one_value():
    data = RankingDataset([[1.0], [1.0], [2.0], [2.0]], [0, 1, 1, 1], ["a", "a", "b", "b"])
    flat = calibrate(RankSVM().fit([[0.0], [1.0]], [0, 1], qid=[1, 1]), data)
    np.testing.assert_allclose(flat.predict(data), [0.5, 0.5, 1, 1], atol=1e-5)
