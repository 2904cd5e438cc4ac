"""BM25F: one saturation for a term over all fields."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats, Ints, Ints32
from rankloop._names import one_of
from rankloop.search.bm25 import Best, Contribution, Leaf, SegmentQuery, TermModel, Top, frequencies, idf
from rankloop.search.index.segment import Segment
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.index.top import top_combined

__all__ = ["BM25F"]


class _Groups(NamedTuple):
    """The leaves sorted by term, with the coefficients of each term and each leaf."""

    leaves: list[Leaf]
    group: Ints
    idf: Floats
    df: list[int]
    gain: Floats
    flat: Floats
    slope: Floats
    k1: float
    whole_slope: float


@dataclass(frozen=True)
class BM25F(TermModel):
    r"""BM25F (Robertson, Zaragoza & Taylor, 2004): weighted frequencies are added before they saturate.

    .. math:: \sum_t \mathrm{idf}(t) \frac{x_t}{x_t + k_1}, \quad
        x_t = \sum_f \frac{w_f \, tf_f}{1 - b + b \, |d_f| / \overline{|d_f|}}

    The document frequency counts documents that have the term in any of the fields. `length="whole"`
    normalises by the length of the whole document instead: with equal weights over all text fields that is
    BM25 of the fields merged into one.
    """

    length: str = "field"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("length", self.length, ("field", "whole"))

    def _best(self, snapshot: Snapshot, leaves: Sequence[Leaf], k: int) -> tuple[Sequence[Leaf], Best]:
        groups = self._groups(snapshot, leaves)

        def best(part: SegmentQuery) -> Top:
            which = part.which
            return top_combined(
                part.postings,
                self._whole(snapshot, part.segment),
                groups.gain[which],
                groups.flat[which],
                groups.slope[which],
                groups.group[which],
                groups.idf,
                groups.k1,
                groups.whole_slope,
                part.allowed,
                part.every,
                min(k, part.segment.documents),
                part.floor,
            )

        return groups.leaves, best

    def score(self, snapshot: Snapshot, leaves: Sequence[Leaf], rows: Ints) -> Floats:
        """The scores of given documents."""
        groups = self._groups(snapshot, leaves)
        scores = np.zeros(len(rows))
        for segment, inside in snapshot.by_segment(rows):
            documents = rows[inside] - segment.base
            x = self._saturating(groups, segment, documents)
            below = groups.k1 + groups.whole_slope * self._whole(snapshot, segment)[documents]
            for at, rarity in enumerate(groups.idf):
                one = x[:, groups.group == at].sum(1)
                scores[inside] += rarity * one / (one + below)
        return scores

    def explain(self, snapshot: Snapshot, leaves: Sequence[Leaf], row: int) -> list[Contribution]:
        """By term and field; a term's score is divided among its fields in proportion to their part of x."""
        groups = self._groups(snapshot, leaves)
        segment, document = snapshot.locate(row)
        x = self._saturating(groups, segment, np.array([document]))[0]
        tf = frequencies(segment, groups.leaves, np.array([document]))[0]
        below = groups.k1 + groups.whole_slope * self._whole(snapshot, segment)[document]
        parts = []
        for i, leaf in enumerate(groups.leaves):
            if tf[i]:
                at = int(groups.group[i])
                parts.append(
                    Contribution(
                        term=leaf.term,
                        field=snapshot.text_fields[leaf.field],
                        tf=int(tf[i]),
                        df=groups.df[at],
                        length=int(segment.lengths[leaf.field, document]),
                        average_length=float(snapshot.average_lengths[leaf.field]),
                        idf=float(groups.idf[at]),
                        weight=float(groups.gain[i]),
                        score=float(groups.idf[at] * x[i] / (x[groups.group == at].sum() + below)),
                    )
                )
        return parts

    def _saturating(self, groups: _Groups, segment: Segment, documents: Ints) -> Floats:
        field = np.array([leaf.field for leaf in groups.leaves], np.int64)
        length = segment.lengths[field[:, None], documents[None, :]].T
        tf = frequencies(segment, groups.leaves, documents)
        return np.asarray(groups.gain * tf / (groups.flat + groups.slope * length))

    def _groups(self, snapshot: Snapshot, leaves: Sequence[Leaf]) -> _Groups:
        of_field = self.weights(snapshot)
        ordered = sorted(leaves, key=lambda leaf: leaf.term)
        terms = sorted({leaf.term for leaf in leaves})
        number = {term: at for at, term in enumerate(terms)}
        df, times = [0] * len(terms), [0.0] * len(terms)
        for leaf in ordered:
            at = number[leaf.term]
            df[at] = df[at] or leaf.df or snapshot.any_df(tuple(of_field), leaf.term)
            times[at] = max(times[at], leaf.weight)
        average = snapshot.average_lengths
        inside = self.length == "field"
        n = len(ordered)
        whole = max(sum(average[field] for field in of_field), 1e-9)
        return _Groups(
            leaves=ordered,
            group=np.array([number[leaf.term] for leaf in ordered], np.int64),
            idf=np.array([t * idf(snapshot.n_documents, d) for t, d in zip(times, df, strict=True)]),
            df=df,
            gain=np.array([of_field.get(leaf.field, 1.0) for leaf in ordered]),
            flat=np.full(n, 1 - self.b) if inside else np.ones(n),
            slope=np.array([self.b / max(average[leaf.field], 1e-9) for leaf in ordered])
            if inside
            else np.zeros(n),
            k1=self.k1 if inside else self.k1 * (1 - self.b),
            whole_slope=0.0 if inside else self.k1 * self.b / whole,
        )

    def _whole(self, snapshot: Snapshot, segment: Segment) -> Ints32:
        """Per document the number of tokens in the searched fields."""
        fields = tuple(sorted(self.weights(snapshot)))
        key = ("whole", segment.name, fields)
        if key not in snapshot.cache:
            snapshot.cache[key] = segment.lengths[list(fields)].sum(0, dtype=np.int32)
        found: Ints32 = snapshot.cache[key]
        return found
