"""Parts of shards, merged in order: what one machine gives is the case of one shard."""

import numpy as np
import polars
import pytest

from rankloop.clicks import ClickLog, simulate
from rankloop.data import synthetic
from rankloop.propensity import fair_pairs, harvest, randomized, swap_intervention
from rankloop.propensity.fair_pairs import FairPairsEstimator
from rankloop.propensity.fitting.bootstrap import HashedGroups, RandomGroups
from rankloop.propensity.fitting.pairs import Edges
from rankloop.propensity.fitting.sums import Sums, merge
from rankloop.propensity.harvest import HarvestEstimator
from rankloop.propensity.randomized import RandomizedEstimator
from rankloop.propensity.swap_intervention import SwapEstimator

OPTIONS = {"layout": None, "monotone": False, "resamples": 50, "seed": 0}
ESTIMATORS = [
    (harvest, HarvestEstimator, {"temperature": 1.0}),
    (randomized, RandomizedEstimator, {"randomize": "shuffle"}),
    (swap_intervention, SwapEstimator, {"randomize": "swap"}),
    (fair_pairs, FairPairsEstimator, {"randomize": "fairpairs"}),
]


@pytest.fixture(scope="module", params=ESTIMATORS, ids=lambda one: one[0].__name__)
def case(request):
    function, estimator, options = request.param
    data = synthetic(n_queries=40, docs_per_query=6, n_features=3, seed=0)
    log = simulate(data, logging_policy=data.y, sessions=8000, k=4, seed=0, **options)
    return function, estimator(4), log


def test_one_machine_is_one_shard(case):
    function, estimator, log = case
    found = estimator.curve(merge([estimator.part(log, RandomGroups(0))]), **OPTIONS)
    here = function(log, resamples=50)
    for name in ("values", "low", "high", "resamples"):
        assert getattr(found, name).tolist() == getattr(here, name).tolist()
    assert (found.method, found.pages) == (here.method, here.pages)


def test_shards_of_whole_queries_give_the_same_curve(case):
    """Intervals too, as the groups follow the ids."""
    _, estimator, log = case
    groups = HashedGroups(4)
    whole = estimator.curve(estimator.part(log, groups), **OPTIONS)
    shard = np.arange(len(log.queries)) % 3
    parts = [estimator.part(log.select(shard[log.page_query.code] == i), groups) for i in range(3)]
    found = estimator.curve(merge(parts), **OPTIONS)
    for name in ("values", "low", "high"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-12)
    assert found.pages == whole.pages


def test_parts_are_added_in_order_and_by_pair():
    """Floats added in another order differ in the last digit; a shard may lack a pair of ranks."""
    one, two = Edges(2, np.array([0]), np.array([1])), Edges(3, np.array([0, 1]), np.array([1, 2]))
    parts = [
        Sums(one, np.array([[[0.1]]]), np.array([False]), 1),
        Sums(two, np.array([[[1e16], [5.0]]]), np.array([True]), 2),
        Sums(one, np.array([[[-1e16]]]), np.array([False]), 3),
    ]
    total = merge(parts)
    assert total.values.tolist() == [[[(0.1 + 1e16) - 1e16], [5.0]]]
    assert (total.edges.depth, total.edges.low.tolist(), total.edges.high.tolist()) == (3, [0, 1], [1, 2])
    assert (total.present.tolist(), total.pages) == ([True], 6)


def test_a_swap_of_one_rank_with_itself_is_no_exchange():
    data = synthetic(n_queries=40, docs_per_query=6, n_features=3, seed=0)
    log = simulate(data, logging_policy=data.y, sessions=2000, k=3, randomize="swap", seed=0)
    odd = ClickLog.from_frame(log.to_frame().with_columns(intervention=polars.lit("swap 2-2")))
    with pytest.raises(ValueError, match="found no page of its experiment"):
        swap_intervention(odd)
