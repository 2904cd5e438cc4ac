"""People who stop reading: how likely a look is depends on the clicks above it."""

import numpy as np
import pytest

from rankloop.clicks import DBN, PBM, SDBN, Cascade, ClickLog, RankCTR, TrustPBM, aggregate, simulate
from rankloop.data import RankingDataset
from rankloop.unbiased import counterfactual_estimate, ips, likelihood, likelihood_ranker, relevance

GRADES = np.tile([4, 1, 3, 0, 2], 3)
USER = DBN(attraction=[0.1, 0.3, 0.5, 0.7, 0.9], satisfaction=[0.1, 0.2, 0.4, 0.6, 0.8], continuation=0.9)
TRUE = np.array(USER.attraction)[GRADES]


@pytest.fixture(scope="module")
def world():
    data = RankingDataset.from_groups(np.eye(5)[GRADES], GRADES, [5, 5, 5])
    return data, simulate(data, logging_policy=-np.arange(15), user=USER, sessions=60_000, seed=0)


def test_looks_by_hand():
    """A public toolbox takes every document of a cascade as seen: its weights are all 1, which is naive."""
    log = ClickLog([1] * 4, ["q"] * 4, list("abcd"), [1, 2, 3, 4], [0, 1, 0, 1])
    user = SDBN(attraction=0.5, satisfaction=0.6)
    # after the click four in ten read on; a skip then is what (1 - .5) * .4 of (1 - .5 * .4) do
    assert user.conditional_examination(log) == pytest.approx([1, 1, 0.4, 0.4 * 0.5 / 0.8])


def test_clicks_are_looks_that_attract(world):
    data, log = world
    chance = USER.conditional_click_probability(log, data)
    assert USER.conditional_examination(log, data) * TRUE[log.rows(data)] == pytest.approx(chance)
    none = DBN(attraction=0.0, satisfaction=0.5, continuation=0.5).conditional_examination(log.select([0]))
    if log.select([0]).click.sum() == 0:
        assert none == pytest.approx(0.5 ** np.arange(5))


@pytest.mark.parametrize("method", ["ips", "policy_aware", "doubly_robust"])
def test_relevance_is_given_back(world, method):
    data, log = world
    options = {"relevance": np.full(15, 0.4), "tau": 0.0} if method == "doubly_robust" else {}
    found = relevance(log, USER, data, method=method, **options)
    pages = log.n_pages / 3
    looks = USER.conditional_examination(log, data)
    spread = np.bincount(log.rows(data), log.click / looks**2) / pages - TRUE**2
    assert np.all(np.abs(found - TRUE) < 4.5 * np.sqrt(spread / pages))
    naive = relevance(log, None, data, method="naive")
    position_based = relevance(log, 1 / np.arange(1, 6), data, method="ips")
    last = slice(4, None, 5)
    assert np.all(naive[last] < 0.5 * TRUE[last])
    assert np.abs(position_based - TRUE).max() > 0.1


def test_trees_descend_the_likelihood_of_such_people(world):
    data, log = world
    ranker = likelihood(log, data, propensity=USER, ranker=likelihood_ranker(trees=30, threads=1))
    assert np.all(np.argsort(-ranker.predict(data)[:5]) == np.argsort(-GRADES[:5]))
    assert np.all(np.diff(ranker.propensity_) < 0)


def test_another_order_is_valued(world):
    data, log = world
    found = counterfactual_estimate(log, data, GRADES, "dcg@5", propensity=USER, method="ips")
    best = np.sort(TRUE[:5])[::-1] @ (1 / np.log2(np.arange(2, 7)))
    assert found.value == pytest.approx(best, rel=0.02)
    assert found.low < best < found.high
    with pytest.raises(ValueError, match="ctr of another order cannot be estimated for DBN"):
        counterfactual_estimate(log, data, GRADES, "ctr", propensity=USER, method="ips")


def test_a_position_based_model_is_its_curve(world):
    data, log = world
    curve = 1 / np.arange(1, 6)
    model = PBM(examination=curve, attraction=0.5)
    assert ips(log, model, data).y == pytest.approx(ips(log, curve, data).y)


def test_mistakes_are_explained(world):
    data, log = world
    with pytest.raises(ValueError, match=r"Cascade finds \d+ clicks impossible"):
        ips(log, Cascade(attraction=0.5), data)
    with pytest.raises(ValueError, match="an Aggregate has no clicks above"):
        ips(aggregate(log), USER, data)
    trust = TrustPBM(relevant=0.9, other=0.1, attraction=0.5)
    for user in (trust, RankCTR().fit(log)):
        with pytest.raises(ValueError, match="has clicks without examination"):
            user.conditional_examination(log, data)
