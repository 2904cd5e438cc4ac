"""Linear rankers under every loss, against peers where there are any."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, Ridge

import members
from rankloop import losses
from rankloop.data import Pairs, RankingDataset, synthetic
from rankloop.losses import loss
from rankloop.metrics import metric
from rankloop.rankers import LinearRanker, load
from rankloop.rankers.base.scale import Standard
from rankloop.rankers.linear_ranker import _draws

DATA = synthetic(n_queries=60, docs_per_query=8, n_features=4, seed=0).replace(feature_names=None)
LOSSES = [one.__name__ for one in members.LOSSES]


def quality(ranker, data=DATA):
    return np.nanmean(metric("ndcg")(ranker.predict(data), data.y, data.offsets))


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_trains_it(name):
    best = quality(LinearRanker(loss="ranknet").fit(DATA))
    ranker = LinearRanker(loss=name.lower()).fit(DATA)
    assert quality(ranker) > best - 0.03


SMOOTH = [one for one in map(loss, map(str.lower, LOSSES)) if one.smooth and not _draws(one, DATA)]


@pytest.mark.parametrize("chosen", SMOOTH, ids=lambda one: one.name)
def test_smooth_losses_end_where_the_slope_is_level(chosen):
    ranker = LinearRanker(loss=chosen, l2=0.01).fit(DATA)
    Z = Standard(ranker.mean_, ranker.scale_).apply(DATA.X)
    found = chosen(Z @ ranker.coef_ + ranker.intercept_, DATA.y, DATA.offsets)
    slope = Z.T @ found.gradient / DATA.n_queries + 0.01 * ranker.coef_
    steepest = np.abs(Z.T @ chosen(np.zeros(len(Z)), DATA.y, DATA.offsets).gradient).max() / DATA.n_queries
    assert np.abs(slope).max() < 1e-3 * steepest


def test_ranknet_equals_logistic_regression_of_differences():
    weight = np.linspace(0.5, 2.0, DATA.n_documents).astype(np.float32)
    data = DATA.replace(item_weight=weight)
    Z = Standard.of(data.X).apply(data.X)
    rows, heavy = [], []
    for i in range(len(Z)):
        lower = np.flatnonzero((data.row_query == data.row_query[i]) & (data.y < data.y[i]))
        rows += [Z[i] - Z[j] for j in lower]
        heavy += [weight[i]] * len(lower)
    sign = np.where(np.arange(len(rows)) % 2, 1, -1)
    peer = LogisticRegression(fit_intercept=False, C=1 / (0.1 * data.n_queries), tol=1e-10, max_iter=1000)
    peer.fit(np.array(rows) * sign[:, None], sign, sample_weight=heavy)
    ranker = LinearRanker(loss="ranknet", l2=0.1, tolerance=1e-9).fit(data)
    np.testing.assert_allclose(ranker.coef_, peer.coef_[0], atol=1e-5)


def test_squared_error_equals_ridge_regression():
    """The value of a list is a sum of squares, halved or not: ask the loss, then compare with the peer."""
    half = loss("squared")([1.0], [0], [0, 1]).value[0]
    alpha = 0.1 * DATA.n_queries / (2 * half)
    Z = Standard.of(DATA.X).apply(DATA.X)
    peer = Ridge(alpha=alpha).fit(Z, DATA.y)
    ranker = LinearRanker(loss="squared", l2=0.1, tolerance=1e-10).fit(DATA)
    np.testing.assert_allclose(ranker.coef_, peer.coef_, atol=1e-5)
    assert ranker.intercept_ == pytest.approx(peer.intercept_, abs=1e-5)
    np.testing.assert_allclose(ranker.predict(DATA), peer.predict(Z), atol=1e-4)


def test_query_weights_are_copies_of_queries():
    twice = np.where(np.arange(60) % 3 == 0, 2, 1)
    copies = np.repeat(np.arange(60), twice)
    rows = np.concatenate([np.arange(DATA.offsets[q], DATA.offsets[q + 1]) for q in copies])
    copied = RankingDataset.from_groups(DATA.X[rows], DATA.y[rows], DATA.lengths[copies])
    weighed = DATA.replace(query_weight=twice)
    Z = Standard.of(DATA.X)

    def solved(data):
        features = Z.apply(data.X)

        def risk(w):
            found = loss("ranknet")(features @ w, data.y, data.offsets, query_weight=data.query_weight)
            return found.value.sum(), features.T @ found.gradient

        return minimize(risk, np.zeros(4), jac=True, method="L-BFGS-B", options={"gtol": 1e-9}).x

    np.testing.assert_allclose(solved(weighed), solved(copied), atol=1e-4)


def test_explicit_pairs_replace_labels_and_are_never_ignored():
    better = [DATA.offsets[q] for q in range(60) if DATA.lengths[q] > 1]
    data = DATA.replace(pairs=Pairs(better, [row + 1 for row in better]))
    scores = LinearRanker(loss="ranknet", l2=1e-6).fit(data).predict(data)
    agreed = np.mean([scores[row] > scores[row + 1] for row in better])
    assert agreed > 0.5
    assert not np.allclose(scores, LinearRanker(loss="ranknet", l2=1e-6).fit(DATA).predict(DATA))
    with pytest.raises(ValueError, match="would ignore the pairs"):
        LinearRanker(loss="softmax").fit(data)


def test_the_metric_chooses_among_the_steps_of_a_rough_loss():
    train, valid = DATA.split(0.5, seed=0)
    ranker = LinearRanker(loss="lambdarank", metric="map", patience=10).fit(train, valid)
    assert ranker.n_iter_ < 500
    assert ranker.metrics_["valid"]["map"] > 0.5


def test_losses_are_saved_with_their_options(tmp_path):
    for chosen in (losses.LambdaRank(metric="map", truncation=5), losses.Gumbel(losses.Softmax())):
        LinearRanker(loss=chosen, iterations=2).fit(DATA).save(tmp_path / "model")
        assert load(tmp_path / "model").loss == chosen


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "ranknets"}, "unknown loss 'ranknets'"),
        ({"l2": -1.0}, "l2 must be 0 or more"),
        ({"solver": "sgd"}, "unknown solver 'sgd'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        LinearRanker(**options).fit(DATA)


def test_a_score_does_not_depend_on_its_batch():
    """Served alone or among a thousand, a document has the same score to the last bit."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1000, 37)).astype(np.float32)
    ranker = LinearRanker().fit(X[:60], random.integers(0, 3, 60), qid=np.repeat(np.arange(6), 10))
    whole = ranker.predict(X)
    for size in (1, 2, 3, 7, 64, 999):
        assert np.array_equal(ranker.predict(X[:size]), whole[:size])
