"""A score, taken apart."""

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["ScorePart"]


class ScorePart(NamedTuple):
    """A number, what it is, and the parts it is made of."""

    score: float
    meaning: str
    parts: tuple["ScorePart", ...] = ()

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "ScorePart":
        """From the explanation of a Lucene score, as OpenSearch and Solr write it."""
        parts = tuple(cls.from_dict(one) for one in given.get("details", ()))
        return cls(float(given["value"]), str(given["description"]), parts)

    def __str__(self) -> str:
        return "\n".join(self._lines(""))

    def _lines(self, indent: str) -> list[str]:
        inner = [line for part in self.parts for line in part._lines(indent + "  ")]
        return [f"{indent}{self.score:.4f}  {self.meaning}", *inner]
