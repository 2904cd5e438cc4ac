"""The stage that reads the first results again, with a slower and better eye."""

from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.rankers.text.documents import own_fields, text_of
from rankloop.search.candidates import Candidates
from rankloop.search.ranked import Ranked

__all__ = ["rerank"]


class rerank(Ranked):  # noqa: N801 - a verb in a pipeline: >> rerank(ranker, k=50)
    """Orders the first `k` candidates by a ranker that reads texts; the rest stay below, in their order.

    `ranker` is a `TextRanker`, or anything with `scores(query, texts)` and `fields`. The scores of the rest
    are moved below those of the first.

    >>> from rankloop.rankers import TextRanker
    >>> rerank(TextRanker("minilm"), k=50)
    rerank(TextRanker, k=50)
    """

    def __init__(self, ranker: Any, *, k: int = 100) -> None:
        if k < 1:
            raise ValueError(f"rerank orders at least k=1 documents, got {k}")
        super().__init__(ranker)
        self.k = k

    def __call__(self, given: Candidates) -> Candidates:
        return given.rescored(self.k, self.scores)

    def scores(self, found: Candidates) -> Floats:
        """The ranker's score of each candidate."""
        return np.asarray(self.ranker.scores(found.query.plain, self.texts(found)))

    def texts(self, found: Candidates) -> list[str]:
        """The text of each candidate, as the ranker reads it."""
        fields = self.ranker.fields if self.ranker.fields is not None else own_fields(found.snapshot)
        return [text_of(found.snapshot.document(row), fields) for row in found.rows.tolist()]

    def __repr__(self) -> str:
        return f"rerank({type(self.ranker).__name__}, k={self.k})"
