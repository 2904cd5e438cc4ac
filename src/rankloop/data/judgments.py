"""Judgments with their raters, reasons and texts, in the formats of the tools people judge with."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isnan, nan
from pathlib import Path
from statistics import mean, median
from typing import Any

from rankloop._atomic import replacing
from rankloop._names import one_of
from rankloop.data.files.records import Faults
from rankloop.data.files.whole import as_text, pack, read_whole
from rankloop.data.judging.forms import READERS, WRITERS, form_of
from rankloop.data.judgment import Judgment
from rankloop.data.qrels import Qrels

__all__ = ["Judgments", "read_judgments", "write_judgments"]

_COMBINE: dict[str, Callable[[list[float]], float]] = {"max": max, "mean": mean, "median": median, "min": min}


@dataclass(frozen=True, eq=False, repr=False)
class Judgments:
    """Judgments in the order of their file, and what the file says of all of them (`name`, `details`).

    >>> both = Judgments([Judgment("tv", "a", 3, rater="ann"), Judgment("tv", "a", 2, rater="bob")])
    >>> both
    Judgments(2 ratings of 1 documents for 1 queries, 2 raters)
    >>> both.to_qrels().to_dict()
    {'tv': {'a': 2.5}}
    """

    rows: tuple[Judgment, ...]
    name: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Judgment]:
        return iter(self.rows)

    def __repr__(self) -> str:
        rated = [row for row in self.rows if row.rated]
        documents = len({(row.query, row.qid, row.docid) for row in rated})
        raters = f", {len(self.raters):,} raters" if self.raters else ""
        return (
            f"Judgments({len(rated):,} ratings of {documents:,} documents for {len(self.queries):,} "
            f"queries{raters})"
        )

    @property
    def raters(self) -> list[str]:
        """The names of the raters, in the order of their first rating."""
        return list(dict.fromkeys(row.rater for row in self.rows if row.rater))

    @property
    def queries(self) -> dict[str, str]:
        """The text of each query by its id; a query without id is its own id."""
        found: dict[str, str] = {}
        for row in self.rows:
            found.setdefault(row.qid or row.query, row.query)
        return found

    def single(self, combine: str = "mean") -> "Judgments":
        """One judgment per query and document: the `combine` ("mean", "median", "max", "min") of its ratings.

        A document that nobody rated stays without a rating.
        """
        one_of("combine", combine, _COMBINE)
        groups: dict[tuple[str, str, str], list[Judgment]] = {}
        for row in self.rows:
            groups.setdefault((row.qid, row.query, row.docid), []).append(row)
        rows = []
        for group in groups.values():
            rated = [row for row in group if row.rated]
            first = (rated or group)[0]
            if len(group) == 1:
                rows.append(first)
                continue
            rating = float(_COMBINE[combine]([row.rating for row in rated])) if rated else nan
            raters = dict.fromkeys(row.rater for row in rated if row.rater)
            reasons = "; ".join(dict.fromkeys(row.reason for row in rated if row.reason))
            rows.append(first._replace(rating=rating, rater=", ".join(raters), reason=reasons))
        return replace(self, rows=tuple(rows))

    def graded(self, highest: int) -> "Judgments":
        """Ratings from 0 to 1 as whole grades from 0 to `highest`, for tools that take only those.

        >>> Judgments([Judgment("tv", "a", 0.7)]).graded(3).rows[0].rating
        2.0
        """
        rows = []
        for row in self.rows:
            if row.rated and not 0 <= row.rating <= 1:
                raise ValueError(
                    f"graded() takes ratings from 0 to 1, got {row.rating:g} for {row.docid!r}, query "
                    f"{row.query!r}"
                )
            parts = {name: getattr(row, name) * highest for name in ("rating", "low", "high")}
            whole = round(parts["rating"]) if row.rated else nan
            rows.append(row._replace(**{**parts, "rating": float(whole)}))
        return replace(self, rows=tuple(rows))

    def to_qrels(self, *, combine: str = "mean") -> Qrels:
        """One label per document: several ratings become their `combine`; what is not rated is left out.

        Queries go by their ids, or by their texts where the tool has none.
        """
        rated = [row for row in self.single(combine) if row.rated]
        if not rated:
            raise ValueError("no document has a rating, so there are no labels; rate some documents first")
        return Qrels(
            [row.qid or row.query for row in rated],
            [row.docid for row in rated],
            [row.rating for row in rated],
        )


def read_judgments(
    path: str | Path,
    *,
    format: str | None = None,
    on_error: str = "raise",
    skipped: "Counter[str] | None" = None,
) -> Judgments:
    """Judgments as the tools keep them; the content tells which tool, unless `format` says so.

    "trec" (qrels), "beir" (a table of ids), "quepid" and "quepid-detailed" (CSV), "quepid-json" (ratings),
    "quepid-book" (several raters with their reasons), "workbench" (OpenSearch's Search Relevance Workbench),
    "rre" (Rated Ranking Evaluator) and "o19s" (grade, keywords, docId). A record that is wrong is an error
    that names it, or with `on_error="skip"` is counted.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "case.csv"
    >>> _ = path.write_text("query,doc_id,rating\\nred shoes,17,3\\n")
    >>> read_judgments(path).to_qrels().to_dict()
    {'red shoes': {'17': 3.0}}
    """
    text = as_text(read_whole(path), path)
    form = form_of(text) if format is None else one_of("format", format, READERS)
    if form is None:
        raise ValueError(
            f"cannot tell which judgments {path} holds: it begins {text.lstrip()[:60]!r}; pass format=, one "
            f"of {', '.join(READERS)}"
        )
    with Faults(path, on_error, skipped).summed_up() as faults:
        rows, name, details = READERS[form](text, faults)
    return Judgments(tuple(rows), name, details)


def write_judgments(judgments: Judgments, path: str | Path, *, format: str, combine: str = "mean") -> None:
    """Write judgments in one of the formats of `read_judgments`; `.gz` and `.zst` are compressed.

    Only "quepid-book" keeps several raters: elsewhere a document's ratings become their `combine`. Formats of
    ids ("trec", "beir") number queries that have no id, from 1, in their order. Intervals are written to
    "quepid-detailed", in columns of their own.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "judgments.csv"
    >>> write_judgments(Judgments([Judgment("red shoes", "17", 3)]), path, format="o19s")
    >>> path.read_text()
    'grade,keywords,docId\\n3,red shoes,17\\n'
    """
    one_of("format", format, WRITERS)
    for row in judgments:
        if row.docid and not isnan(row.rating) and abs(row.rating) == float("inf"):
            raise ValueError(f"the rating of {row.docid!r} for query {row.query!r} is infinite; correct it")
    kept = judgments if format == "quepid-book" else judgments.single(combine)
    text = WRITERS[format](kept.rows, judgments.name, judgments.details)
    with replacing(path) as beside:
        beside.write_bytes(pack(text.encode(), path))
