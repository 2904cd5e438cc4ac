"""Networks in the stack of the usual budget."""

import numpy as np
import pytest

import rankloop.unbiased.estimation.networks as nets
from rankloop.clicks import World
from rankloop.metrics import ndcg
from rankloop.rankers import Ensemble, LambdaMART, load
from rankloop.unbiased import candidates, learn

pytest.importorskip("torch")

FEW = candidates(trees=40, threads=1)


def quality(found, test):
    return float(np.nanmean(ndcg(found.ranker.predict(test), test.y, test.offsets, k=10)))


@pytest.fixture(scope="module")
def smooth():
    drawn = World(utility="network", queries=200, sessions=4000, features=10, loggers=(0.3,), seed=1).draw()
    data = drawn.train.replace(y=np.zeros(drawn.train.n_documents))
    return (
        drawn,
        data,
        learn(drawn.log, data, rankers=FEW),
        learn(drawn.log, data, rankers=FEW, networks=False),
    )


def test_they_join_where_utility_is_smooth(smooth, tmp_path):
    drawn, _, found, forest = smooth
    assert found.weights["network"] > 0.1
    assert "networks (" in found.summary
    assert {"network", "network, half, all documents"} <= set(found.held_out)
    assert isinstance(found.ranker, Ensemble)
    assert quality(found, drawn.test) > quality(forest, drawn.test) + 0.005
    found.ranker.save(tmp_path / "stack")
    np.testing.assert_array_equal(
        load(tmp_path / "stack").predict(drawn.test), found.ranker.predict(drawn.test)
    )


def test_without_them_the_result_is_one_forest(smooth, monkeypatch):
    drawn, data, _, forest = smooth
    assert isinstance(forest.ranker, LambdaMART)
    assert not any("network" in one for one in forest.held_out)
    monkeypatch.setattr(nets, "find_spec", lambda name: None)  # PyTorch is not installed
    same = learn(drawn.log, data, rankers=FEW)
    np.testing.assert_array_equal(same.ranker.predict(drawn.test), forest.ranker.predict(drawn.test))
