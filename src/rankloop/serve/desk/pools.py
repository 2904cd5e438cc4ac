"""The documents that versions show for the queries of a set, with what is known of their grades."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Bools, Floats, Ints
from rankloop.lists import discount
from rankloop.serve.desk.query_sets import SetQuery

__all__ = ["GRADES", "Pools", "pools_of"]

GRADES = np.arange(4.0)
GAINS = 2.0**GRADES - 1
CLASSES = 9
_TOP = 3  # ranks that are a class of their own: what stands there is relevant more often
_PRIOR = 2.0  # judgments that the grades of all classes together are worth in each


@dataclass(frozen=True, eq=False)
class Pools:
    """Queries in rows, their documents in columns, as many as the longest pool has.

    `ranks` has the rank of each document by each version, 0 where it is not shown; `grades` is nan where
    nobody graded a document, and `real` False in columns that a shorter pool does not fill. Documents that
    were graded and that no version shows are at the end: they count in the best order.
    """

    queries: tuple[str, ...]
    weights: Floats
    documents: tuple[tuple[str, ...], ...]
    ranks: Ints
    grades: Floats
    real: Bools
    k: int

    @property
    def open(self) -> Bools:
        """Which documents nobody graded."""
        return self.real & np.isnan(self.grades)

    def discounts(self) -> Floats:
        """What each version makes of each document: queries x versions x documents."""
        found = np.concatenate([[0.0], discount(np.arange(1, self.k + 1))])
        return found[self.ranks]

    def ideal(self, gains: Floats) -> Floats:
        """The DCG of the best order of gains (of one document each, in the last axis)."""
        best = -np.sort(-gains, axis=-1)[..., : self.k]
        return np.asarray(best @ discount(np.arange(1, best.shape[-1] + 1)))

    def classes(self, new: int, old: int) -> Ints:
        """Where two versions show each document, from 0 to 8: not at all, below the top, at the top, by each.

        What is not judged is like what was judged in its class. Classes of one version alone would take both
        for equally good until all is judged.
        """
        ranks = self.ranks[:, [new, old]]
        place = np.where(ranks == 0, 0, np.where(ranks > _TOP, 1, 2))
        return np.asarray(3 * place[:, 0] + place[:, 1])

    def counts(self, new: int, old: int) -> Floats:
        """How often each grade is expected in each class: what was given, and a little of the grades of all.

        A mean between two grades is shared by them.
        """
        given, place = self.real & ~np.isnan(self.grades), self.classes(new, old)
        shared = _shared(self.grades[given])
        overall = shared.sum(axis=0) + 1.0
        found = np.tile(_PRIOR * overall / overall.sum(), (CLASSES, 1))
        np.add.at(found, place[given], shared)
        return found


def pools_of(
    queries: Sequence[SetQuery],
    tops: Mapping[str, Sequence[Sequence[str]]],
    grades: Mapping[str, Mapping[str, float]],
    k: int,
) -> Pools:
    """The pools of the queries that are ranked: `tops` has one list of ids per version for each."""
    kept = [one for one in queries if one.query in tops]
    documents = []
    for one in kept:
        shown = dict.fromkeys(id for ids in tops[one.query] for id in ids[:k])
        documents.append(tuple(shown | dict.fromkeys(grades.get(one.query, {}))))
    versions = max((len(ids) for ids in tops.values()), default=0)
    width = max((len(ids) for ids in documents), default=0)
    ranks = np.zeros((len(kept), versions, width), np.int64)
    known = np.full((len(kept), width), np.nan)
    real = np.zeros((len(kept), width), bool)
    for at, (one, ids) in enumerate(zip(kept, documents, strict=True)):
        place = {id: column for column, id in enumerate(ids)}
        real[at, : len(ids)] = True
        for version, top in enumerate(tops[one.query]):
            for rank, id in enumerate(top[:k], 1):
                ranks[at, version, place[id]] = rank
        for id, grade in grades.get(one.query, {}).items():
            known[at, place[id]] = grade
    weights = np.array([one.weight for one in kept])
    return Pools(tuple(one.query for one in kept), weights, tuple(documents), ranks, known, real, k)


def _shared(grades: Floats) -> Floats:
    """A grade as probabilities of whole grades: 1.5 is half 1 and half 2; above it, the highest."""
    inside = np.clip(grades, GRADES[0], GRADES[-1])
    return np.asarray(np.maximum(0.0, 1 - np.abs(inside[..., None] - GRADES)))
