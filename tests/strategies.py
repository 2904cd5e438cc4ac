"""Inputs for property tests: ragged lists of scores and labels."""

import numpy as np
from hypothesis import strategies as st

__all__ = ["ragged_lists"]


@st.composite
def ragged_lists(draw, *, max_lists=6, max_length=12, max_label=4, ties=True):
    """Scores, labels and offsets of a few lists; scores tie often when `ties`."""
    lengths = draw(st.lists(st.integers(1, max_length), min_size=1, max_size=max_lists))
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    n = int(offsets[-1])
    if ties:
        one = st.integers(-3, 3).map(float)
    else:
        one = st.floats(-10, 10, allow_nan=False, width=32)
    scores = np.array(draw(st.lists(one, min_size=n, max_size=n, unique=not ties)), np.float64)
    labels = np.array(draw(st.lists(st.integers(0, max_label), min_size=n, max_size=n)), np.float32)
    return scores, labels, offsets
