"""Explanations: numbers by hand, sums that must hold, all subsets of features, the backends' own figures."""

import json
from itertools import combinations
from math import factorial

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from rankloop import rankers
from rankloop.data import RankingDataset, synthetic
from rankloop.losses import loss
from rankloop.metrics import metric
from rankloop.rankers import (
    Fusion,
    LambdaMART,
    NeuralRanker,
    PointwiseRanker,
    RankSVM,
    ablation,
    contributions,
    importance,
    lambdas,
    partial_dependence,
    why,
)
from rankloop.rankers.explain.instead import scores_instead


@pytest.fixture(scope="module")
def lists():
    names = ["bm25", "length", "age", "noise", "links"]
    return synthetic(n_queries=60, docs_per_query=10, n_features=5, seed=1).replace(feature_names=names)


@pytest.fixture(scope="module")
def trees(lists):
    return LambdaMART(trees=30, leaves=8, threads=1).fit(lists)


def three():
    """Scores 2 x0 - x1 are easy to take apart."""
    data = RankingDataset(
        [[3.0, 0.0], [1.0, 1.0], [0.0, 5.0]],
        [2, 1, 0],
        ["q"] * 3,
        docid=["x", "y", "z"],
        feature_names=["bm25", "age"],
    )
    ranker = RankSVM().fit(data)
    ranker.coef_, ranker.mean_, ranker.scale_ = np.array([2.0, -1.0]), np.zeros(2), np.ones(2)
    ranker.intercept_ = 0.0
    return ranker, data


def test_names_are_functions_however_they_were_reached():
    for name in ("ablation", "contributions", "lambdas", "importance", "partial_dependence", "why"):
        assert callable(getattr(rankers, name))


# contributions


@pytest.mark.parametrize("backend", ["lightgbm", "rankloop", "xgboost", "catboost"])
def test_contributions_of_forests_add_up(lists, backend):
    ranker = LambdaMART(trees=15, leaves=8, threads=1, backend=backend).fit(lists)
    found = contributions(ranker, lists)
    assert found.exact
    assert found.values.shape == lists.X.shape
    assert found.names == lists.feature_names
    np.testing.assert_allclose(
        found.base + found.values.sum(axis=1), ranker.predict(lists), rtol=1e-4, atol=1e-5
    )


def test_contributions_of_a_network_per_feature(lists):
    pytest.importorskip("torch")
    ranker = NeuralRanker(scorer="gam", hidden=(4,), epochs=2, seed=0, loss="squared").fit(lists)
    found = contributions(ranker, lists)
    assert found.exact
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), ranker.predict(lists), atol=1e-5)


def test_contributions_of_a_weighted_sum_by_hand():
    ranker, data = three()
    found = contributions(ranker, data)
    np.testing.assert_array_equal(found.values, [[6, 0], [2, -1], [0, -5]])
    assert found.base.tolist() == [0.0, 0.0, 0.0]


def shapley(ranker, x, background):
    """The formula: all sets of other features, all background documents."""
    width = len(x)
    sets = [frozenset(some) for size in range(width + 1) for some in combinations(range(width), size)]
    mixed = [np.where([i in some for i in range(width)], x, background) for some in sets]
    value = dict(
        zip(sets, ranker.predict(np.concatenate(mixed)).reshape(len(sets), -1).mean(axis=1), strict=True)
    )
    total = np.zeros(width)
    for some in sets:
        for feature in set(range(width)) - some:
            weight = factorial(len(some)) * factorial(width - len(some) - 1) / factorial(width)
            total[feature] += weight * (value[some | {feature}] - value[some])
    return total


def test_drawn_contributions_approach_all_orders(lists):
    ranker = PointwiseRanker(DecisionTreeRegressor(max_depth=4, random_state=0)).fit(lists)
    background = lists.X[:6]
    found = contributions(ranker, lists.X[10:13], background=background, samples=800, seed=0)
    assert not found.exact
    np.testing.assert_allclose(
        found.base + found.values.sum(axis=1), ranker.predict(lists.X[10:13]), atol=0.1
    )
    for row, values, error in zip(lists.X[10:13], found.values, found.error, strict=True):
        wanted = shapley(ranker, row, background)
        assert (np.abs(values - wanted) <= 4 * error + 1e-9).all()


def test_contributions_where_the_list_matters(lists):
    """The other documents stay: base and shares still sum to the score of the document."""
    ranker = Fusion([RankSVM(), RankSVM(C=10.0)], method="comb_sum").fit(lists)
    one = lists.select([4])
    found = contributions(ranker, one, rows=[2, 0], background=lists, samples=60, seed=0)
    assert not found.exact
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), ranker.predict(one)[[2, 0]], atol=1e-9)
    with pytest.raises(ValueError, match="scores a document by its list; give a RankingDataset"):
        contributions(ranker, one.X)
    answer = why(ranker, lists, lists.qid[4], 1, 3, samples=20)
    np.testing.assert_allclose(answer.share.sum(), answer.scores[0] - answer.scores[1])
    assert "rest of the list" in answer.features
    assert "estimated by sampling" in repr(answer)


def test_the_rest_of_the_list_stays(lists):
    one = lists.select([4])
    for ranker in (RankSVM().fit(lists), Fusion([RankSVM(), RankSVM(C=10.0)], method="comb_sum").fit(lists)):
        found = scores_instead(ranker, one.X, 1, lists.X[:3])
        for other, scores in zip(lists.X[:3], found, strict=True):
            moved = one.X.copy()
            moved[1] = other
            np.testing.assert_allclose(scores, ranker.predict(one.replace(X=moved)))


# importance


def test_splits_and_gains_are_those_of_the_engine(lists, trees):
    booster = trees.forest_.booster
    np.testing.assert_array_equal(importance(trees, by="split").values, booster.feature_importance("split"))
    np.testing.assert_array_equal(importance(trees, by="gain").values, booster.feature_importance("gain"))
    xgboost = LambdaMART(trees=10, leaves=8, threads=1, backend="xgboost").fit(lists)
    inner = sum(
        left >= 0
        for tree in json.loads(xgboost.forest_.text)["learner"]["gradient_booster"]["model"]["trees"]
        for left in tree["left_children"]
    )
    assert importance(xgboost, by="split").values.sum() == inner
    assert (importance(xgboost, by="gain").values > 0).any()


def test_shuffling_what_is_not_used_costs_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    data = RankingDataset.from_groups(X, (X[:, 0] > 0).astype(int), [10] * 40)
    ranker = RankSVM().fit(data)
    ranker.coef_ = np.array([1.0, 0.1, 0.0])
    found = importance(ranker, data, metric="ndcg", resamples=3)
    assert found.order()[0] == 0
    assert found.values[2] == found.low[2] == found.high[2] == 0.0
    assert found.low[0] > 0.1
    np.testing.assert_array_equal(found.values, importance(ranker, data, metric="ndcg", resamples=3).values)


def test_lower_is_better_still_loses(lists, trees):
    found = importance(trees, lists, metric="arp", resamples=2)
    assert not metric("arp").higher_is_better
    assert found.values.max() > 0


def test_shuffles_stay_within_their_queries():
    """A feature that is one value per query cannot lose anything within queries."""
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.normal(size=200), np.repeat(rng.normal(size=20), 10)))
    data = RankingDataset.from_groups(X, (X[:, 0] > 0).astype(int), [10] * 20)
    ranker = RankSVM().fit(data)
    ranker.coef_ = np.array([1.0, 5.0])
    assert importance(ranker, data).values[1] == 0.0
    assert importance(ranker, data, within="data").values[1] > 0.0


def test_importance_says_where_few_queries_make_it():
    """Thirty queries, and in three of them the feature has values that differ."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[30:, 1] = 0.0
    data = RankingDataset.from_groups(X, (X.sum(axis=1) > 0).astype(np.float32), np.full(30, 10))
    found = importance(RankSVM().fit(data), data, metric="ndcg")
    assert found.notes[-1] == "a rough interval for feature 2: a few queries make most of its loss"
    assert found.low[0] > 0


def test_importance_prints_and_travels(lists, trees):
    found = importance(trees, lists, resamples=1)
    assert repr(found).splitlines()[0].split()[:2] == ["feature", "ndcg@10"]
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert [row["feature"] for row in plain["features"]] == [found.names[i] for i in found.order()]
    assert "share" in repr(importance(trees, by="gain"))


def test_importance_of_the_wrong_kind(lists, trees):
    with pytest.raises(ValueError, match="RankSVM has no splits"):
        importance(RankSVM().fit(lists), by="gain")
    with pytest.raises(ValueError, match="needs judged lists"):
        importance(trees)
    with pytest.raises(ValueError, match="unknown importance 'gian'; did you mean 'gain'"):
        importance(trees, by="gian")


# why


def test_why_by_hand():
    ranker, data = three()
    found = why(ranker, data, "q", "y", "x")
    assert found.documents == ("x", "y")
    assert found.ranks == (1, 2)
    assert found.scores == (6.0, 1.0)
    assert dict(zip(found.features, found.share, strict=True)) == {"bm25": 4.0, "age": 1.0}
    assert [(one.feature, one.now) for one in found.changes] == []  # 3 times 2, less 1, is 5: below 6
    lower = why(ranker, data, "q", "y", "z")
    assert [(one.feature, one.now, one.value) for one in lower.changes] == [("bm25", 0.0, 3.0)]


def test_why_takes_the_first_two_by_default(lists, trees):
    query = lists.qid[7]
    found = why(trees, lists, query)
    assert found.ranks == (1, 2)
    assert found.documents == ("#1", "#2")
    np.testing.assert_allclose(found.share.sum(), found.scores[0] - found.scores[1], atol=1e-9)
    assert (np.diff(np.abs(found.share)) <= 0).all()
    assert why(trees, lists, str(query), "2", "1").share[0] == found.share[0]
    text = repr(found)
    assert f"query {query}: #1 (rank 1) above #2 (rank 2)" in text
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_changes_do_what_they_say(lists, trees):
    one = lists.select([3])
    scores = trees.predict(one)
    found = why(trees, lists, lists.qid[3], 1, one.n_documents)
    x = one.X[np.argsort(-scores, kind="stable")[-1]].copy()
    for change in found.changes:
        moved = x.copy()
        moved[lists.feature_names.index(change.feature)] = change.value
        assert trees.predict(moved[None])[0] >= scores.max()


def test_why_with_missing_values(lists):
    X = lists.X.copy()
    X[:, 1] = np.nan
    X[::3, 0] = np.nan
    poor = lists.replace(X=X)
    found = why(LambdaMART(trees=5, leaves=8, threads=1).fit(poor), poor, poor.qid[2], 1, 4)
    np.testing.assert_allclose(found.share.sum(), found.scores[0] - found.scores[1], atol=1e-9)
    assert "length" not in {change.feature for change in found.changes}
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_what_is_known_is_not_cut_in_silence():
    ranker, data = three()
    many = RankingDataset(
        np.tile(data.X, (30, 1)), np.tile(data.y, 30), np.repeat(np.arange(30), len(data.y))
    )
    with pytest.raises(ValueError, match=r"unknown query 99; .* 29") as error:
        why(ranker, many, 99)
    assert all(f" {query}" in str(error.value) for query in range(30))


def test_why_about_nothing(lists, trees):
    ranker, data = three()
    with pytest.raises(ValueError, match="unknown query 'r'"):
        why(ranker, data, "r")
    with pytest.raises(ValueError, match="unknown document 'w'"):
        why(ranker, data, "q", "w", "x")
    with pytest.raises(ValueError, match="both documents are x"):
        why(ranker, data, "q", "x", "x")
    with pytest.raises(ValueError, match="give a document by its rank, 1 to"):
        why(trees, lists, lists.qid[0], 1, 99)


# lambdas


def test_lambdas_are_the_gradient_turned():
    scores, labels, offsets = [0.5, 0.3, 0.1, 0.0, 1.0], [0, 1, 2, 1, 0], [0, 3, 5]
    found = lambdas("lambdarank", scores, labels, offsets)
    result = loss("lambdarank")(scores, labels, offsets)
    np.testing.assert_array_equal(found.push, -result.gradient)
    np.testing.assert_allclose(found.step * result.hessian, found.push)
    assert found.rank.tolist() == [1, 2, 3, 2, 1]
    assert found.of(1)["scores"] == [1.0, 0.0]
    assert found.of(1)["push"][0] < 0 < found.of(1)["push"][1]
    assert lambdas("ranknet", [1.0, 2.0], [1, 1]).step.tolist() == [0.0, 0.0]


# partial dependence


def test_partial_dependence_of_a_weighted_sum_is_a_line():
    ranker, data = three()
    found = partial_dependence(ranker, data, "bm25", points=3)
    np.testing.assert_array_equal(found.grid, [0, 1, 3])
    np.testing.assert_allclose(found.mean, 2 * found.grid - 2)
    np.testing.assert_allclose(found.low, found.mean, atol=1e-12)
    assert "bm25" in repr(found)
    assert found.to_dict()["grid"] == [0, 1, 3]
    with pytest.raises(ValueError, match="unknown feature 'bm52'; did you mean 'bm25'"):
        partial_dependence(ranker, data, "bm52")
    with pytest.raises(ValueError, match="numbered from 0 to 1, got 2"):
        partial_dependence(ranker, data, 2)
    with pytest.raises(ValueError, match="age is missing in every document"):
        partial_dependence(ranker, data.replace(X=np.array([[1, np.nan]] * 3)), "age")


def test_partial_dependence_draws_whole_queries(lists, trees):
    found = partial_dependence(trees, lists, 0, points=4, documents=50)
    assert 30 <= len(found.curves) <= 50
    again = partial_dependence(trees, lists, 0, points=4, documents=50)
    np.testing.assert_array_equal(again.curves, found.curves)


# ablation


def test_what_matters_is_missed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=600), [0.5, 1.0])
    train, test = RankingDataset.from_groups(X, y, [10] * 60).split(0.5, seed=0)
    found = ablation(RankSVM(), train, test, {"the one": [0], "the rest": [1, 2, 3]}, "ndcg")
    verdicts = found.verdicts["ndcg"]
    assert verdicts["without the one"].difference < -0.1
    assert verdicts["without the one"].p_holm < 0.01
    assert abs(verdicts["without the rest"].difference) < 0.05


def test_groups_that_leave_nothing():
    ranker, data = three()
    with pytest.raises(ValueError, match="'both' holds every feature"):
        ablation(ranker, data, data, {"both": ["bm25", "age"]})
    with pytest.raises(ValueError, match="groups is empty"):
        ablation(ranker, data, data, {})
    with pytest.raises(ValueError, match="unknown feature"):
        ablation(ranker, data, data, {"a": ["nothing"]})
