"""Joining data sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data import Pairs, RankingDataset, concat


def made(queries, **columns):
    n = len(queries)
    return RankingDataset(np.arange(2 * n).reshape(n, 2), np.arange(n) % 3, queries, **columns)


@given(lengths=st.lists(st.integers(1, 4), min_size=2, max_size=8), cut=st.data())
def test_parts_of_a_set_make_the_set_again(lengths, cut):
    n = sum(lengths)
    rng = np.random.default_rng(n)
    starts = np.cumsum([0, *lengths])
    better = [int(s) for s, length in zip(starts, lengths, strict=False) if length > 1]
    whole = RankingDataset.from_groups(
        rng.normal(size=(n, 3)),
        rng.integers(0, 5, n),
        lengths,
        docid=[f"d{i}" for i in range(n)],
        query_weight=rng.random(len(lengths)),
        item_weight=rng.random(n),
        position=rng.integers(1, 9, n),
        pairs=Pairs(better, [b + 1 for b in better]),
        feature_names=["a", "b", "c"],
    )
    at = cut.draw(st.integers(1, len(lengths) - 1))
    again = concat([whole.select(np.arange(at)), whole.select(np.arange(at, len(lengths)))])
    for name in ("X", "y", "offsets", "qid", "docid", "query_weight", "item_weight", "position"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
        assert getattr(again, name).dtype == getattr(whole, name).dtype
    assert again.feature_names == whole.feature_names
    np.testing.assert_array_equal(again.pairs.better, whole.pairs.better)
    np.testing.assert_array_equal(again.pairs.worse, whole.pairs.worse)


def test_what_only_one_part_has_is_filled_where_that_means_something():
    both = concat([made([1, 1], query_weight=[2.0]), made([2, 3], item_weight=[0.5, 1.0])])
    assert both.query_weight.tolist() == [2.0, 1.0, 1.0]
    assert both.item_weight.tolist() == [1.0, 1.0, 0.5, 1.0]
    paired = concat([made([1, 1]), made([2, 2], pairs=Pairs([0], [1]))])
    assert (paired.pairs.better.tolist(), paired.pairs.worse.tolist()) == ([2], [3])


def test_ids_of_two_kinds_become_text():
    assert concat([made([1]), made(["a"])]).qid.tolist() == ["1", "a"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "at least one"),
        ([made(["a"]), made(["b", "a"])], "query a is in part 1 and in part 2"),
        ([made([1]), made(["1"])], "query 1 is in part 1 and in part 2"),
        ([made([1]), RankingDataset([[1.0]], [0], [2])], "part 2 has 1 features but part 1 has 2"),
        (
            [made([1], feature_names=["u", "v"]), made([2], feature_names=["u", "w"])],
            "feature 1 is 'w' in part 2 but 'v' in part 1",
        ),
        ([made([1]), made([2], feature_names=["u", "w"])], "feature 0 is 'u' in part 2 but 'no names'"),
        ([made([1], docid=["x"]), made([2])], "part 2 has no docid but part 1 has"),
        ([made([1]), made([2], position=[1])], "part 1 has no position but part 2 has"),
    ],
)
def test_parts_that_do_not_fit(parts, message):
    with pytest.raises(ValueError, match=message):
        concat(parts)
