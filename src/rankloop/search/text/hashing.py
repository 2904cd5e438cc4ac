"""Words and letter trigrams of texts, hashed into buckets."""

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Ints
from rankloop.search.text.analyser import Analyser

__all__ = ["Bags", "hashed"]

_PLAIN = Analyser(None, stop_words=False)


def hashed(text: str, buckets: int) -> Ints:
    """The buckets of the words of a text and of the trigrams of each, bounds included.

    >>> len(hashed("Big Fish", 1000))
    9
    """
    pieces = []
    for word in _PLAIN.terms(text):
        framed = f"<{word}>"
        pieces += [word, *(framed[i : i + 3] for i in range(len(framed) - 2))]
    return np.array([zlib.crc32(piece.encode()) % buckets for piece in pieces], np.int64)


class Bags:
    """Many texts: their buckets end to end. An empty text is one bucket, 0."""

    def __init__(self, texts: Sequence[str], buckets: int) -> None:
        known: dict[str, Ints] = {}
        for text in texts:
            if text not in known:
                found = hashed(text, buckets)
                known[text] = found if len(found) else np.zeros(1, np.int64)
        self._bags = [known[text] for text in texts]

    def select(self, which: ArrayLike) -> tuple[Ints, Ints]:
        """The buckets of some texts end to end, and the start of each text."""
        bags = [self._bags[i] for i in np.asarray(which, np.int64).tolist()]
        starts = np.cumsum([0, *(len(bag) for bag in bags[:-1])])
        return np.concatenate(bags), starts.astype(np.int64)
