"""Coordinate ascent on any metric."""

import numpy as np
import pytest

from rankloop.data import RankingDataset, synthetic
from rankloop.metrics import metric
from rankloop.rankers import CoordinateAscent

DATA = synthetic(n_queries=40, docs_per_query=8, n_features=4, seed=0).replace(feature_names=None)


@pytest.mark.parametrize("name", ["ndcg@5", "map", "arp", "p@3"])
def test_climbs_the_metric_it_is_given(name):
    ranker = CoordinateAscent(metric=name, restarts=2).fit(DATA)
    chosen = metric(name)
    sign = 1 if chosen.higher_is_better else -1

    def quality(scores):
        return sign * np.nanmean(chosen(scores, DATA.y, DATA.offsets))

    alone = max(quality(side * column) for column in DATA.X.T.astype(float) for side in (1, -1))
    assert quality(ranker.predict(DATA)) > alone
    assert np.abs(ranker.coef_).sum() == pytest.approx(1.0)


def test_finds_a_weight_below_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)).astype(np.float32)
    data = RankingDataset.from_groups(X, np.digitize(X[:, 0] - X[:, 1], [0.5, 1.5]), [8] * 10)
    ranker = CoordinateAscent(restarts=1).fit(data)
    assert np.nanmean(metric("ndcg")(ranker.predict(data), data.y, data.offsets)) > 0.98


def test_the_validation_set_chooses_the_start():
    """Training data that says nothing: only the validation set tells the starts apart."""
    rng = np.random.default_rng(1)
    train = RankingDataset.from_groups(rng.normal(size=(40, 6)), rng.integers(0, 2, 40), [4] * 10)
    valid = RankingDataset.from_groups(rng.normal(size=(40, 6)), rng.integers(0, 2, 40), [4] * 10)
    options = {"restarts": 4, "iterations": 1, "doublings": 2, "seed": 3}
    judged = CoordinateAscent(**options).fit(train, valid)
    alone = CoordinateAscent(**options).fit(train)
    quality = [
        np.nanmean(metric("ndcg@10")(ranker.predict(valid), valid.y, valid.offsets))
        for ranker in (judged, alone)
    ]
    assert quality[0] >= quality[1]
    assert judged.metrics_["valid"]["ndcg@10"] == pytest.approx(quality[0])


def test_wrong_options():
    with pytest.raises(ValueError, match="must be above 0"):
        CoordinateAscent(restarts=0).fit(DATA)
    with pytest.raises(ValueError, match="unknown metric"):
        CoordinateAscent(metric="ndgc").fit(DATA)
