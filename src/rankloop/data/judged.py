"""A run joined with judgments: the labels of what was retrieved, and of all that was judged."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Bools, Floats, Ints, Singles
from rankloop.data.qrels import Qrels
from rankloop.data.run import Run
from rankloop.data.trec.by_query import places_in

__all__ = ["JudgedRun", "judged"]

Marks = NDArray[np.int8]


@dataclass(frozen=True, eq=False, repr=False)
class JudgedRun:
    """The retrieved documents of every judged query with their labels, beside all judgments.

    One list per query of the judgments, in their order. `scores`, `labels` and `docid` belong to the
    retrieved documents and `offsets`; a query for which nothing was retrieved is `missing` and has an empty
    list. A retrieved document without judgment has label 0 and is `unjudged`. `pool_labels` and
    `pool_offsets` are all judgments of the query, retrieved or not: ideal rankings and recall use them.
    Negative judgments count as 0; `judged` and `pool_judged` tell them apart: 1 is a judgment, 0 a negative
    one (TREC's mark of a document that was pooled and not judged), -1 no judgment. `unknown` names the
    queries of the run without any judgment: they cannot be measured and are left out.
    """

    qid: NDArray[np.str_]
    offsets: Ints
    scores: Floats
    labels: Singles
    docid: NDArray[np.str_]
    unjudged: Bools
    judged: Marks
    pool_labels: Singles
    pool_offsets: Ints
    pool_judged: Marks
    unknown: tuple[str, ...]

    @property
    def missing(self) -> Bools:
        """For each query, whether nothing was retrieved for it."""
        return np.equal(np.diff(self.offsets), 0)

    def __repr__(self) -> str:
        return (
            f"JudgedRun({len(self.qid):,} queries, {int(self.missing.sum()):,} missing; "
            f"{len(self.scores):,} documents, {int(self.unjudged.sum()):,} unjudged)"
        )

    def ranked_by_trec(self) -> "JudgedRun":
        """The same lists as trec_eval orders them: by score in single precision, then by falling docid."""
        single = self.scores.astype(np.float32)
        query = np.repeat(np.arange(len(self.qid)), np.diff(self.offsets))
        order = np.arange(len(single))
        if len(single) > 1:
            tied = (single[1:] >= single[:-1]) & (query[1:] == query[:-1])
            loose = np.append(tied, False) | np.append(False, tied)
            some = np.flatnonzero(loose)
            _, by_name = np.unique(self.docid[some], return_inverse=True)
            order[some] = some[np.lexsort((-by_name, -single[some], query[some]))]
        return replace(
            self,
            scores=single[order].astype(np.float64),
            labels=self.labels[order],
            docid=self.docid[order],
            unjudged=self.unjudged[order],
            judged=self.judged[order],
        )


def judged(run: Run, qrels: Qrels) -> JudgedRun:
    """Join a run with judgments by query and document.

    >>> run = Run(["q1", "q1", "q9"], ["a", "x", "a"], [2.0, 1.0, 1.0])
    >>> both = judged(run, Qrels(["q1", "q1", "q2"], ["a", "b", "c"], [1, 2, 1]))
    >>> both.labels, both.unjudged, both.pool_labels
    (array([1., 0.], dtype=float32), array([False, True]), array([1., 2., 1.], dtype=float32))
    >>> both.missing, both.unknown
    (array([False, True]), ('q9',))
    """
    place = run._place
    lists = np.array([place.get(query, -1) for query in qrels], np.int64)
    found, _, _ = places_in(run.docid, run.offsets, lists, qrels, np.arange(len(qrels)))
    lengths = np.append(np.diff(run.offsets), 0)[lists]  # a query that is not there (-1) has length 0
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    rows: Any = slice(None)
    if not np.array_equal(lists, np.arange(len(run))):
        rows = np.repeat(run.offsets[lists] - offsets[:-1], lengths) + np.arange(offsets[-1])
    pool = np.maximum(qrels.labels, np.float32(0))
    marks = (qrels.labels >= 0).astype(np.int8)
    at = found[rows]
    return JudgedRun(
        qid=qrels.qid,
        offsets=offsets,
        scores=run.scores[rows],
        labels=np.append(pool, np.float32(0))[at],  # a document that is not judged (-1) has label 0
        docid=run.docid[rows],
        unjudged=at < 0,
        judged=np.append(marks, np.int8(-1))[at],
        pool_labels=pool,
        pool_offsets=qrels.offsets,
        pool_judged=marks,
        unknown=tuple(query for query in run if query not in qrels),
    )
