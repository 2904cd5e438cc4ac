"""Tables in and out."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data import RankingDataset, from_frame, to_frame

pytestmark = pytest.mark.filterwarnings("ignore:.*has no value in any:UserWarning")

COLUMNS = {
    "qid": ["b", "a", "b"],
    "label": [0, 2, 1],
    "bm25": [1.5, None, 3.0],
    "clicks": [4, 5, 6],
    "fresh": [True, False, True],
    "docid": [11, 12, 13],
}

KINDS = {
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pandas": pd.DataFrame,
    "nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "arrow": pa.table,
    "batch": lambda columns: pa.record_batch(columns),
}


def assert_same(a, b):
    for name in ("X", "y", "offsets", "qid", "docid", "query_weight", "item_weight", "position"):
        mine, other = getattr(a, name), getattr(b, name)
        assert (mine is None) == (other is None), name
        if mine is not None:
            np.testing.assert_array_equal(mine, other)
            assert mine.dtype.kind == other.dtype.kind


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_set(kind):
    data = from_frame(KINDS[kind](COLUMNS))
    assert data.feature_names == ("bm25", "clicks", "fresh")
    np.testing.assert_array_equal(data.X, np.array([[1.5, 4, 1], [3, 6, 1], [np.nan, 5, 0]], np.float32))
    assert data.y.tolist() == [0, 1, 2]
    assert data.qid.tolist() == ["b", "a"]
    assert data.docid.tolist() == [11, 13, 12]


def test_pandas_without_pyarrow():
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import pandas as pd\n"
        "from rankloop.data import from_frame\n"
        "queries = pd.Categorical(['x', 'y'])\n"
        "frame = pd.DataFrame({'qid': queries, 'docid': ['d', 'e'], 'label': [1, 0], 'f': [0.5, None]})\n"
        "data = from_frame(frame)\n"
        "assert data.qid.tolist() == ['x', 'y'] and data.docid.tolist() == ['d', 'e']\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def sets():
    @st.composite
    def draw(draw):
        lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
        n, q = sum(lengths), len(lengths)
        rng = np.random.default_rng(draw(st.integers(0, 999)))
        X = rng.normal(size=(n, 3)).astype(np.float32)
        X[rng.random(X.shape) < 0.2] = np.nan
        text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=4)
        ids = draw(st.one_of(st.just(np.arange(q) - 1), st.lists(text, min_size=q, max_size=q, unique=True)))
        extra = {
            "docid": rng.integers(0, 99, n),
            "query_weight": rng.random(q),
            "item_weight": rng.random(n),
            "position": rng.integers(1, 9, n),
            "feature_names": ["u", "ü v", "label 2"],
        }
        kept = {name: value for name, value in extra.items() if draw(st.booleans())}
        return RankingDataset.from_groups(X, rng.integers(0, 5, n), lengths, qid=ids, **kept)

    return draw()


@given(data=sets())
def test_to_a_table_and_back(data):
    again = from_frame(to_frame(data))
    assert_same(again, data)
    assert again.feature_names == (data.feature_names or ("f1", "f2", "f3"))


@given(data=sets())
def test_through_pandas_and_arrow(data):
    assert_same(from_frame(to_frame(data).to_arrow()), data)
    assert_same(from_frame(to_frame(data).to_pandas()), data)


def test_columns_by_other_names():
    frame = pl.DataFrame({"query": [1, 1], "grade": [0, 1], "w": [2.0, 2.0], "a": [1, 2], "b": [3, 4]})
    data = from_frame(frame, label="grade", qid="query", query_weight="w", features=["b"])
    assert data.X.tolist() == [[3.0], [4.0]]
    assert data.query_weight.tolist() == [2.0]
    assert from_frame(pl.DataFrame(COLUMNS), docid=None).feature_names[-1] == "docid"


def test_huge_query_ids_become_text():
    frame = pl.DataFrame({"qid": [2**64 - 1], "label": [1], "f": [1]}, schema_overrides={"qid": pl.UInt64})
    assert from_frame(frame).qid.tolist() == [str(2**64 - 1)]


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, {"label": "lable"}, "unknown column 'lable'; did you mean 'label'"),
        ({}, {"qid": "query"}, "unknown column 'query'"),
        ({}, {"docid": "docids"}, "unknown column 'docids'; did you mean 'docid'"),
        ({}, {"features": ["bm26"]}, "unknown column 'bm26'; did you mean 'bm25'"),
        ({}, {"features": ["label"]}, "column 'label' cannot be a feature"),
        ({"title": ["x", "y", "z"]}, {}, "feature column 'title' must hold numbers, got String"),
        ({"big": [1.0, 1e300, 0.0]}, {}, r"column 'big' holds 1e\+300 in row 1, too large"),
        ({"qid": ["b", None, "b"]}, {}, "column 'qid' is missing in row 1"),
        ({"docid": [1, 2, None]}, {}, "column 'docid' is missing in row 2"),
        ({"label": [0, None, 1]}, {}, "column 'label' is missing in row 1"),
        ({"label": ["a", "b", "c"]}, {}, "column 'label' must hold numbers, got String"),
        ({"label": [0, -1, 1]}, {}, "got -1 in query a"),
        ({"position": [0, 1, 2]}, {}, "position starts at 1"),
    ],
)
def test_bad_tables(change, arguments, message):
    with pytest.raises(ValueError, match=message):
        from_frame(pl.DataFrame(COLUMNS | change), **arguments)


def test_what_is_no_table():
    with pytest.raises(ValueError, match=r"takes a polars, pandas or Arrow table, got list"):
        from_frame([1, 2])
    with pytest.raises(ValueError, match="got Series"):
        from_frame(pd.Series([1.0]))
    twice = pd.DataFrame([[1, 1, 1]], columns=["a", "a", "label"])
    with pytest.raises(ValueError, match="column 'a' appears more than once"):
        from_frame(twice)
    with pytest.raises(ValueError, match="feature 'qid' has the name of another column"):
        to_frame(RankingDataset([[1.0]], [1], [1], feature_names=["qid"]))


def test_columns_without_any_value_are_read():
    frame = pl.DataFrame(COLUMNS | {"empty": [None, None, None]})
    data = from_frame(frame)
    assert np.isnan(data.X[:, 3]).all()
