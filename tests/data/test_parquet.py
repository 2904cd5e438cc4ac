"""Parquet files."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data import Pairs, RankingDataset, read_parquet, write_parquet


@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4), text=st.booleans(), seed=st.integers(0, 99)
)
def test_what_is_written_is_read_back(tmp_path_factory, lengths, text, seed):
    rng = np.random.default_rng(seed)
    n, q = sum(lengths), len(lengths)
    X = rng.normal(size=(n, 2)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    ids = [f"q{i}é" for i in range(q)] if text else np.arange(q)
    data = RankingDataset.from_groups(
        X,
        rng.integers(0, 5, n),
        lengths,
        qid=ids,
        docid=[f"d{i}" for i in range(n)] if text else None,
        query_weight=rng.random(q),
        item_weight=rng.random(n),
        position=rng.integers(1, 9, n),
        feature_names=["a", "b"],
    )
    path = tmp_path_factory.mktemp("parquet") / "data.parquet"
    write_parquet(data, path)
    again = read_parquet(path)
    for name in ("X", "y", "offsets", "qid", "docid", "query_weight", "item_weight", "position"):
        np.testing.assert_array_equal(getattr(again, name), getattr(data, name))
    assert again.feature_names == data.feature_names
    assert [file.name for file in path.parent.iterdir()] == ["data.parquet"]


def test_several_files_are_one_set(tmp_path):
    for i in (1, 2):
        write_parquet(RankingDataset([[i]], [i], [i]), tmp_path / f"{i}.parquet")
    data = read_parquet([tmp_path / "1.parquet", tmp_path / "2.parquet"])
    assert data.qid.tolist() == [1, 2]


def test_columns_by_other_names(tmp_path):
    pl.DataFrame({"q": [1], "grade": [2], "f": [0.5]}).write_parquet(tmp_path / "data.parquet")
    assert read_parquet(tmp_path / "data.parquet", qid="q", label="grade").y.tolist() == [2.0]
    with pytest.raises(
        ValueError, match=r"unknown column 'label'; name yours with label=\.\.\.; known: f, grade, q"
    ):
        read_parquet(tmp_path / "data.parquet")


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_parquet(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="at least one file"):
        read_parquet([])
    broken = tmp_path / "broken.parquet"
    write_parquet(RankingDataset([[1.0]], [1], [1]), broken)
    other = tmp_path / "other.parquet"
    write_parquet(RankingDataset([[1.0]], [1], ["a"], feature_names=["g"]), other)
    with pytest.raises(ValueError, match="differ in column 'f1'"):
        read_parquet([broken, other])
    broken.write_bytes(broken.read_bytes()[:-20])
    with pytest.raises(ValueError, match="damaged or not a Parquet file"):
        read_parquet(broken)


def test_pairs_do_not_fit(tmp_path):
    data = RankingDataset([[1.0], [2.0]], [1, 0], [1, 1], pairs=Pairs([0], [1]))
    with pytest.raises(ValueError, match="cannot hold pairs"):
        write_parquet(data, tmp_path / "data.parquet")
    assert list(tmp_path.iterdir()) == []
