"""The digests that place queries, of columns and of other ids."""

from hashlib import blake2b

import numpy as np
import polars
from hypothesis import example, given
from hypothesis import strategies as st

from rankloop.data.shards.shard_of import digests, shard_of


def by_hand(ids):
    return [int.from_bytes(blake2b(str(one).encode(), digest_size=8).digest(), "little") for one in ids]


@given(st.lists(st.one_of(st.text(max_size=300), st.integers(0, 1000).map(lambda n: "x" * n)), max_size=8))
@example(["", "x" * 127, "x" * 128, "x" * 129, "x" * 256, "ä" * 64])
def test_texts(ids):
    found = digests(polars.Series(ids, dtype=polars.String))
    assert found.dtype == np.uint64
    assert found.tolist() == by_hand(ids)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8))
def test_numbers(ids):
    assert digests(polars.Series(ids, dtype=polars.Int64)).tolist() == by_hand(ids)


def test_lists_and_other_columns_are_hashed_one_by_one():
    assert digests(iter([7, "7", 1.5, True])).tolist() == by_hand([7, "7", 1.5, True])
    assert digests(polars.Series([1.5, 2.0])).tolist() == by_hand([1.5, 2.0])
    assert digests(["\ud800"])[0] == int.from_bytes(
        blake2b(b"\xed\xa0\x80", digest_size=8).digest(), "little"
    )


def test_a_shard_is_the_digest_modulo_their_number():
    assert shard_of(polars.Series(["a", "b", "c"]), 7).tolist() == [one % 7 for one in by_hand("abc")]
