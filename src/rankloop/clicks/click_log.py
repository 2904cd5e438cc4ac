"""The click log: which documents were shown at which positions, and which were clicked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._arrays import Array, Floats, Ints, Ints32
from rankloop.clicks.columns import columns as checked
from rankloop.clicks.columns.by_position import by_position
from rankloop.clicks.columns.columns import Coded
from rankloop.clicks.columns.grouping import Pairs, grouped, no_rank_twice, pairs_of, selected
from rankloop.clicks.columns.rows import dataset_rows
from rankloop.data import RankingDataset

if TYPE_CHECKING:
    import polars

__all__ = ["ClickLog"]

PAGE_COLUMNS = ("ranker", "layout", "user", "intervention")
PLACES = ("row", "column")  # of a grid or of carousels
ROW_COLUMNS = ("timestamp", "score", "propensity", "dwell", "conversion", "original_position", *PLACES)
REQUIRED = ("session", "query", "document", "position", "click")
KNOWN = (*REQUIRED, *PAGE_COLUMNS, *ROW_COLUMNS)


class PageStore(Protocol):
    """An event store, which gives the pages and clicks of a window as a frame of text ids and numbers."""

    @property
    def click_frame(self) -> "Callable[..., polars.DataFrame]": ...


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ClickLog:
    """Impressions grouped by page; rows may come in any order, non-clicks are kept.

    A page is one (session, query): give every page its own session id where people repeat a query. Pages
    keep the order of their first row, documents are ordered by position. Ids are stored as 4-byte codes;
    `session`, `query` and `document` are expanded on access. `ranker`, `layout`, `user` and `intervention`
    belong to a page; `timestamp`, `score`, `propensity` (of being shown there), `dwell`, `conversion`,
    `original_position` (before an intervention moved it), `row` and `column` (of a grid) to an impression.

    >>> log = ClickLog(session=[7, 7, 8], query=["a", "a", "b"], document=[3, 1, 3],
    ...                position=[2, 1, 1], click=[0, 1, 0])
    >>> log
    ClickLog(2 pages, 3 impressions, 1 clicks, 2 queries)
    >>> log.document, log.click, log.offsets
    (array([1, 3, 3]), array([1, 0, 0], dtype=int8), array([0, 2, 3]))
    """

    offsets: Ints
    sessions: Array  # one id per page
    page_query: Coded
    row_document: Coded
    position: Ints32
    click: NDArray[np.int8]
    page_ranker: Coded | None
    page_layout: Coded | None
    page_user: Coded | None
    page_intervention: Coded | None
    timestamp: Floats | None
    score: Floats | None
    propensity: Floats | None
    dwell: Floats | None
    conversion: Floats | None
    original_position: Ints32 | None
    row: Ints32 | None
    column: Ints32 | None

    def __init__(
        self,
        session: ArrayLike | Coded,
        query: ArrayLike | Coded,
        document: ArrayLike | Coded,
        position: ArrayLike,
        click: ArrayLike,
        **columns: ArrayLike | Coded | None,
    ) -> None:
        rows = len(session) if isinstance(session, Coded) else len(np.asarray(session))
        given: dict[str, Any] = {k: v for k, v in columns.items() if v is not None}
        for name in given:
            if name not in (*PAGE_COLUMNS, *ROW_COLUMNS):
                raise ValueError(f"a click log has no column {name!r}; its columns are {', '.join(KNOWN)}")
        sessions = checked.coded_ids(session, rows, "session")
        queries = checked.coded_ids(query, rows, "query")
        ranks = checked.whole(position, rows, "position")
        order, offsets = grouped(sessions.code, queries.code, ranks)
        first = offsets[:-1] if isinstance(order, slice) else order[offsets[:-1]]
        page_session = sessions.table[sessions.code[first]]
        made: dict[str, Any] = {
            "offsets": offsets,
            "sessions": page_session,
            "page_query": queries.take(first),
            "row_document": checked.coded_ids(document, rows, "document").take(order),
            "position": ranks[order],
            "click": checked.clicks(click, rows)[order],
            **{f"page_{name}": None for name in PAGE_COLUMNS},
            **dict.fromkeys(ROW_COLUMNS),
        }
        for name in ROW_COLUMNS:
            if name in given:
                made[name] = checked.row_column(given[name], rows, name)[order]
        no_rank_twice(made["position"], offsets, page_session)
        checked.probabilities(made["propensity"])
        for name in PAGE_COLUMNS:
            if name in given:
                coded = checked.coded_ids(given[name], rows, name).take(order)
                made[f"page_{name}"] = checked.one_per_page(coded, offsets, page_session, name)
        self._fill(made)

    def _fill(self, columns: dict[str, Any]) -> None:
        for name, value in columns.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _trusted(cls, **columns: Any) -> "ClickLog":
        """Without checks, from columns that are known to be right: of a simulation or of another log."""
        made = object.__new__(cls)
        made._fill({**dict.fromkeys(field.name for field in fields(cls)), **columns})
        return made

    def __len__(self) -> int:
        return len(self.position)

    def __repr__(self) -> str:
        counts = f"{self.n_pages:,} pages, {len(self):,} impressions, {int(self.click.sum(dtype=np.int64)):,}"
        return f"ClickLog({counts} clicks, {self.n_queries:,} queries)"

    def _repr_html_(self) -> str:
        return by_position(repr(self), self.position, self.click).html()

    @property
    def n_pages(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def n_queries(self) -> int:
        return int(np.count_nonzero(np.bincount(self.page_query.code, minlength=1)))

    @cached_property
    def n_positions(self) -> int:
        """The largest position of the log."""
        return int(self.position.max()) if len(self) else 0

    @property
    def lengths(self) -> Ints:
        """The number of documents of each page."""
        return np.diff(self.offsets)

    @property
    def row_page(self) -> Ints:
        """For each impression the index of its page."""
        return np.repeat(np.arange(self.n_pages), self.lengths)

    @property
    def session(self) -> Array:
        return np.repeat(self.sessions, self.lengths)

    @property
    def query(self) -> Array:
        return self.queries[np.repeat(self.page_query.code, self.lengths)]

    @property
    def queries(self) -> Array:
        """The table of query ids; `page_query.code` points into it."""
        return self.page_query.table

    @property
    def document(self) -> Array:
        return self.row_document.values

    @property
    def documents(self) -> Array:
        """The table of document ids; `row_document.code` points into it."""
        return self.row_document.table

    @property
    def ranker(self) -> Array | None:
        return self._expanded(self.page_ranker)

    @property
    def layout(self) -> Array | None:
        return self._expanded(self.page_layout)

    @property
    def user(self) -> Array | None:
        return self._expanded(self.page_user)

    @property
    def intervention(self) -> Array | None:
        """The experiment of each page, such as "swap 1-4", "shuffle 10" or "none" (`clicks.intervention`)."""
        return self._expanded(self.page_intervention)

    def _expanded(self, column: Coded | None) -> Array | None:
        return None if column is None else column.table[np.repeat(column.code, self.lengths)]

    @cached_property
    def pairs(self) -> Pairs:
        """The distinct (query, document) pairs, ordered by query, then by document."""
        query = Coded(self.queries, np.repeat(self.page_query.code, self.lengths))
        return pairs_of(query, self.row_document)

    def rows(self, data: RankingDataset, *, missing: str = "raise") -> Ints:
        """For each impression the row of the data set it shows; -1 for unknown ones if `missing="mark"`.

        >>> data = RankingDataset([[0.0], [1.0]], [0, 1], ["q", "q"], docid=["x", "y"])
        >>> ClickLog([1, 1], ["q", "q"], ["y", "x"], [1, 2], [1, 0]).rows(data)
        array([1, 0])
        """
        return self.pair_rows(data, missing=missing)[self.pairs.code]

    def pair_rows(self, data: RankingDataset, *, missing: str = "raise") -> Ints:
        """The same for each of `pairs`."""
        return dataset_rows(data, self.pairs, missing)

    def select(self, pages: ArrayLike) -> "ClickLog":
        """The log of these pages, by index (repeats allowed: a bootstrap sample) or by mask."""
        index = np.asarray(pages)
        chosen = np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64)
        offsets, rows = selected(self.offsets, chosen)
        columns: dict[str, Any] = {"offsets": offsets, "sessions": self.sessions[chosen]}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in columns or value is None:
                continue
            index = chosen if field.name.startswith("page_") else rows
            columns[field.name] = value.take(index) if isinstance(value, Coded) else value[index]
        return ClickLog._trusted(**columns)

    def split(self, *fractions: float, seed: int = 0) -> tuple["ClickLog", ...]:
        """Random parts of whole pages; where the fractions sum to less than 1, the rest is a last part."""
        if not fractions or min(fractions) <= 0 or sum(fractions) > 1 + 1e-9:
            raise ValueError(f"split takes fractions above 0 that sum to at most 1, got {fractions}")
        shares = [*fractions, 1 - sum(fractions)] if sum(fractions) < 1 - 1e-9 else list(fractions)
        cuts = np.round(np.cumsum(shares) * self.n_pages).astype(int)[:-1]
        order = np.random.default_rng(seed).permutation(self.n_pages)
        return tuple(self.select(np.sort(part)) for part in np.split(order, cuts))

    @staticmethod
    def concat(logs: "Sequence[ClickLog]") -> "ClickLog":
        """One log after another; optional columns are kept if every log has them.

        >>> one = ClickLog([1], ["q"], ["d"], [1], [0])
        >>> ClickLog.concat([one, one])
        ClickLog(2 pages, 2 impressions, 0 clicks, 1 queries)
        """
        if not logs:
            raise ValueError("concat needs at least one log")
        ends = np.cumsum([0, *(len(log) for log in logs)])
        columns: dict[str, Any] = {
            "offsets": np.concatenate(
                [[0], *(log.offsets[1:] + at for log, at in zip(logs, ends, strict=False))]
            )
        }
        for field in fields(ClickLog):
            parts = [getattr(log, field.name) for log in logs]
            if field.name in columns or any(part is None for part in parts):
                continue
            joined = Coded.joined(parts) if isinstance(parts[0], Coded) else np.concatenate(parts)
            columns[field.name] = joined
        return ClickLog._trusted(**columns)

    def columns(self) -> Iterator[tuple[str, Array]]:
        """The columns the log has, one entry per impression."""
        for name in KNOWN:
            if (values := getattr(self, name)) is not None:
                yield name, values

    def to_frame(self) -> "polars.DataFrame":
        """One impression per row."""
        import polars

        return polars.DataFrame(dict(self.columns()))

    @classmethod
    def from_frame(cls, frame: Any) -> "ClickLog":
        """From polars, pandas or Arrow: one impression per row, or one page per row with lists.

        >>> import polars
        >>> page = {"session": 1, "query": "q", "document": ["a", "b"], "click": [0, 1]}
        >>> ClickLog.from_frame(polars.DataFrame([page])).position
        array([1, 2], dtype=int32)
        """
        from rankloop.clicks.columns.coded_frame import log_of_frame

        return log_of_frame(frame)

    @classmethod
    def from_store(cls, store: PageStore, **window: Any) -> "ClickLog":
        """The pages of an event store (`rankloop.serve.Store`) with their clicks.

        `window` goes to `store.click_frame`: `since` and `until` in UTC seconds, `layout`, `depth`,
        `include_bots`.
        """
        return cls.from_frame(store.click_frame(**window))
