"""Which documents were judged."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._arrays import Array, Floats, Ints, Singles

__all__ = ["Holes"]


class Holes(NamedTuple):
    """One mark per document: 1 (or True) judged, 0 (or False) pooled and not judged, -1 not in the pool.

    The pool is the set of documents from which those to be judged were drawn. No marks mean that every
    document is judged.

    >>> Holes.of([True, False], 2, "judged").filled(np.array([2, 2], np.float32))
    array([2., 0.], dtype=float32)
    """

    marks: NDArray[np.int8] | None

    @classmethod
    def of(cls, given: ArrayLike | None, documents: int, name: str) -> "Holes":
        if given is None:
            return cls(None)
        array = np.asarray(given)
        if array.shape != (documents,) and not array.size == documents == 0:
            raise ValueError(f"{name} needs one mark per document ({documents}), got shape {array.shape}")
        if array.size and not np.isin(array, (-1, 0, 1)).all():
            raise ValueError(
                f"{name} is True or False per document (or 1 judged, 0 not judged, -1 not in the pool), "
                f"got {array[~np.isin(array, (-1, 0, 1))][0]!r}"
            )
        marks = array.reshape(documents).astype(np.int8)
        return cls(None) if (marks == 1).all() else cls(marks)

    def filled(self, labels: Singles) -> Singles:
        """The labels, 0 where a document was not judged."""
        return labels if self.marks is None else np.where(self.marks == 1, labels, np.float32(0))

    def states(self, labels: Singles) -> Singles:
        """The labels of judged documents, -1 for pooled ones without judgment, -2 for those not pooled."""
        if self.marks is None:
            return labels
        return np.where(self.marks == 1, labels, self.marks - np.float32(1)).astype(np.float32)

    def take(self, rows: Ints) -> "Holes":
        return self if self.marks is None else Holes(self.marks[rows])

    def counts(self, offsets: Ints) -> tuple[Floats, Floats]:
        """Per list the number of judged documents, and of pooled ones."""
        if self.marks is None:
            lengths = np.diff(offsets).astype(np.float64)
            return lengths, lengths
        return _sums(self.marks == 1, offsets), _sums(self.marks >= 0, offsets)


def _sums(which: Array, offsets: Ints) -> Floats:
    total = np.concatenate(([0], np.cumsum(which)))
    return np.diff(total[offsets]).astype(np.float64)
