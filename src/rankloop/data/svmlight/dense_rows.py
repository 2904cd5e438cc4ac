"""A small file of dense rows, read without machine code: the compiler would take longer to load."""

from itertools import pairwise

import numpy as np

from rankloop._arrays import Singles
from rankloop.data.svmlight.block import Block, Layout

__all__ = ["dense_rows"]

_NUMBERS = b" 0123456789.+-eE"
_ODD = (b"#", b"\0", b"\v", b"\f")  # a comment, and what `split` takes for a blank and the parser does not
_LARGEST = 3.4028235677973366e38  # the least value that rounds to infinity in float32


def dense_rows(text: bytes, layout: Layout) -> Block | None:
    """The rows of a text whose lines all hold a label, a query and the same features from the first on.

    None for any other text (a comment, a feature left out, a value that is no plain number): the compiled
    parser reads that, or says what is wrong with it.

    >>> dense_rows(b"2 qid:a 1:0.5 2:1\\n0 qid:a 1:3 2:-1e-3\\n", Layout()).X
    array([[ 5.e-01,  1.e+00],
           [ 3.e+00, -1.e-03]], dtype=float32)
    >>> dense_rows(b"2 qid:a 2:0.5\\n", Layout()) is None
    True
    """
    if not text.isascii() or any(byte in text for byte in _ODD):
        return None
    lines = [line.split() for line in text.split(b"\n")]
    rows = [line for line in lines if line]
    width = len(rows[0]) - 2 if rows else 0
    if width < 1 or width > (layout.n_features or width) or any(len(row) != width + 2 for row in rows):
        return None
    labels, queries, *features = zip(*rows, strict=True)
    base = 0 if layout.zero_based else 1
    columns = [numbers_behind(f"{base + i}:".encode(), column) for i, column in enumerate(features)]
    y = numbers_behind(b"", labels)
    named = all(query.startswith(b"qid:") and len(query) > 4 for query in queries)
    if y is None or not named or not (y >= 0).all():
        return None
    X = np.empty((len(rows), width), np.float32)
    for i, column in enumerate(columns):
        if column is None:
            return None
        X[:, i] = column
    changes = [0, *(row for row, (a, b) in enumerate(pairwise(queries), 1) if a != b)]
    places = [number for number, line in enumerate(lines, 1) if line]
    runs = [(row, queries[row][4:], places[row]) for row in changes]
    return Block(X, y, runs, None, [""] * len(runs), len(text))


def numbers_behind(prefix: bytes, tokens: tuple[bytes, ...]) -> Singles | None:
    """The numbers behind the prefix that all tokens have; None unless each is plain and fits float32."""
    joined = b" " + b" ".join(tokens)
    spelled = joined.replace(b" " + prefix, b" ")
    whole = len(joined) - len(spelled) == len(prefix) * len(tokens)
    if not whole or spelled.translate(None, _NUMBERS):
        return None
    try:
        values = np.fromiter(map(float, spelled.split()), np.float64)
    except ValueError:
        return None
    if len(values) != len(tokens) or np.abs(values).max() >= _LARGEST:
        return None
    return values.astype(np.float32)
