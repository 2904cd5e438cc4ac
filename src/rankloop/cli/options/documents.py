"""Documents on their way into an index: their fields before, and what was seen of them after."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankloop.search import Field
    from rankloop.search.index.index import Document
    from rankloop.search.read_documents import Unreadable

__all__ = ["Seen", "inferred"]

FIRST = 1000  # documents that fields are inferred from
MOST_NAMES = 10_000  # that are remembered of all documents


def inferred(
    source: str, first: "Iterable[Mapping[str, Any] | Unreadable]", id: str, *, table: bool
) -> dict[str, str]:
    """The fields of a source by its first documents; an error where nothing can be searched by.

    The numbers of a `table` are texts.
    """
    from rankloop.search import infer_fields
    from rankloop.search.read_documents import Unreadable

    first = list(islice(first, FIRST))
    known = [one for one in first if isinstance(one, Mapping)]
    if known and all(one.get(id) is None for one in known):
        raise ValueError(
            f"no document has the field {id!r}; name the field that identifies a document, as in "
            f"--id {_unique(known) or 'sku'}"
        )
    fields = infer_fields(known, id=id, numbers_as_text=table)
    if fields:
        return fields
    unread = next((one.reason for one in first if isinstance(one, Unreadable)), None)
    if unread is not None:
        raise ValueError(unread)
    what = f"{source} has no documents" if not first else f"no field can be inferred from {source}"
    raise ValueError(f"{what}; a new index needs --fields, as in --fields title:text,price:number")


def _unique(documents: "Sequence[Mapping[str, Any]]") -> str | None:
    """The first field with a word or a whole number of its own in every document."""
    for name in documents[0]:
        values = [one.get(name) for one in documents]
        words = all(isinstance(one, int | str) and str(one).split() == [str(one)] for one in values)
        if words and len(set(values)) == len(values):
            return str(name)
    return None


class Seen:
    """The names of the fields that documents have."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.names: set[str] = set()

    def among(self, documents: "Iterable[Document]") -> "Iterator[Document]":
        """The documents, one after the other."""
        for document in documents:
            if isinstance(document, Mapping) and len(self.names) < MOST_NAMES:
                self.names |= {name for name in document.keys() - self.names if document[name] is not None}
            yield document

    def unused(self, fields: "Mapping[str, Field]") -> list[str]:
        """The names that are no field: stored with the documents, and not searched by."""
        return sorted(self.names - {self.id, *fields})

    def nowhere(self, fields: "Mapping[str, Field]") -> list[str]:
        """The declared fields that no document has; copies and vectors that are computed do not count."""
        return [
            name
            for name, field in fields.items()
            if name not in self.names and field.source is None and field.kind != "vector"
        ]

    def warning(self, name: str) -> str:
        """A sentence about such a field, with the name that may be meant."""
        others = get_close_matches(name, sorted(self.names - {self.id}), 1)
        hint = f"; is it {others[0]!r}?" if others else ""
        return f"warning: no document has the field {name!r}{hint}"
