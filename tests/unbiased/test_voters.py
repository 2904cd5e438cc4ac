"""What a large budget adds to the stack: slow forests and networks that leave features out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import rankloop.unbiased.estimation.networks as nets
import rankloop.unbiased.estimation.voters as voting
from rankloop.clicks import ClickLog, simulate
from rankloop.data import RankingDataset
from rankloop.metrics import ndcg
from rankloop.rankers import LambdaMART, load
from rankloop.unbiased import candidates, learn
from rankloop.unbiased.estimation.cells import CellLikelihood
from rankloop.unbiased.estimation.evidence import evidence
from rankloop.unbiased.estimation.network_likelihood import NumberedLikelihood

THETA = 1.0 / np.arange(1, 11)
FEW = {"one": candidates(trees=10, threads=1)["linear leaves"]}


def world(worth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4)).astype(np.float32)
    found = worth(X)
    y = np.searchsorted(np.quantile(found, [0.5, 0.75, 0.88, 0.96]), found)
    data = RankingDataset.from_groups(X, y, np.full(300, 10))
    return data, data.select(np.arange(150))


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(voting, "EACH", 1)
    monkeypatch.setattr(voting, "FOLDS", 2)
    monkeypatch.setattr(voting, "STEPS", 300)
    monkeypatch.setattr(voting, "NETWORKS", {"networks (standard)": "standard"})  # of three transforms


def quality(data, ranker):
    return float(np.nanmean(ndcg(ranker.predict(data), data.y, data.offsets, k=5)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_a_batch_costs_what_its_cells_do(seed, trust):
    """Any documents in any order and more than once, some of them in many cells: beside plain loops."""
    rng = np.random.default_rng(seed)
    data = RankingDataset.from_groups(np.zeros((12, 1)), np.zeros(12), [4, 4, 4], qid=[0, 1, 2])
    pages = [(query, rng.permutation(4)) for query in rng.integers(0, 3, 9)]
    log = ClickLog(
        session=np.repeat(np.arange(9), 4),
        query=np.repeat([query for query, _ in pages], 4),
        document=np.concatenate([4 * query + order for query, order in pages]),
        position=np.tile(np.arange(1, 5), 9),
        click=rng.integers(0, 2, 36),
    )
    seen = evidence(log, THETA[:4], data)
    cells = CellLikelihood.of(seen, seen.shown, None)
    if trust:
        cells.beta = 0.1 * cells.alpha
        cells.alpha = 0.8 * cells.alpha
    taken = rng.integers(0, cells.rows, 7)
    scores = rng.normal(size=7)
    found = NumberedLikelihood.of(cells)(scores, taken, [0, 3, 7])
    costs = np.zeros(7)
    slopes = np.zeros(7)
    for place, (number, score) in enumerate(zip(taken, scores, strict=True)):
        for cell in np.flatnonzero(cells.row == number):
            relevance = expit(score + cells.level)
            chance = cells.alpha[cell] * relevance + cells.beta[cell]
            clicks, missed = cells.clicks[cell], cells.impressions[cell] - cells.clicks[cell]
            costs[place] -= clicks * np.log(chance) + missed * np.log(1 - chance)
            slope = cells.alpha[cell] * relevance * (1 - relevance)
            slopes[place] -= (clicks / chance - missed / (1 - chance)) * slope
    np.testing.assert_allclose(found.value, [costs[:3].sum(), costs[3:].sum()], rtol=1e-9)
    np.testing.assert_allclose(found.gradient, slopes, rtol=1e-8, atol=1e-10)


@pytest.fixture(scope="module")
def added_up():
    data, part = world(lambda X: X[:, 0] + 0.7 * X[:, 1])
    return data, part, simulate(part, logging_policy=part.X[:, 2], sessions=15_000, seed=1)


def test_what_says_nothing_is_left_out(quick, added_up, tmp_path):
    data, part, log = added_up
    found = learn(log, part, propensity=THETA, rankers=FEW, budget="large")
    assert found.features == (0, 1)  # of four: all that the labels were made of
    assert found.to_dict()["features"] == [0, 1]
    assert found.to_dict()["voters"] == list(found.voters)
    assert set(found.voters) <= set(found.weights)
    assert sum(found.weights.values()) == pytest.approx(1.0)
    usual = learn(log, part, propensity=THETA, rankers=FEW)
    assert usual.features is None
    assert usual.voters == ()
    assert quality(data, found.ranker) > quality(data, usual.ranker) - 0.005
    found.ranker.save(tmp_path / "voters")
    again = load(tmp_path / "voters")
    np.testing.assert_array_equal(again.predict(part), found.ranker.predict(part))
    assert again.propensity_ == pytest.approx(THETA)
    with pytest.raises(ValueError, match="unknown budget 'huge'"):
        learn(log, part, propensity=THETA, rankers=FEW, budget="huge")


def test_members_do_not_look_at_features_that_say_nothing(quick, added_up):
    _, part, log = added_up
    features = np.array([True, True, False, False])
    seen = evidence(log, THETA, part)
    moved = np.hstack([part.X[:, :2], -part.X[:, 2:]])
    made = voting.voters(seen, FEW["one"], features, (0, 1))
    assert list(made) == ["slow forests", "networks (standard)"]
    for name in ("slow forests", "networks (standard)"):
        member = made[name](seen.shown)
        np.testing.assert_array_equal(
            member.predict(moved, qid=part.row_qid), member.predict(part.X, qid=part.row_qid)
        )
        each = [voting.voters(seen, FEW["one"], features, [one])[name](seen.shown) for one in (0, 1)]
        mean = np.mean([one.predict(part) for one in each], axis=0)
        np.testing.assert_allclose(member.predict(part), mean, rtol=1e-6, atol=1e-6)


def test_networks_get_weight_where_they_predict_clicks_better(quick):
    """Ten trees can multiply two features once, but not three of them with each other."""
    data, part = world(lambda X: X[:, 0] * X[:, 1] + X[:, 1] * X[:, 3] + X[:, 0] * X[:, 3])
    log = simulate(part, logging_policy=part.X[:, 2], sessions=30_000, seed=1)
    found = learn(log, part, propensity=THETA, rankers=FEW, budget="large")
    assert any(one.startswith("networks") for one in found.voters)
    assert {"slow forests", "networks (standard)"} < set(found.held_out)
    usual = learn(log, part, propensity=THETA, rankers=FEW, networks=False)
    assert quality(data, found.ranker) > quality(data, usual.ranker) + 0.01


def test_forests_are_added_alone_where_networks_cannot_be(quick, added_up, monkeypatch):
    """Without PyTorch, where a feature is infinite, and where networks leave all bounds."""
    _, part, log = added_up

    def voters(data=part):
        return set(learn(log, data, propensity=THETA, rankers=FEW, budget="large").voters)

    with monkeypatch.context() as without:
        without.setattr(nets, "find_spec", lambda name: None)
        assert voters() <= {"slow forests"}
    endless = part.X.copy()
    endless[3, 3] = np.inf
    assert list(voting.voters(evidence(log, THETA, part.replace(X=endless)), FEW["one"], None, [0])) == [
        "slow forests"
    ]
    training = pytest.importorskip("rankloop.rankers.neural.training")

    def diverge(*args):
        raise training.DivergenceError("not a number")

    monkeypatch.setattr(nets, "_network", diverge)
    assert voters() <= {"slow forests"}
    other = LambdaMART(backend="xgboost", trees=3, loss="squared", threads=1)
    with pytest.raises(ValueError, match="backend lightgbm"):
        learn(log, part, propensity=THETA, rankers={"one": other}, budget="large")
