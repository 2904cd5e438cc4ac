"""RankingDataset: rows in any order, whole queries, and what is refused."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data import Pairs, RankingDataset

ids = st.one_of(
    st.lists(st.integers(-3, 3), min_size=1, max_size=20),
    st.lists(st.sampled_from(["a", "b", "ab", "é", "10", "1"]), min_size=1, max_size=20),
)


def grouped(queries):
    """For each query, in the order of first rows, its rows in their order."""
    rows = {}
    for row, query in enumerate(queries):
        rows.setdefault(query, []).append(row)
    return rows


@given(queries=ids)
def test_rows_in_any_order_become_whole_queries(queries):
    n = len(queries)
    rows = grouped(queries)
    data = RankingDataset(
        np.arange(n)[:, None],
        np.arange(n) % 4,
        queries,
        docid=[f"d{i}" for i in range(n)],
        query_weight={query: i + 1.0 for i, query in enumerate(rows)},
        item_weight=np.arange(n) / 2,
        position=np.arange(1, n + 1),
    )
    order = [row for group in rows.values() for row in group]
    assert data.qid.tolist() == list(rows)
    assert data.lengths.tolist() == [len(group) for group in rows.values()]
    assert data.X[:, 0].tolist() == order
    assert data.y.tolist() == [row % 4 for row in order]
    assert data.docid.tolist() == [f"d{row}" for row in order]
    assert data.item_weight.tolist() == [row / 2 for row in order]
    assert data.position.tolist() == [row + 1 for row in order]
    assert data.query_weight.tolist() == [i + 1.0 for i in range(len(rows))]
    assert data.row_qid.tolist() == [queries[row] for row in order]
    kinds = (data.X.dtype, data.y.dtype, data.offsets.dtype, data.position.dtype, data.item_weight.dtype)
    assert kinds == (np.float32, np.float32, np.int64, np.int32, np.float32)


@given(queries=ids, seed=st.integers(0, 99))
def test_pairs_and_row_weights_follow_their_rows(queries, seed):
    rng = np.random.default_rng(seed)
    rows = grouped(queries)
    better, worse = [], []
    for group in rows.values():
        if len(group) > 1:
            first, second = rng.choice(group, 2, replace=False)
            better.append(first)
            worse.append(second)
    weight = {query: float(rng.integers(1, 9)) for query in rows}
    data = RankingDataset(
        np.arange(len(queries))[:, None],
        np.zeros(len(queries)),
        queries,
        query_weight=[weight[query] for query in queries],
        pairs=Pairs(better, worse),
    )
    assert data.X[data.pairs.better, 0].tolist() == [float(b) for b in better]
    assert data.X[data.pairs.worse, 0].tolist() == [float(w) for w in worse]
    assert data.query_weight.tolist() == [weight[query] for query in rows]


def full(lengths, seed=0):
    rng = np.random.default_rng(seed)
    n, q = sum(lengths), len(lengths)
    starts = np.cumsum([0, *lengths])[:-1]
    better = starts[np.array(lengths) > 1]
    return RankingDataset.from_groups(
        rng.normal(size=(n, 2)),
        rng.integers(0, 3, n),
        lengths,
        qid=[f"q{i}" for i in range(q)],
        docid=np.arange(n),
        query_weight=rng.random(q),
        item_weight=rng.random(n),
        position=rng.integers(1, 9, n),
        pairs=Pairs(better, better + 1),
    )


@given(lengths=st.lists(st.integers(1, 5), min_size=2, max_size=9), seed=st.integers(0, 9), data=st.data())
def test_select_keeps_each_query_whole(lengths, seed, data):
    whole = full(lengths, seed)
    chosen = data.draw(st.lists(st.integers(0, len(lengths) - 1), unique=True))
    part = whole.select(chosen)
    assert part.qid.tolist() == [f"q{i}" for i in chosen]
    assert part.offsets.dtype == np.int64
    for i, query in enumerate(chosen):
        mine = slice(part.offsets[i], part.offsets[i + 1])
        theirs = slice(whole.offsets[query], whole.offsets[query + 1])
        for name in ("X", "y", "docid", "item_weight", "position"):
            np.testing.assert_array_equal(getattr(part, name)[mine], getattr(whole, name)[theirs])
        assert part.query_weight[i] == whole.query_weight[query]
    kept = {int(whole.docid[row]) for row in whole.pairs.better} & set(part.docid.tolist())
    assert {int(part.docid[row]) for row in part.pairs.better} == kept
    mask = np.isin(np.arange(len(lengths)), chosen)
    assert whole.select(mask).qid.tolist() == [f"q{i}" for i in sorted(chosen)]


@given(n=st.integers(2, 40), k=st.integers(2, 6), stratify=st.sampled_from([None, "length"]))
def test_each_query_is_tested_in_one_fold(n, k, stratify):
    data = full([1 + i % 3 for i in range(n)])
    if k > n:
        with pytest.raises(ValueError, match="folds takes 2 to"):
            data.folds(k)
        return
    tested = []
    for train, test in data.folds(k, seed=1, stratify=stratify):
        assert set(train.qid) | set(test.qid) == set(data.qid)
        assert not set(train.qid) & set(test.qid)
        assert n // k <= len(test) <= n // k + 1
        tested += test.qid.tolist()
    assert sorted(tested) == sorted(data.qid.tolist())


def test_stratified_folds_have_short_and_long_lists_alike():
    data = full([1] * 50 + [9] * 50)
    assert {test.n_documents for _, test in data.folds(5, stratify="length")} == {100}


@given(n=st.integers(5, 60), seed=st.integers(0, 5))
def test_split_and_sample_are_parts_of_the_set(n, seed):
    data = full([2] * n)
    first, second = data.split(0.6, seed=seed)
    assert sorted([*first.qid, *second.qid]) == sorted(data.qid)
    assert len(first) == round(0.6 * n)
    assert first.qid.tolist() == data.split(0.6, seed=seed)[0].qid.tolist()
    some = data.sample(3, seed=seed)
    assert len(some) == 3
    places = [data.qid.tolist().index(query) for query in some.qid]
    assert all(a < b for a, b in pairwise(places))


def test_replace_keeps_the_rest():
    data = full([2, 3])
    other = data.replace(y=[1, 1, 0, 0, 2], item_weight=None)
    assert other.y.tolist() == [1, 1, 0, 0, 2]
    assert other.item_weight is None
    for name in ("X", "docid", "query_weight", "position", "qid", "offsets"):
        np.testing.assert_array_equal(getattr(other, name), getattr(data, name))
    np.testing.assert_array_equal(other.pairs.better, data.pairs.better)
    for name in ("qid", "offsets", "nonsense"):
        with pytest.raises(ValueError, match=name):
            data.replace(**{name: []})


def test_an_empty_set_is_a_set():
    data = RankingDataset(np.zeros((0, 3)), [], [])
    assert (data.n_queries, data.n_documents, data.n_features) == (0, 0, 3)
    assert len(full([1, 2]).select([])) == 0


def test_frozen():
    with pytest.raises(AttributeError):
        full([1]).y = np.zeros(1)


@pytest.mark.parametrize(
    ("given_ids", "wanted"),
    [
        (np.array([3, 1], np.uint8), [3, 1]),
        (np.array([2**63, 2**63 + 1], np.uint64), [str(2**63), str(2**63 + 1)]),
        ([2**63, 2**63 + 1], [str(2**63), str(2**63 + 1)]),
        ([2**63 + 1, 3], [str(2**63 + 1), "3"]),
        ([2**70, 2**70 + 1], [str(2**70), str(2**70 + 1)]),
        ([1.0, 2.0], [1, 2]),
        ([1e300, 2e300], ["1e+300", "2e+300"]),
        ([1.5, 2.0], ["1.5", "2.0"]),
        (np.array([b"x", b"y"]), ["x", "y"]),
        (np.array(["x", "yy"], object), ["x", "yy"]),
        (np.array(["x", "yy"], np.dtypes.StringDType()), ["x", "yy"]),
        ([True, False], [1, 0]),
    ],
)
def test_ids_of_every_kind(given_ids, wanted):
    assert RankingDataset([[0.0]] * 2, [0, 0], given_ids).qid.tolist() == wanted


GOOD = {"X": [[1.0], [2.0], [3.0]], "y": [0, 1, 2], "qid": ["a", "b", "a"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [1.0, 2.0, 3.0]}, "rows × features"),
        ({"X": [["x"], ["y"], ["z"]]}, "X must hold numbers"),
        ({"X": [[1.0], [1e300], [2.0]]}, "feature 0 of row 1 is 1e\\+300, too large"),
        ({"y": [0, 1]}, "y needs one value per row"),
        ({"y": ["0", "1", "2"]}, "y must hold numbers"),
        ({"y": [0, 1, np.nan]}, "got nan in query a"),
        ({"y": [0, np.inf, 0]}, "got inf in query b"),
        ({"y": [0, 1e300, 0]}, "got inf in query b"),
        ({"y": [0, 1, -1]}, "labels must be finite and >= 0, got -1 in query a"),
        ({"qid": ["a", "b"]}, "qid needs one id per row"),
        ({"qid": ["a", None, "b"]}, "qid is missing in row 1"),
        ({"qid": [1.0, np.nan, 2.0]}, "qid is missing in row 1"),
        ({"qid": np.array(["a", pd.NA, "b"], object)}, "qid is missing in row 1"),
        ({"docid": ["x"]}, "docid needs one id per row"),
        ({"position": [1, 0, 2]}, "position starts at 1, got 0 in row 1"),
        ({"position": [1, 1.5, 2]}, "whole numbers, got 1.5 in row 1"),
        ({"position": [1, 2**40, 2]}, "position .* got 1099511627776 in row 1"),
        ({"position": [1, np.inf, 2]}, "position .* got inf in row 1"),
        ({"position": [1, np.nan, 2]}, "whole numbers, got nan in row 1"),
        ({"item_weight": [1, np.nan, 2]}, "item_weight must be finite, got nan in row 1"),
        ({"item_weight": [1, 1e300, 2]}, "item_weight must be finite, got 1e\\+300 in row 1"),
        ({"item_weight": [1, -0.5, 2]}, "item_weight is >= 0, got -0.5 in row 1"),
        ({"query_weight": [1, 2, 3]}, "query_weight differs within query a"),
        ({"query_weight": [1, -2]}, "query_weight is finite and >= 0, got -2.0 in query b"),
        ({"query_weight": [1.0]}, "query_weight needs one value per query \\(2\\) or per row \\(3\\), got 1"),
        ({"query_weight": {"a": 1.0}}, "no entry for query 'b'"),
        ({"feature_names": ["u", "v"]}, "X has 1 features but feature_names has 2"),
        ({"pairs": Pairs([0], [3])}, "pair 0 names row 3, but the rows are 0 to 2"),
        ({"pairs": Pairs([0], [1])}, "pair 0 joins query a with query b"),
    ],
)
def test_wrong_columns_end_in_one_sentence(change, message):
    with pytest.raises(ValueError, match=message):
        RankingDataset(**(GOOD | change))


def test_names_are_unique():
    with pytest.raises(ValueError, match="feature name 'u' appears more than once"):
        RankingDataset([[1.0, 2.0]], [1], [1], feature_names=["u", "u"])


@pytest.mark.parametrize(
    ("sizes", "more", "message"),
    [
        ([2, 2], {}, "the sizes sum to 4 but there are 3 rows"),
        ([3, 0], {}, "query 2 has size 0"),
        ([1.5, 1.5], {}, "one whole number per query"),
        ([2, 1], {"qid": ["a"]}, "qid needs one id per query"),
        ([2, 1], {"qid": ["a", "a"]}, "query a appears 2 times"),
    ],
)
def test_wrong_group_sizes(sizes, more, message):
    with pytest.raises(ValueError, match=message):
        RankingDataset.from_groups([[1.0]] * 3, [0, 1, 0], sizes, **more)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: data.split(), "fractions above 0"),
        (lambda data: data.split(0.9, 0.2), "sum to at most 1"),
        (lambda data: data.split(float("nan")), "fractions above 0"),
        (lambda data: data.split(0.5, float("nan")), "fractions above 0"),
        (lambda data: data.split([0.8, 0.2]), r"as in split\(0.8\), got \(\[0.8, 0.2\],\)"),
        (lambda data: data.split(0.01), "3 queries are too few for parts of 0.01, 0.99: queries stay whole"),
        (lambda data: data.select([0]).split(0.8), "1 query is too few for parts of 0.8, 0.2"),
        (lambda data: data.sample(9), "sample takes 1 to 3"),
        (lambda data: data.folds(9), "folds takes 2 to 3"),
        (lambda data: data.folds(2, stratify="label"), "stratify is None or 'length'"),
        (lambda data: data.select([5]), "query index 5 is out of range"),
        (lambda data: data.select([0, -3]), "query index 0 is chosen twice"),
        (lambda data: data.select([0.5]), "indices of queries"),
        (lambda data: data.select([True]), "one entry per query"),
    ],
)
def test_wrong_choices(call, message):
    with pytest.raises(ValueError, match=message):
        call(full([1, 2, 1]))


def test_a_wrong_label_is_named_by_the_row_that_was_given():
    with pytest.raises(ValueError, match=r"got -1 in query b \(row 3\)"):
        RankingDataset([[1.0]] * 4, [0, 1, 2, -1], ["a", "b", "a", "b"])
