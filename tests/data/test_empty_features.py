"""A feature without any value is named when a set is read."""

import numpy as np
import polars
import pytest

from rankloop.data import from_frame, read_svmlight


def test_a_column_of_nan_is_named_with_a_way_out(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("1 qid:1 1:nan 2:3\n0 qid:1 1:nan 2:4\n")
    with pytest.warns(UserWarning, match=r"train.txt: feature 1 has no value in any of the 2 rows"):
        assert np.isnan(read_svmlight(path).X[:, 0]).all()


def test_a_column_of_nulls_is_named(tmp_path):
    table = polars.DataFrame(
        {"qid": [1, 1], "label": [0, 1], "a": [1.0, 2.0], "b": [None, None], "c": [None, None]}
    )
    with pytest.warns(UserWarning, match=r"feature 'b' and 1 more has no value"):
        from_frame(table.with_columns(polars.col("b", "c").cast(polars.Float64)))


def test_one_value_is_enough():
    table = polars.DataFrame({"qid": [1, 1], "label": [0, 1], "a": [None, 2.0]})
    assert from_frame(table).n_features == 1
