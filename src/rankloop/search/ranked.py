"""A ranker as a stage: it orders candidates by their features."""

from typing import Any

import numpy as np

from rankloop.search.candidates import Candidates
from rankloop.search.stage import Stage

__all__ = ["Ranked"]


class Ranked(Stage):
    """Orders candidates by the scores that a ranker gives to their column `features`."""

    def __init__(self, ranker: Any) -> None:
        self.ranker = ranker

    def __call__(self, given: Candidates) -> Candidates:
        if "features" not in given.columns:
            raise ValueError(
                "a ranker orders candidates by their features; join a feature set before it, as in "
                "retriever >> Features.standard(index) >> ranker"
            )
        if not len(given):
            return given
        return given.scored(self.ranker.predict(given.columns["features"], **self._lists(len(given))))

    def __repr__(self) -> str:
        return type(self.ranker).__name__

    def _lists(self, rows: int) -> dict[str, Any]:
        """All candidates are one list, for rankers that score a document in its list."""
        return {"qid": np.zeros(rows, np.int64)} if getattr(self.ranker, "needs_lists", False) else {}
