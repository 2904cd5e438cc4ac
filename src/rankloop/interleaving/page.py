"""A page made of several rankings, with what is needed to credit its clicks later."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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

        Clicks are documents, or one True or False for each result. A document that was not shown is an error,
        since it belongs to another page.
        """
        given = list(clicks)
        if given and all(isinstance(one, bool | np.bool_) for one in given):
            if len(given) != len(self):
                raise ValueError(
                    f"clicks are one True or False for each of the {len(self)} results of the page, "
                    f"got {len(given)}"
                )
            return [index for index, clicked in enumerate(given) if clicked]
        place = {document: index for index, document in enumerate(self.documents)}
        seen = set()
        for document in given:
            if document not in place:
                raise ValueError(
                    f"clicked document {document!r} is not on this page of {len(self)} results; give the "
                    "documents that were clicked, or one True or False for each result"
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
