"""The score of a ranker that reads texts, as a feature."""

import hashlib
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.search.candidates import Candidates
from rankloop.search.rerank import rerank

__all__ = ["text_score"]


class text_score:  # noqa: N801 - called like a function of candidates
    """A column in `Features`: the score of a `TextRanker` for the first `k` candidates, nan for the rest.

    `Features([..., text_score(ranker)])`. `name` is the name of the feature. To train on it, take scores
    of a ranker that did not see the query, or the column will look better in training than in service.
    """

    def __init__(self, ranker: Any, *, name: str = "text_score", k: int = 100) -> None:
        self.__name__ = name
        self.ranker, self.k = ranker, k
        self._reading = rerank(ranker, k=k)

    def __call__(self, found: Candidates) -> Floats:
        made = np.full(len(found), np.nan)
        number = min(self.k, len(found))
        if number:
            texts = self._reading.texts(found.take(range(number)))
            made[:number] = self.ranker.scores(found.query.plain, texts)
        return made

    @property
    def version(self) -> int:
        """A number of the network's weights: other weights are another feature."""
        whole = hashlib.blake2b(digest_size=6)
        for name, value in sorted(self.ranker._state().items()):
            whole.update(name.encode())
            whole.update(value.encode() if isinstance(value, str) else np.ascontiguousarray(value).tobytes())
        return int.from_bytes(whole.digest(), "big")
