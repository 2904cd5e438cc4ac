"""Checks of lists: one sentence for each mistake, for metrics and losses alike."""

import numpy as np
import pytest

from rankloop.lists import Lists, check_offsets


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (([1.0, np.nan], [0, 1], [0, 2]), {}, r"scores must not be nan, got nan in list 0 \(row 1\)"),
        (([1.0, np.nan], [0, 1], [0, 2]), {"finite": True}, "scores must be finite, got nan"),
        (([1.0, -np.inf], [0, 1], [0, 2]), {"finite": True}, "scores must be finite, got -inf"),
        (([1.0, 2.0], [0, -1], [0, 1, 2]), {}, r"labels must be finite and >= 0, got -1 in list 1 \(row 1\)"),
        (([1.0, 2.0], [0, -np.inf], [0, 2]), {"signed": True}, "labels must be finite, got -inf"),
        (([1.0, 2.0], [0, np.inf], [0, 2]), {"signed": True}, "labels must be finite, got inf"),
        (([1.0, 2.0], [0, 1], [0, 2], [1, -1]), {}, "weight must be finite and >= 0, got -1"),
        (([1.0], [0, 1], [0, 2]), {}, r"scores needs one value per document \(2 by the offsets\)"),
        ((["a", "b"], [0, 1], [0, 2]), {}, "scores must hold numbers"),
        (([1.0, 2.0], [0, 1], [1, 2]), {}, r"offsets must start at 0 and never fall, got \[1, 2\]"),
    ],
)
def test_mistakes_are_named(given, options, message):
    with pytest.raises(ValueError, match=message):
        Lists(*given, **options)


def test_what_is_allowed():
    lists = Lists([1, -np.inf], [-2.0, 1.0], [0, 0, 2], [0.5, 2.0], signed=True)
    assert (lists.n_lists, lists.n_documents, lists.longest) == (2, 2, 2)
    assert lists.weighted(np.ones(2)).tolist() == [0.5, 2.0]
    assert lists.spread(np.array([7, 8])).tolist() == [8, 8]
    assert Lists([], [], [0]).n_lists == 0
    assert check_offsets(np.array([0, 3], np.int32)).dtype == np.int64


def test_kernels_see_one_kind_of_array():
    """Columns of pandas tables and of maps are read-only: kernels would be compiled again for them."""
    given = np.array([2.0, 1.0]), np.array([0, 1], np.float32), np.array([0, 2]), np.ones(2, np.float32)
    for one in given:
        one.flags.writeable = False
    lists = Lists(*given)
    assert all(one.flags.writeable for one in (lists.scores, lists.labels, lists.offsets, lists.weight))
    assert not any(one.flags.writeable for one in given)
    mine = np.array([2.0, 1.0])
    assert Lists(mine, [0, 1], [0, 2]).scores is mine, "what may be written to is not copied"
