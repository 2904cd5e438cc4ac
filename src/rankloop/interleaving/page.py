"""A page made of several rankings, with what is needed to credit its clicks later."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Page", "Ranking"]

Ranking = Sequence[Hashable] | Mapping[Any, float]
"""Documents in order, or documents with their scores (ties are then broken at random)."""


@dataclass(frozen=True, slots=True)
class Page:
    """What was shown, by which method, with its notes; plain JSON.

    The clicks may be credited hours later on another machine:

    >>> from rankloop.interleaving import TeamDraft
    >>> duel = TeamDraft(seed=1)
    >>> page = duel.combine([["a", "b", "c"], ["b", "c", "d"]], k=3)
    >>> Page.from_dict(page.to_dict()) == page
    True
    """

    method: str
    documents: tuple[Any, ...]
    rankers: int
    notes: dict[str, Any]

    def __len__(self) -> int:
        return len(self.documents)

    def clicked(self, clicks: Iterable[Any]) -> list[int]:
        """The indices on this page of the clicked documents, from the top, each once.

        Clicks are documents; one that was not shown is an error, since it belongs to another page.
        """
        place = {document: index for index, document in enumerate(self.documents)}
        seen = set()
        for document in clicks:
            if document not in place:
                raise ValueError(
                    f"clicked document {document!r} is not on this page of {len(self)} documents"
                )
            seen.add(place[document])
        return sorted(seen)

    def to_dict(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "documents": list(self.documents),
            "rankers": self.rankers,
            "notes": self.notes,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Page":
        missing = {"method", "documents", "rankers", "notes"} - set(data)
        if missing:
            raise ValueError(f"this is not an interleaved page: {', '.join(sorted(missing))} missing")
        return cls(data["method"], tuple(data["documents"]), int(data["rankers"]), dict(data["notes"]))
