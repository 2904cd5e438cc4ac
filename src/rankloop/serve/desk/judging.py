"""A set of queries while it is judged: pools, progress, live scores, agreement, what to judge next."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankloop.metrics import Agreement, krippendorff_alpha, weighted_kappa
from rankloop.serve.desk.live_scores import LiveScores, Score, live_scores
from rankloop.serve.desk.next_document import NextDocument, next_documents
from rankloop.serve.desk.pools import Pools, pools_of
from rankloop.serve.desk.query_sets import QuerySet, query_set
from rankloop.serve.desk.rankings import DEPTH
from rankloop.serve.events.judgments import MODEL, averaged

if TYPE_CHECKING:
    from rankloop.search import Deadline
    from rankloop.serve.events.store import Rating
    from rankloop.serve.service import Service

__all__ = ["Judging", "Progress", "VersionScore", "judging", "usual_versions"]

VERSIONS = 4  # that are pooled unless others are named
RATERS = 12  # whose agreement is shown in pairs
RESAMPLES = 200  # of an interval of two raters: there are many, at every grade


class Progress(NamedTuple):
    """How far a query is judged: by one rater, and by anybody."""

    query: str
    weight: float
    mine: int
    judged: int
    documents: int


class VersionScore(NamedTuple):
    """The NDCG of a version, and how far it is above the first one."""

    version: str
    score: Score
    difference: Score | None


@dataclass(frozen=True, eq=False)
class Judging:
    """What is known of a set now; `waiting` queries are not ranked yet."""

    set: QuerySet
    versions: tuple[str, ...]
    pools: Pools
    ratings: "list[Rating]"
    waiting: int

    @cached_property
    def live(self) -> list[LiveScores]:
        """The scores of each version beside the first one; of one version alone, beside itself."""
        others = range(1, len(self.versions)) if len(self.versions) > 1 else range(1)
        return [live_scores(self.pools, new=one, old=0) for one in others]

    def scores(self) -> list[VersionScore]:
        """The live scores of all versions."""
        first = VersionScore(self.versions[0], self.live[0].of(0), None)
        others = zip(self.versions[1:], self.live, strict=False)
        return [first, *(VersionScore(name, live.of(1), live.difference()) for name, live in others)]

    def progress(self, rater: str) -> list[Progress]:
        """For each query how many documents of its pool are judged, by this rater and by anybody."""
        mine = {(one.query, one.document) for one in self.ratings if one.rater == rater}
        graded = {(one.query, one.document) for one in self.ratings if one.grade is not None}
        rows = zip(self.pools.queries, self.pools.weights.tolist(), self.pools.documents, strict=True)
        return [
            Progress(
                query,
                weight,
                sum((query, one) in mine for one in documents),
                sum((query, one) in graded for one in documents),
                len(documents),
            )
            for query, weight, documents in rows
        ]

    def shuffled(self, query: str, rater: str) -> list[str]:
        """The pool of a query in an order that tells nothing of the rankings, the same on every visit."""
        row = self.pools.queries.index(query)
        shown = list(self.pools.documents[row])
        Random(f"{rater}/{query}").shuffle(shown)
        return shown

    def next(self, n: int = 1, rater: str = "") -> list[NextDocument]:
        """What to judge next for the difference of the first two versions; nothing that a rater has seen."""
        seen = {(one.query, one.document) for one in self.ratings if one.rater == rater}
        new = 1 if len(self.versions) > 1 else 0
        best = next_documents(self.pools, n + len(seen), new=new, old=0)
        return [one for one in best if (one.query, one.document) not in seen][:n]

    def agreement(self) -> "Agreement | None":
        """Krippendorff's alpha of all people; None where no document has two grades."""
        table = self._table([one for one in self._raters() if not one.startswith(f"{MODEL} ")])
        found = krippendorff_alpha(table) if table.size else None
        return found if found is not None and found.items else None

    def pairs(self) -> list[tuple[str, str, Agreement]]:
        """Quadratic kappa of each two raters who graded the same documents."""
        raters = self._raters()[:RATERS]
        table = self._table(raters)
        found = []
        for one, two in combinations(range(len(raters)), 2):
            kappa = weighted_kappa(table[:, one], table[:, two], resamples=RESAMPLES)
            if kappa.items:
                found.append((raters[one], raters[two], kappa))
        return found

    def _raters(self) -> list[str]:
        """Raters of this set, who graded most first."""
        names = [one.rater for one in self.ratings if one.grade is not None]
        return sorted(set(names), key=lambda name: (-names.count(name), name))

    def _table(self, raters: Sequence[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Grades by document and rater."""
        items = sorted({(one.query, one.document) for one in self.ratings if one.grade is not None})
        row = {item: at for at, item in enumerate(items)}
        column = {name: at for at, name in enumerate(raters)}
        table = np.full((len(items), len(raters)), np.nan)
        for one in self.ratings:
            if one.grade is not None and one.rater in column:
                table[row[one.query, one.document], column[one.rater]] = one.grade
        return table


def judging(
    service: "Service", address: str, versions: Sequence[str], deadline: "Deadline", *, first: str = ""
) -> Judging:
    """A set as it stands, with as many queries ranked as the deadline allows, `first` before all others."""
    chosen = query_set(service.store, address)
    names = tuple(versions) or usual_versions(service)
    order = sorted((one.query for one in chosen.queries), key=lambda query: query != first)
    tops = service.rankings.tops(names, order, deadline)
    ratings = service.store.ratings([one.query for one in chosen.queries])
    pools = pools_of(chosen.queries, tops, averaged(ratings).to_dict(), DEPTH)
    return Judging(chosen, names, pools, ratings, len(chosen.queries) - len(tops))


def usual_versions(service: "Service") -> tuple[str, ...]:
    """Production, and the newest others."""
    production = str(service.versions.live.roles.production)
    newest = [one.version for one in reversed(service.registry.versions()) if one.version != production]
    return (production, *newest[: VERSIONS - 1])
