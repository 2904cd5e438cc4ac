"""The documents that a pipeline passes from stage to stage, best first."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Array, Floats, Ints, Ints32
from rankloop._names import one_of
from rankloop._table import Table
from rankloop.search.hit import Hit
from rankloop.search.index.segment import name_of_field
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.text.query import Query, as_query
from rankloop.search.text.snippet import Snippets

if TYPE_CHECKING:
    from rankloop.search.bm25 import Leaf

__all__ = ["Candidates"]

_SHOWN = 10  # results in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class Candidates:
    """The documents found for a query, best first.

    `rows` number documents in `snapshot` (one generation of the index), `scores` are their current
    scores. `sources` holds a score per source ("words", or a vector field), nan where it has none, and
    `ranks` the rank in its list, 0 where it did not list the document. `columns` holds what stages add, one
    row per document (a feature matrix, a group).
    """

    query: Query
    snapshot: Snapshot
    rows: Ints
    scores: Floats
    sources: Mapping[str, Floats] = field(default_factory=dict)
    ranks: Mapping[str, Ints32] = field(default_factory=dict)
    columns: Mapping[str, Array] = field(default_factory=dict)
    leaves: "tuple[Leaf, ...]" = ()
    matches: int = 0

    @classmethod
    def of(cls, query: str | Query, snapshot: Snapshot, ids: Iterable[Any]) -> "Candidates":
        """Given documents as candidates, unscored and in their order; unknown ids are left out."""
        found = snapshot.rows_of([str(id) for id in ids])
        rows = found[found >= 0]
        return cls(as_query(query, snapshot.fields), snapshot, rows, np.zeros(len(rows)))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Candidates({self.query.text!r}, {len(self):,} documents of {self.matches:,} that match)"

    def _repr_html_(self) -> str:
        """The first results, for notebooks."""
        shown = zip(self.ids[:_SHOWN].tolist(), self.scores[:_SHOWN].tolist(), strict=True)
        rows = [(str(rank), str(id), f"{score:.4f}") for rank, (id, score) in enumerate(shown, 1)]
        return Table(("rank", "document", "score"), rows, title=repr(self), left=2).html()

    def numbers(self, field: str) -> Floats:
        """The values of a number or date field (seconds since 1970); nan where a document has none."""
        known = [
            name for name, declared in self.snapshot.fields.items() if declared.kind in ("number", "date")
        ]
        name = name_of_field("number", one_of("number or date field", field, known))
        values = np.full(len(self), np.nan)
        for segment, inside in self.snapshot.by_segment(self.rows):
            values[inside] = segment.arrays[name][self.rows[inside] - segment.base]
        return values

    @cached_property
    def ids(self) -> Array:
        """The ids of the documents."""
        return self.snapshot.ids(self.rows)

    def take(self, which: ArrayLike) -> "Candidates":
        """Some of the documents, by index, in the order given."""
        return self._taken(np.asarray(which, np.int64), self.scores)

    def scored(self, scores: ArrayLike) -> "Candidates":
        """The same documents with other scores, best first; equal scores keep their order."""
        values = np.asarray(scores, np.float64)
        if values.shape != (len(self),):
            raise ValueError(f"scores need one value per candidate ({len(self)}), got shape {values.shape}")
        return self._taken(np.argsort(-values, kind="stable"), values)

    def rescored(self, k: int, by: "Callable[[Candidates], Floats]") -> "Candidates":
        """Other scores for the first k documents; the rest stay below them, in their order."""
        number = min(k, len(self))
        if not number:
            return self
        self.query.check_time()
        scores, rest = by(self.take(range(number))), self.scores[number:]
        below = scores.min() - 1 - (rest.max(initial=-np.inf) - rest)  # falling, as the rest was
        return self.scored(np.concatenate((scores, np.minimum.accumulate(below))))

    def with_column(self, name: str, values: Array) -> "Candidates":
        """The same documents with one more column."""
        if len(values) != len(self):
            raise ValueError(f"column {name!r} needs one row per candidate ({len(self)}), got {len(values)}")
        return replace(self, columns={**self.columns, name: values})

    def _taken(self, at: Ints, scores: Floats) -> "Candidates":
        """Documents by index, with scores that are given for all."""
        return Candidates(
            self.query,
            self.snapshot,
            self.rows[at],
            scores[at],
            {name: values[at] for name, values in self.sources.items()},
            {name: values[at] for name, values in self.ranks.items()},
            {name: values[at] for name, values in self.columns.items()},
            self.leaves,
            self.matches,
        )

    def __iter__(self) -> Iterator[Hit]:
        """The results with their documents and snippets, which takes longer than ranking them."""
        snippets = Snippets(self.snapshot, self.leaves, self.rows)
        for at, id in enumerate(self.ids.tolist()):
            row = int(self.rows[at])
            document = self.snapshot.document(row)
            yield Hit(id, at + 1, float(self.scores[at]), document, snippets.of(row, document))
