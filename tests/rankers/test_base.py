"""The contract: what `fit` and `predict` take, and scikit-learn's searches and pipelines."""

import subprocess
import sys

import numpy as np
import pandas
import polars
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankloop.data import RankingDataset, synthetic
from rankloop.metrics import metric
from rankloop.rankers import Ensemble, FeatureSum, PointwiseRanker, RankSVM, ranking_scorer

DATA = synthetic(n_queries=40, docs_per_query=8, n_features=4, seed=0).replace(feature_names=None)
X, y, qid = DATA.X, DATA.y, DATA.row_qid


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_a_data_set_and_rows_give_the_same():
    expected = RankSVM().fit(DATA).predict(DATA)
    np.testing.assert_array_equal(RankSVM().fit(X, y, qid=qid).predict(X), expected)
    np.testing.assert_array_equal(RankSVM().fit(X, y, groups=qid).predict(X, groups=qid), expected)


def test_frames_bring_names():
    names = ["a", "b", "c", "d"]
    for frame in (pandas.DataFrame(X, columns=names), polars.DataFrame(np.asarray(X), schema=names)):
        ranker = RankSVM().fit(frame, y, qid=qid)
        assert ranker.feature_names_in_.tolist() == names
        np.testing.assert_array_equal(ranker.predict(frame), ranker.predict(X))
        with pytest.raises(ValueError, match="another order"):
            ranker.predict(frame[["b", "a", "c", "d"]])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((X, y), {}, "needs qid"),
        ((X,), {"qid": qid}, "needs labels"),
        ((X, DATA), {"qid": qid}, "needs labels"),
        ((DATA, y), {}, "leave out y and qid"),
        ((DATA,), {"qid": qid}, "leave out y and qid"),
        ((DATA, DATA, DATA), {}, "two validation sets"),
        ((DATA,), {"valid": X}, "valid must be a RankingDataset, got ndarray"),
        ((X, y), {"qid": qid, "groups": qid[::-1]}, "qid and groups differ"),
        ((DATA,), {"valid": DATA.replace(X=X[:, :2])}, "valid has 2 features but .* 4"),
        ((X[:0], y[:0]), {"qid": qid[:0]}, "no documents"),
    ],
)
def test_wrong_calls_say_what_to_do(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        RankSVM().fit(*arguments, **options)


def test_a_list_ranker_wants_its_lists():
    ranker = PointwiseRanker(scale="standard").fit(DATA)
    with pytest.raises(ValueError, match=r"scores a document by its list; use predict\(dataset\)"):
        ranker.predict(X)
    with pytest.raises(ValueError, match="leave out qid"):
        ranker.predict(DATA, qid=qid)
    np.testing.assert_array_equal(ranker.predict(X, qid=qid), ranker.predict(DATA))


def test_rank_gives_rows_best_first():
    ranker = RankSVM().fit(DATA)
    scores, order = ranker.predict(DATA), ranker.rank(DATA)
    np.testing.assert_array_equal(DATA.row_query[order], DATA.row_query)
    for start, stop in zip(DATA.offsets[:-1], DATA.offsets[1:], strict=True):
        assert sorted(order[start:stop]) == list(range(start, stop))
        assert (np.diff(scores[order[start:stop]]) <= 0).all()
    mixed = np.random.default_rng(0).permutation(len(X))
    again = ranker.rank(X[mixed], qid=qid[mixed])
    first = qid[mixed][0]
    assert mixed[again[0]] == order[DATA.offsets[list(DATA.qid).index(first)]]
    np.testing.assert_array_equal(ranker.rank(X[:8]), np.argsort(-scores[:8], kind="stable"))


def test_fit_forgets_what_it_learned_before():
    ranker = RankSVM().fit(DATA.replace(feature_names=["a", "b", "c", "d"]))
    ranker.fit(DATA)
    assert not hasattr(ranker, "feature_names_in_")


def test_one_ranker_does_not_load_the_libraries_of_another():
    """Also a machine without polars, lightgbm, rich, typer and zstandard can train and save."""
    probe = (
        "import sys, tempfile, numpy as np\n"
        "from rankloop.rankers import LinearRanker, RankSVM, load\n"
        "X = np.arange(6.0).reshape(6, 1)\n"
        "ranker = LinearRanker(loss='lambdarank').fit(X, [0, 1, 2, 0, 1, 1], qid=[1, 1, 1, 2, 2, 2])\n"
        "ranker.save(tempfile.mkdtemp() + '/model')\n"
        "names = 'polars lightgbm xgboost catboost torch optuna matplotlib rich typer zstandard'\n"
        "print([name for name in names.split() if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.usefixtures("routing")
def test_grid_search_over_whole_queries():
    search = GridSearchCV(
        RankSVM(), {"C": [1e-6, 1.0]}, cv=GroupKFold(4), scoring=ranking_scorer("ndcg@5"), error_score="raise"
    )
    search.fit(X, y, groups=qid)
    # the same figure by hand
    by_hand = []
    for train, test in GroupKFold(4).split(X, y, qid):
        fitted = clone(search.best_estimator_).fit(X[train], y[train], qid=qid[train])
        part = RankingDataset(X[test], y[test], qid[test])
        by_hand.append(np.nanmean(metric("ndcg@5")(fitted.predict(part), part.y, part.offsets)))
    assert search.best_score_ == pytest.approx(np.mean(by_hand))
    assert search.predict(X).shape == (len(X),)


@pytest.mark.usefixtures("routing")
def test_pipelines_route_the_queries():
    pipeline = make_pipeline(StandardScaler(), Ensemble([RankSVM(), RankSVM(C=10.0)]))
    pipeline.fit(X, y, groups=qid)
    np.testing.assert_array_equal(pipeline.predict(X, groups=qid), pipeline.predict(X, qid=qid))
    found = cross_validate(
        pipeline,
        X,
        y,
        cv=GroupKFold(3),
        scoring=ranking_scorer("map"),
        params={"groups": qid},
        error_score="raise",
    )
    assert (found["test_score"] > 0.5).all()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), RankSVM()),
        {"ranksvm__C": [0.1, 1.0]},
        cv=GroupKFold(3),
        scoring=ranking_scorer("mrr"),
    )
    assert 0.5 < search.fit(X, y, groups=qid).best_score_ <= 1


def test_scorers_point_up_and_weigh_queries():
    ranker = RankSVM().fit(DATA)
    assert ranking_scorer("arp")(ranker, DATA) < 0
    weight = np.linspace(0.1, 2.0, DATA.n_queries)
    values = metric("ndcg@10")(ranker.predict(DATA), DATA.y, DATA.offsets)
    known = ~np.isnan(values)
    expected = np.average(values[known], weights=weight[known])
    assert ranker.score(DATA.replace(query_weight=weight)) == pytest.approx(expected)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        ranker.score(X, y)


@pytest.mark.parametrize("convention", [None, "lightgbm", "sklearn"])
def test_a_scorer_takes_the_mean_as_its_metric_does(convention):
    """Lists without a relevant document count as the convention says, for a data set and for rows."""
    rows, ids = np.arange(6.0)[:, None], ["a", "a", "b", "b", "c", "c"]
    data = RankingDataset(rows, [1, 0, 0, 1, 0, 0], ids, query_weight=[1, 1, 1])
    ranker = FeatureSum({"x": 1.0}, features=["x"])
    chosen = metric("ndcg@10", convention=convention)
    expected = chosen.mean(chosen(rows[:, 0], data.y, data.offsets))
    scorer = ranking_scorer(chosen)
    assert scorer(ranker, data) == pytest.approx(expected)
    assert scorer(ranker, rows, data.y, qid=ids) == pytest.approx(expected)
