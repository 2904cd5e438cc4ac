"""AdaRank, with the first round by hand."""

import numpy as np
import pytest

from rankloop.data import RankingDataset, synthetic
from rankloop.metrics import metric
from rankloop.rankers import AdaRank


def test_the_first_round_by_hand():
    """Feature 0 has reciprocal ranks 1, 1 and 1/2, so E = 5/6 and alpha = ln((11/6) / (1/6)) / 2."""
    X = [[2.0, 7.0], [1.0, 7.0], [2.0, 7.0], [1.0, 7.0], [1.0, 7.0], [2.0, 7.0]]
    data = RankingDataset(X, [1, 0, 1, 0, 1, 0], ["a", "a", "b", "b", "c", "c"])
    ranker = AdaRank(metric="mrr", iterations=1).fit(data)
    assert ranker.coef_[0] == pytest.approx(0.5 * np.log(11))
    assert ranker.coef_[1] == 0.0
    assert ranker.n_iter_ == 1


def test_beats_every_single_feature():
    data = synthetic(n_queries=60, docs_per_query=10, n_features=6, seed=0)
    chosen = metric("ndcg@10")

    def quality(scores):
        return np.nanmean(chosen(scores, data.y, data.offsets))

    ranker = AdaRank().fit(data)
    alone = max(quality(side * column) for column in data.X.T.astype(float) for side in (1, -1))
    assert quality(ranker.predict(data)) > alone + 0.02


def test_metrics_must_run_from_bad_to_good():
    with pytest.raises(ValueError, match=r"AdaRank needs a metric from 0 .* got dcg@5"):
        AdaRank(metric="dcg@5").fit(RankingDataset([[1.0], [2.0]], [0, 1], [1, 1]))
    with pytest.raises(ValueError, match="got arp"):
        AdaRank(metric="arp").fit(RankingDataset([[1.0], [2.0]], [0, 1], [1, 1]))
