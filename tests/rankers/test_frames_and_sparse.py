"""Rankers on sparse matrices and on frames with categories and missing values."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from rankloop.data import RankingDataset, from_frame, synthetic
from rankloop.rankers import LambdaMART, LinearRanker, RankSVM, contributions, importance, load

SMALL = {"trees": 10, "leaves": 4, "min_sum_hessian": 0.0, "threads": 1}


@pytest.fixture(scope="module")
def data():
    return synthetic(n_queries=30, docs_per_query=8, n_features=4, seed=0)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array])
def test_a_sparse_matrix_is_the_dense_one(data, form):
    X = np.where(data.X > 0.5, data.X, 0).astype(np.float64)
    thin = form(X)
    np.testing.assert_array_equal(RankingDataset(thin, data.y, data.row_qid).X, X.astype(np.float32))
    dense = RankSVM().fit(X, data.y, qid=data.row_qid)
    np.testing.assert_array_equal(
        RankSVM().fit(thin, data.y, qid=data.row_qid).predict(thin), dense.predict(X)
    )


def test_a_sparse_value_too_large_is_named():
    with pytest.raises(ValueError, match="feature 1 of row 2 is 1e\\+300, too large"):
        RankingDataset(sparse.csr_matrix([[0.0, 1.0], [2.0, 0.0], [0.0, 1e300]]), [0, 1, 2], [1, 1, 1])


@pytest.fixture(scope="module")
def coloured():
    """The label follows the colour, in no order of the colours."""
    rng = np.random.default_rng(0)
    colours = np.array(["red", "blue", "green", "grey"])
    worth = {"red": 0, "blue": 3, "green": 1, "grey": 2}
    drawn = rng.choice(colours, 240)
    frame = pd.DataFrame({"colour": pd.Categorical(drawn, colours), "noise": rng.normal(size=240)})
    return frame, np.array([worth[one] for one in drawn]), np.repeat(np.arange(30), 8)


def test_categories_of_pandas_are_split_as_sets(coloured):
    frame, y, qid = coloured
    ranker = LambdaMART(**SMALL).fit(frame, y, qid=qid)
    assert ranker.categories_ == {"colour": ["red", "blue", "green", "grey"]}
    assert ranker.score(frame, y, qid=qid) > 0.99
    codes = frame.assign(colour=frame["colour"].cat.codes)
    named = LambdaMART(categorical=["colour"], **SMALL).fit(codes, y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(frame), named.predict(codes))


def test_categories_of_another_frame_keep_their_codes(coloured, tmp_path):
    """Other declared orders, fewer categories, plain text: what counts is the name of the category."""
    frame, y, qid = coloured
    ranker = LambdaMART(**SMALL).fit(frame, y, qid=qid)
    expected = ranker.predict(frame)
    other = frame.assign(colour=frame["colour"].cat.reorder_categories(["grey", "green", "blue", "red"]))
    ranker.save(tmp_path / "model.rank")
    for one in (ranker, load(tmp_path / "model.rank")):
        np.testing.assert_array_equal(one.predict(other), expected)
        np.testing.assert_array_equal(one.predict(other.assign(colour=other["colour"].astype(str))), expected)
        np.testing.assert_array_equal(one.predict(pl.from_dict(other.to_dict("list"))), expected)
    red = frame[frame["colour"] == "red"]
    red = red.assign(colour=red["colour"].cat.remove_unused_categories())
    np.testing.assert_array_equal(ranker.predict(red), expected[(frame["colour"] == "red").to_numpy()])
    parts = contributions(ranker, other)
    np.testing.assert_allclose(parts.base + parts.values.sum(axis=1), expected, rtol=1e-6)


def test_a_category_never_seen_counts_as_missing(coloured):
    frame, y, qid = coloured
    ranker = LambdaMART(**SMALL).fit(frame, y, qid=qid)
    new = pd.DataFrame({"colour": pd.Categorical(["pink", None]), "noise": [0.0, 0.0]})
    first, second = ranker.predict(new)
    assert first == second


def test_missing_values_of_pandas_are_nan():
    frame = pd.DataFrame(
        {"qid": [1, 1], "label": [1, 0], "a": pd.array([1, None], "Int64"), "b": [None, 2.5]}
    )
    np.testing.assert_array_equal(from_frame(frame).X, np.array([[1, np.nan], [np.nan, 2.5]], np.float32))
    ranker = LinearRanker().fit(frame[["a", "b"]], frame["label"], qid=frame["qid"])
    assert np.isfinite(ranker.predict(frame[["a", "b"]])).all()


def test_categories_without_an_order_are_refused_in_a_data_set():
    frame = pl.DataFrame({"qid": [1], "label": [1], "colour": pl.Series(["red"], dtype=pl.Categorical)})
    with pytest.raises(ValueError, match=r"'colour' is Categorical, .* cast it to polars.Enum"):
        from_frame(frame)
    fixed = frame.with_columns(pl.col("colour").cast(pl.String).cast(pl.Enum(["blue", "red"])))
    assert from_frame(fixed).X.tolist() == [[1.0]]


def test_no_labels_are_needed_to_predict():
    made = from_frame(pl.DataFrame({"qid": [1, 1], "bm25": [0.5, 1.5]}), label=None)
    assert (made.y.tolist(), made.feature_names) == ([0.0, 0.0], ("bm25",))


@pytest.mark.parametrize("backend", ["lightgbm", "rankloop", "xgboost"])
def test_importances_sum_to_one(data, backend):
    ranker = LambdaMART(backend=backend, trees=5, leaves=4, threads=1).fit(data)
    assert ranker.feature_importances_.shape == (4,)
    assert ranker.feature_importances_.sum() == pytest.approx(1.0)
    gains = importance(ranker, by="gain").values
    np.testing.assert_allclose(ranker.feature_importances_, gains / gains.sum())


@pytest.mark.parametrize(
    ("X", "y", "qid", "message"),
    [
        (np.ones((4, 2)), [1, 1, 1, 1], [0, 0, 1, 1], "there is no order to learn"),
        (np.ones((4, 2)), [1, 0, 1, 0], [0, 1, 2, 3], "there is no order to learn"),
        (np.empty((4, 0)), [1, 0, 1, 0], [0, 0, 1, 1], "no features, so there is nothing to rank by"),
    ],
)
@pytest.mark.parametrize("ranker", [LambdaMART(**SMALL), RankSVM(), LinearRanker()])
def test_what_cannot_be_learned_from_is_a_sentence(ranker, X, y, qid, message):
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, y, qid=qid)


@pytest.mark.parametrize("backend", ["lightgbm", "rankloop", "xgboost", "catboost"])
def test_one_query_is_enough(backend):
    X, y = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]), [0, 1, 2]
    made = LambdaMART(backend=backend, trees=5, leaves=4, threads=1).fit(X, y, qid=[0, 0, 0])
    assert np.isfinite(made.predict(X)).all()


def test_features_that_tell_nothing_apart_are_a_sentence_and_not_a_fatal_error(capfd):
    y, qid = np.arange(60) % 3, np.repeat(np.arange(6), 10)
    for X in (np.ones((60, 2)), np.full((60, 2), np.nan)):
        with pytest.raises(ValueError, match="no feature tells the 60 documents apart"):
            LambdaMART(**SMALL).fit(X, y, qid=qid)
    assert "Fatal" not in capfd.readouterr().err
