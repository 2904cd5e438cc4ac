"""What people clicked for a query, added to the scores of a ranker."""

import json
from collections.abc import Mapping

import numpy as np

from rankloop._arrays import Floats
from rankloop.search.candidates import Candidates
from rankloop.search.stage import Stage

__all__ = ["Remembered"]


class Remembered(Stage):
    """Adds what clicks say about documents for this very query, which `unbiased.remember` learns.

    `shifts` is query -> document id -> what is added to the score. Case and blanks of a query do not count.
    A stage behind the ranker; queries that are not remembered pass as they are.

    >>> Remembered({"Red  shoes": {"7": 0.5}}).shift("red shoes", ["7", "8"])
    array([0.5, 0. ])
    """

    def __init__(self, shifts: Mapping[str, Mapping[str, float]]) -> None:
        self.shifts = {
            _key(query): {str(id): float(shift) for id, shift in found.items()}
            for query, found in shifts.items()
        }

    def __call__(self, given: Candidates) -> Candidates:
        if _key(given.query.text) not in self.shifts:
            return given
        return given.scored(given.scores + self.shift(given.query.text, given.ids.tolist()))

    def __repr__(self) -> str:
        return f"Remembered({len(self.shifts):,} {'query' if len(self.shifts) == 1 else 'queries'})"

    def shift(self, query: str, ids: "list[str]") -> Floats:
        """What is added to the score of each document."""
        found = self.shifts.get(_key(query), {})
        return np.array([found.get(str(id), 0.0) for id in ids], np.float64)

    def to_bytes(self) -> bytes:
        return json.dumps(self.shifts, sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, stored: bytes) -> "Remembered":
        return cls(json.loads(stored))


def _key(query: str) -> str:
    return " ".join(query.casefold().split())
