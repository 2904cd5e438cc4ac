"""Several rankings of the same queries as one: reciprocal rank fusion, CombSUM, CombMNZ."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Array, Floats, Ints
from rankloop._names import one_of
from rankloop.data import Run
from rankloop.lists.mean_ranks import mean_ranks
from rankloop.rankers.base.per_list import normalised

__all__ = ["CONSTANT", "METHODS", "Aligned", "align", "comb_mnz", "comb_sum", "fuse", "fused_scores", "rrf"]

Scores = Sequence[ArrayLike]
Weights = Sequence[float] | None

CONSTANT = 60.0  # of reciprocal rank fusion: the larger, the less the first ranks stand out
METHODS = ("comb_mnz", "comb_sum", "rrf")


def fuse(
    runs: Sequence[Run],
    method: str = "rrf",
    *,
    constant: float = CONSTANT,
    norm: str = "minmax",
    weights: Weights = None,
    k: int | None = None,
) -> Run:
    """Fuse several runs into one, with every document that any of them retrieved.

    `method` is `"rrf"` (by ranks, with its `constant`), `"comb_sum"` or `"comb_mnz"` (by scores, brought to
    one scale within each query by `norm`: "minmax", "sum", "zscore" or "none"). `weights` has one number per
    run, `k` keeps the best documents of each query. A run that lacks a query adds nothing to it.
    `tune_fusion` chooses all of these by judgments.

    >>> words = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    >>> vectors = Run.from_dict({"q": {"a": 0.9, "c": 0.8}})
    >>> fuse([words, vectors]).docid.tolist()
    ['a', 'c', 'b']
    """
    if len(runs) == 0 or not all(isinstance(run, Run) for run in runs):
        kinds = ", ".join(type(run).__name__ for run in runs) or "nothing"
        raise ValueError(f"fuse takes a sequence of runs (read_run, Run.from_dict), got {kinds}")
    if k is not None and k < 1:
        raise ValueError(f"k must be at least 1, or None to keep all documents, got {k}")
    made = align(runs)
    offsets = made.offsets
    fused = fused_scores(made.scores, offsets, method, constant=constant, norm=norm, weights=weights)
    list_of = np.repeat(np.arange(len(made.query_ids)), np.diff(offsets))
    kept = np.lexsort((made.first, -fused, list_of))  # equal scores: in the order of the runs
    if k is not None:
        kept = kept[np.arange(len(kept)) - np.repeat(offsets[:-1], np.diff(offsets)) < k]
    kept = kept[np.argsort(made.seen[list_of[kept]], kind="stable")]
    return Run(made.query_ids[list_of[kept]], made.documents[kept], fused[kept])


@dataclass(frozen=True, eq=False)
class Aligned:
    """Every document that a run retrieved, list by list: one array of scores per run, nan where it lacks it.

    `first` is where a document occurs first in the runs put one after the other, `seen` where a query does.
    """

    query_ids: Array
    offsets: Ints
    documents: Array
    scores: list[Floats]
    first: Ints
    seen: Ints


def align(runs: Sequence[Run]) -> Aligned:
    """The scores of several runs side by side."""
    query_ids, seen, query = np.unique(
        np.concatenate([np.repeat(run.qid, np.diff(run.offsets)) for run in runs]),
        return_index=True,
        return_inverse=True,
    )
    document_ids, document = np.unique(np.concatenate([run.docid for run in runs]), return_inverse=True)
    pairs, first, place = np.unique(
        query * len(document_ids) + document, return_index=True, return_inverse=True
    )
    scores = np.full((len(runs), len(pairs)), np.nan)
    which = np.repeat(np.arange(len(runs)), [len(run.docid) for run in runs])
    scores[which, place] = np.concatenate([run.scores for run in runs])
    offsets = np.searchsorted(query[first], np.arange(len(query_ids) + 1))
    return Aligned(query_ids, offsets, document_ids[document[first]], list(scores), first, seen)


def fused_scores(
    scores: Scores,
    offsets: ArrayLike,
    method: str = "rrf",
    *,
    constant: float = CONSTANT,
    norm: str = "minmax",
    weights: Weights = None,
) -> Floats:
    """The fused score of each document, from one array of scores per ranker; nan is "not retrieved"."""
    one_of("method", method, METHODS)
    if method == "rrf":
        return rrf(scores, offsets, constant=constant, weights=weights)
    comb = comb_sum if method == "comb_sum" else comb_mnz
    return comb(scores, offsets, norm=norm, weights=weights)


def rrf(scores: Scores, offsets: ArrayLike, *, constant: float = CONSTANT, weights: Weights = None) -> Floats:
    r"""Reciprocal rank fusion (Cormack et al., 2009): :math:`\sum_m w_m / (c + \mathrm{rank}_m)`.

    One array of scores per ranker; nan where it did not retrieve the document. Ties share their mean rank.

    >>> rrf([[3.0, 2.0, 1.0], [9.0, np.nan, 8.0]], [0, 3]).round(4)
    array([0.0328, 0.0161, 0.032 ])
    """
    arrays, edges, shares = _checked(scores, offsets, weights)
    return _sum(shares / (constant + np.array([mean_ranks(array, edges) for array in arrays])))


def comb_sum(scores: Scores, offsets: ArrayLike, *, norm: str = "minmax", weights: Weights = None) -> Floats:
    """CombSUM (Fox & Shaw, 1994): the sum of the scores, each on one scale within its list.

    >>> comb_sum([[3.0, 2.0, 1.0], [9.0, np.nan, 8.0]], [0, 3])
    array([2. , 0.5, 0. ])
    """
    arrays, edges, shares = _checked(scores, offsets, weights)
    return _sum(shares * np.array([normalised(array, edges, norm) for array in arrays]))


def comb_mnz(scores: Scores, offsets: ArrayLike, *, norm: str = "minmax", weights: Weights = None) -> Floats:
    """CombMNZ (Fox & Shaw, 1994): CombSUM times the number of rankers that retrieved the document.

    >>> comb_mnz([[3.0, 2.0, 1.0], [9.0, np.nan, 8.0]], [0, 3])
    array([4. , 0.5, 0. ])
    """
    total = comb_sum(scores, offsets, norm=norm, weights=weights)
    retrieved: Floats = np.sum(~np.isnan(np.array(scores, np.float64)), axis=0, dtype=np.float64)
    return total * retrieved


def _checked(scores: Scores, offsets: ArrayLike, weights: Weights) -> tuple[Floats, Ints, Floats]:
    """Scores as rankers × documents, offsets, and the weights as a column."""
    if len(scores) == 0:
        raise ValueError("fusion needs the scores of at least one ranker, got none")
    arrays = [np.asarray(array, np.float64) for array in scores]
    edges = np.asarray(offsets, np.int64)
    for array in arrays:
        if array.shape != (int(edges[-1]),):
            raise ValueError(
                f"each ranker needs one score per document ({edges[-1]}), got shape {array.shape}"
            )
    shares = np.ones(len(arrays)) if weights is None else np.asarray(weights, np.float64)
    if shares.shape != (len(arrays),):
        raise ValueError(f"weights needs one number per ranker ({len(arrays)}), got {len(shares)}")
    return np.array(arrays), edges, shares[:, None]


def _sum(parts: Floats) -> Floats:
    """A document that a ranker did not retrieve gets nothing from it."""
    total: Floats = np.nansum(parts, axis=0)
    return total
