"""BM25 over fields: the sum of the weighted scores of each."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankloop._arrays import Bytes, Floats, Ints, Ints32
from rankloop._names import one_of
from rankloop.search.index.best import best_first
from rankloop.search.index.segment import Segment
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.index.top import Postings, top_sum

__all__ = [
    "BM25",
    "Best",
    "CheckTime",
    "Contribution",
    "Found",
    "Leaf",
    "SegmentQuery",
    "TermModel",
    "Top",
    "frequencies",
    "idf",
]

CheckTime = Callable[[], None]
AT_ONCE = 1 << 21  # postings that are scored between two looks at the clock: some milliseconds


class Leaf(NamedTuple):
    """A term wanted in a text field (by number); `df` is given where several terms share one."""

    field: int
    term: str
    weight: float = 1.0
    df: int | None = None


class Found(NamedTuple):
    """The best rows and their scores, and how many documents matched."""

    rows: Ints
    scores: Floats
    matches: int


class Contribution(NamedTuple):
    """What one term in one field adds to a score, with the numbers behind it."""

    term: str
    field: str
    tf: int
    df: int
    length: int
    average_length: float
    idf: float
    weight: float
    score: float


def idf(documents: int, df: int) -> float:
    """Lucene's inverse document frequency: log(1 + (N - df + 0.5) / (df + 0.5)), never negative.

    >>> round(idf(10, 2), 4)
    1.4816
    """
    return math.log(1 + (documents - df + 0.5) / (df + 0.5))


Top = tuple[Floats, Ints, int]


class SegmentQuery(NamedTuple):
    """A query in one segment: `which` leaves it has, their postings, and the k-th best score so far."""

    segment: Segment
    which: Ints
    postings: Postings
    allowed: Bytes
    floor: float

    @property
    def every(self) -> bool:
        """Whether every document of the segment is allowed."""
        return self.allowed is self.segment.live and not len(self.segment.deleted)


Best = Callable[[SegmentQuery], Top]


@dataclass(frozen=True)
class TermModel(ABC):
    """Parameters that BM25 and BM25F share, and the search for the best documents."""

    k1: float = 1.2
    b: float = 0.75
    fields: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if not (self.k1 > 0 and 0 <= self.b <= 1):
            raise ValueError(f"BM25 needs k1 > 0 and 0 <= b <= 1, got k1={self.k1}, b={self.b}")
        given = self.fields
        if given is not None and not (given and all(weight > 0 for weight in given.values())):
            raise ValueError(f"field weights are above 0 (leave a field out to ignore it), got {dict(given)}")

    def weights(self, snapshot: Snapshot) -> dict[int, float]:
        """The searched fields by number, with their weights."""
        names = snapshot.text_fields
        if self.fields is None:
            return {i: 1.0 for i, name in enumerate(names) if snapshot.fields[name].source is None}
        return {
            names.index(one_of("text field", name, names)): float(weight)
            for name, weight in self.fields.items()
        }

    def top(
        self,
        snapshot: Snapshot,
        leaves: Sequence[Leaf],
        allowed: list[Bytes],
        k: int,
        check_time: CheckTime | None = None,
    ) -> Found:
        """The k best documents among those allowed."""
        leaves, best = self._best(snapshot, leaves, k)
        return best_of_segments(snapshot, leaves, allowed, k, best, check_time)

    @abstractmethod
    def _best(self, snapshot: Snapshot, leaves: Sequence[Leaf], k: int) -> tuple[Sequence[Leaf], Best]:
        """The leaves in the order of their coefficients, and what finds the k best of a segment."""


class BM25(TermModel):
    r"""BM25 of each field with exact lengths, times the field's weight, summed.

    .. math:: \sum_{f, t} w_f \, \mathrm{idf}_f(t) \,
        \frac{tf}{tf + k_1 (1 - b + b \, |d_f| / \overline{|d_f|})}

    Robertson & Zaragoza (2009), as Lucene has it. `fields` names the text fields and their weights;
    by default every text field that is not a copy of another (`source`) has weight 1.
    """

    def _best(self, snapshot: Snapshot, leaves: Sequence[Leaf], k: int) -> tuple[Sequence[Leaf], Best]:
        weight, flat, slope = self._coefficients(snapshot, leaves)

        def best(part: SegmentQuery) -> Top:
            which, most = part.which, min(k, part.segment.documents)
            return top_sum(
                part.postings, weight[which], flat[which], slope[which], part.allowed, part.every, most,
                part.floor,
            )  # fmt: skip

        return leaves, best

    def score(self, snapshot: Snapshot, leaves: Sequence[Leaf], rows: Ints) -> Floats:
        """The scores of given documents."""
        weight, flat, slope = self._coefficients(snapshot, leaves)
        scores = np.zeros(len(rows))
        field = np.array([leaf.field for leaf in leaves], np.int64)
        for segment, inside in snapshot.by_segment(rows):
            documents = rows[inside] - segment.base
            tf = frequencies(segment, leaves, documents)
            length = segment.lengths[field[:, None], documents[None, :]].T
            scores[inside] = (weight * tf / (tf + flat + slope * length)).sum(1)
        return scores

    def explain(self, snapshot: Snapshot, leaves: Sequence[Leaf], row: int) -> list[Contribution]:
        """The contributions of each term in each field to a document's score."""
        weights, flat, slope = self._coefficients(snapshot, leaves)
        segment, document = snapshot.locate(row)
        tf = frequencies(segment, leaves, np.array([document]))[0]
        parts = []
        for i, leaf in enumerate(leaves):
            if not tf[i]:
                continue
            df = snapshot.df(leaf.field, leaf.term) if leaf.df is None else leaf.df
            length = int(segment.lengths[leaf.field, document])
            rarity = idf(snapshot.n_documents, df)
            parts.append(
                Contribution(
                    term=leaf.term,
                    field=snapshot.text_fields[leaf.field],
                    tf=int(tf[i]),
                    df=df,
                    length=length,
                    average_length=float(snapshot.average_lengths[leaf.field]),
                    idf=rarity,
                    weight=float(weights[i] / rarity) if rarity else 0.0,
                    score=float(weights[i] * tf[i] / (tf[i] + flat[i] + slope[i] * length)),
                )
            )
        return parts

    def _coefficients(self, snapshot: Snapshot, leaves: Sequence[Leaf]) -> tuple[Floats, Floats, Floats]:
        of_field, documents = self.weights(snapshot), snapshot.n_documents
        slopes = [self.k1 * self.b / max(length, 1e-9) for length in snapshot.average_lengths.tolist()]
        weight = [
            of_field.get(leaf.field, 1.0)
            * leaf.weight
            * idf(documents, snapshot.df(leaf.field, leaf.term) if leaf.df is None else leaf.df)
            for leaf in leaves
        ]
        flat = np.full(len(leaves), self.k1 * (1 - self.b))
        return (
            np.array(weight, np.float64),
            flat,
            np.array([slopes[leaf.field] for leaf in leaves], np.float64),
        )


def frequencies(segment: Segment, leaves: Sequence[Leaf], documents: Ints) -> Ints32:
    """How often each leaf is in each document of a segment: documents x leaves."""
    return segment.frequencies(
        np.array([leaf.field for leaf in leaves], np.int64),
        np.array([segment.term(leaf.term) for leaf in leaves], np.int64),
        documents,
    )


def best_of_segments(
    snapshot: Snapshot,
    leaves: Sequence[Leaf],
    allowed: list[Bytes],
    k: int,
    best: Best,
    check_time: CheckTime | None = None,
) -> Found:
    """The k best of all segments, by score, then by row.

    `best` gives the best scores and documents of one segment, and its number of matches. Where there is
    much to score, it is called for one span of documents after the other, with `check_time` in between.
    """
    field = np.array([leaf.field for leaf in leaves], np.int64)
    parts: list[Found] = []
    for segment, may in zip(snapshot.segments, allowed, strict=True):
        term = np.array([segment.term(leaf.term) for leaf in leaves], np.int64)
        which = np.flatnonzero(term >= 0)
        if len(which):
            of_field = field[which]
            row = of_field * segment.terms + term[which]
            docs, tf, starts, ends = segment.postings_of(row)
            postings = Postings(docs, tf, segment.lengths, starts, ends, of_field)
            for span in _spans(postings, segment.documents):
                if check_time is not None:
                    check_time()
                scores, documents, matches = best(SegmentQuery(segment, which, span, may, _floor(parts, k)))
                parts.append(Found(documents + segment.base, scores, matches))
    if not parts:
        return Found(np.empty(0, np.int64), np.empty(0), 0)
    rows = parts[0].rows if len(parts) == 1 else np.concatenate([part.rows for part in parts])
    scores = parts[0].scores if len(parts) == 1 else np.concatenate([part.scores for part in parts])
    return Found(*best_first(rows, scores, k), sum(part.matches for part in parts))


def _spans(postings: Postings, documents: int) -> Iterator[Postings]:
    """The postings in spans of documents of which none takes long."""
    starts, spans = postings.starts, 1
    if len(starts) * documents > AT_ONCE:
        spans = int((postings.ends - starts).sum()) // AT_ONCE + 1
    if spans == 1:
        yield postings
        return
    for last in np.linspace(0, documents, spans + 1)[1:].astype(np.int64).tolist():
        ends = np.array(
            [
                a + np.searchsorted(postings.docs[a:b], last)
                for a, b in zip(starts.tolist(), postings.ends.tolist(), strict=True)
            ]
        )
        yield postings._replace(starts=starts, ends=ends)
        starts = ends


def _floor(parts: Sequence[Found], k: int) -> float:
    if not parts:
        return 0.0
    scores = np.concatenate([part.scores for part in parts])
    return float(np.partition(scores, -k)[-k]) if len(scores) >= k else 0.0
