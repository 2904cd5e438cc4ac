"""RankSVM against slow sums over pairs and against LinearSVC on difference vectors."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from sklearn.svm import LinearSVC

from rankloop.data import Pairs, RankingDataset
from rankloop.losses.kernels.pair_sums import levels, order_of, pair_sums
from rankloop.rankers import RankSVM
from rankloop.rankers.base.scale import Standard
from rankloop.rankers.svm.explicit_hinge import ExplicitHinge
from rankloop.rankers.svm.hinge import LabelHinge
from strategies import ragged_lists


def naive_pair_sums(scores, values, above, below, weight, offsets):
    count, total, heavy, weighted = np.zeros((4, len(scores)))
    for start, stop in pairwise(offsets):
        for i in range(start, stop):
            for j in range(start, stop):
                if above[i] > below[j] and scores[i] - scores[j] < 1:
                    count[i] += 1
                    total[i] += values[j]
                    heavy[j] += weight[i]
                    weighted[j] += weight[i] * values[i]
    return count, total, heavy, weighted


@given(ragged_lists())
def test_pair_sums_equal_loops(lists):
    scores, labels, offsets = lists
    scores = scores / 2
    rng = np.random.default_rng(len(scores))
    values, weight = rng.normal(size=(2, len(scores)))
    level = levels(labels, offsets)
    relevant, none = (labels > 0).astype(np.int64), np.zeros(len(labels), np.int64)
    for above, below in ((level, level), (relevant, none)):
        found = pair_sums(scores, values, above, below, weight, offsets, order_of(scores, offsets))
        expected = naive_pair_sums(scores, values, above, below, weight, offsets)
        for name, slow in zip(("count", "total", "weight", "weighted"), expected, strict=True):
            np.testing.assert_allclose(getattr(found, name), slow, atol=1e-12, err_msg=name)


def noisy(queries=10, documents=12, features=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(queries * documents, features)).astype(np.float32)
    utility = X @ rng.normal(size=features) + 2 * rng.normal(size=len(X))
    return RankingDataset.from_groups(X, np.digitize(utility, [0, 2, 4]), [documents] * queries)


def differences(data, against="lower"):
    """Every pair as a row of difference, and the weight of its preferred document."""
    Z = Standard.of(data.X).apply(data.X)
    weight = np.ones(len(Z)) if data.item_weight is None else data.item_weight
    rows, heavy = [], []
    for i in range(len(Z)):
        for j in range(len(Z)):
            lower = data.y[i] > data.y[j] if against == "lower" else data.y[i] > 0 and i != j
            if data.row_query[i] == data.row_query[j] and lower:
                rows.append(Z[i] - Z[j])
                heavy.append(weight[i])
    return np.array(rows), np.array(heavy)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("against", ["lower", "all"])
def test_equals_a_classifier_of_differences(loss, C, against):
    rng = np.random.default_rng(1)
    data = noisy().replace(item_weight=rng.uniform(0.5, 3.0, 120))
    rows, weight = differences(data, against)
    sign = np.where(np.arange(len(rows)) % 2, 1, -1)
    peer = LinearSVC(C=C / 10, loss=loss, fit_intercept=False, tol=1e-8, max_iter=100_000, dual=True)
    peer.fit(rows * sign[:, None], sign, sample_weight=weight)
    ranker = RankSVM(C=C, loss=loss, against=against, tolerance=1e-6).fit(data)

    def objective(w):
        missed = np.maximum(0, 1 - rows @ w) ** (1 if loss == "hinge" else 2)
        return 0.5 * w @ w + C / 10 * weight @ missed

    assert objective(ranker.coef_) <= objective(peer.coef_[0]) * (1 + 2e-6)
    np.testing.assert_allclose(ranker.coef_, peer.coef_[0], atol=5e-3)


def test_gradient_and_hessian_equal_finite_differences():
    data = noisy(queries=4, features=3)
    level = levels(data.y, data.offsets)
    problem = LabelHinge(data.X.astype(float), level, level, np.linspace(0.5, 2, 48), data.offsets)
    rng = np.random.default_rng(0)
    w, direction, step = rng.normal(size=3), rng.normal(size=3), 1e-6
    ahead, behind = problem.squared(w + step * direction), problem.squared(w - step * direction)
    assert (ahead[0] - behind[0]) / (2 * step) == pytest.approx(problem.squared(w)[1] @ direction, rel=1e-6)
    np.testing.assert_allclose((ahead[1] - behind[1]) / (2 * step), problem.hessian(w, direction), rtol=1e-5)
    ahead, behind = (problem.hinge(data.X @ (w + s * step * direction))[0] for s in (1, -1))
    slope = problem.hinge(data.X @ w)[1] @ (data.X @ direction)
    assert (ahead - behind) / (2 * step) == pytest.approx(slope, rel=1e-5)
    better, worse = np.nonzero((data.row_query[:, None] == data.row_query) & (level[:, None] > level))
    named = ExplicitHinge(problem.Z, better, worse, problem.weight[better])
    assert named.hinge(data.X @ w)[0] == pytest.approx(problem.hinge(data.X @ w)[0])
    np.testing.assert_allclose(named.hinge(data.X @ w)[1], problem.hinge(data.X @ w)[1], atol=1e-9)
    assert named.squared(w)[0] == pytest.approx(problem.squared(w)[0])
    np.testing.assert_allclose(named.squared(w)[1], problem.squared(w)[1])
    np.testing.assert_allclose(named.hessian(w, direction), problem.hessian(w, direction))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_named_pairs_equal_the_same_pairs_of_labels(loss):
    data = noisy(queries=5).replace(item_weight=np.linspace(0.5, 2.0, 60), query_weight=[1, 2, 3, 1, 2])
    same = data.row_query[:, None] == data.row_query
    better, worse = np.nonzero(same & (data.y[:, None] > data.y[None, :]))
    named = data.replace(pairs=Pairs(better, worse))
    options = {"C": 0.5, "loss": loss, "tolerance": 1e-7}
    wanted = RankSVM(**options).fit(data).coef_
    np.testing.assert_allclose(RankSVM(**options).fit(named).coef_, wanted, atol=1e-3)
    torn = data.replace(pairs=Pairs(better, worse, probability=np.full(len(better), 0.5)))
    torn_twice = torn.replace(item_weight=None)
    assert np.abs(RankSVM(**options).fit(torn_twice).coef_).max() < 1e-3  # half of the judges each way
    with pytest.raises(ValueError, match="against='all' takes pairs from labels"):
        RankSVM(against="all").fit(named)


def test_clicks_weighed_by_propensity_bound_the_unbiased_rank():
    """PropSVMRank by hand: one click at propensity 1/2 against two others, at zero weights."""
    clicks = RankingDataset([[1.0], [0.0], [2.0]], [0, 1, 0], ["a"] * 3, item_weight=[1.0, 2.0, 1.0])
    level, none = (clicks.y > 0).astype(np.int64), np.zeros(3, np.int64)
    problem = LabelHinge(np.zeros((3, 1)), level, none, clicks.item_weight.astype(float), clicks.offsets)
    value, _ = problem.hinge(np.zeros(3))
    assert value == 2.0 * (1 + 2)  # 1 / p times the bound 1 + sum over the others of max(0, 1 - 0)


def test_equal_labels_of_a_list_make_no_pairs():
    np.testing.assert_array_equal(
        levels(np.array([3, 3, 0, 7], np.float32), np.array([0, 2, 2, 4])), [0, 0, 0, 1]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinges"}, "unknown loss of RankSVM 'hinges'; did you mean 'hinge'"),
        ({"against": "everything"}, "unknown against"),
        ({"C": 0.0}, "C must be above 0, got 0"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        RankSVM(**options).fit(noisy())


def test_infinite_features_are_refused():
    data = noisy()
    X = data.X.copy()
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"feature 1 of row 3 is inf; .* use nan"):
        RankSVM().fit(data.replace(X=X))
