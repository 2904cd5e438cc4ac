"""A score, taken apart."""

from typing import NamedTuple

__all__ = ["ScorePart"]


class ScorePart(NamedTuple):
    """A number, what it is, and the parts it is made of."""

    score: float
    meaning: str
    parts: tuple["ScorePart", ...] = ()

    def __str__(self) -> str:
        return "\n".join(self._lines(""))

    def _lines(self, indent: str) -> list[str]:
        inner = [line for part in self.parts for line in part._lines(indent + "  ")]
        return [f"{indent}{self.score:.4f}  {self.meaning}", *inner]
