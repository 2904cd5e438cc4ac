"""Several rankings of the same documents made one."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from rankloop._names import one_of
from rankloop.data import RankingDataset
from rankloop.lists.mean_ranks import mean_ranks
from rankloop.rankers.base.parts import RankerOfRankers
from rankloop.rankers.base.per_list import NORMS, normalised, only_best
from rankloop.rankers.base.ranker import Member, Ranker

__all__ = ["Fusion", "comb_mnz", "comb_sum", "rrf"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def rrf(
    scores: Sequence[ArrayLike],
    offsets: ArrayLike,
    *,
    k: float = 60.0,
    weights: Sequence[float] | None = None,
) -> Floats:
    r"""Reciprocal rank fusion (Cormack et al., 2009): :math:`\sum_m w_m / (k + \mathrm{rank}_m)`.

    One array of scores per ranker; nan where it did not retrieve the document. Ties share their rank.

    >>> rrf([[3.0, 2.0, 1.0], [9.0, np.nan, 8.0]], [0, 3]).round(4)
    array([0.0328, 0.0161, 0.032 ])
    """
    runs, edges, shares = _checked(scores, offsets, weights)
    return _sum(shares[:, None] / (k + np.array([mean_ranks(run, edges) for run in runs])))


def comb_sum(
    scores: Sequence[ArrayLike],
    offsets: ArrayLike,
    *,
    norm: str = "minmax",
    weights: Sequence[float] | None = None,
) -> Floats:
    """CombSUM (Fox & Shaw, 1994): the sum of the scores, each on one scale within its list.

    >>> comb_sum([[3.0, 2.0, 1.0], [9.0, np.nan, 8.0]], [0, 3])
    array([2. , 0.5, 0. ])
    """
    runs, edges, shares = _checked(scores, offsets, weights)
    return _sum(shares[:, None] * np.array([normalised(run, edges, norm) for run in runs]))


def comb_mnz(
    scores: Sequence[ArrayLike],
    offsets: ArrayLike,
    *,
    norm: str = "minmax",
    weights: Sequence[float] | None = None,
) -> Floats:
    """CombMNZ (Fox & Shaw, 1994): CombSUM times the number of rankers that retrieved the document.

    >>> comb_mnz([[3.0, 2.0, 1.0], [9.0, np.nan, 8.0]], [0, 3])
    array([4. , 0.5, 0. ])
    """
    runs, edges, _ = _checked(scores, offsets, weights)
    hits = np.sum(~np.isnan(runs), axis=0, dtype=np.float64)
    return comb_sum(list(runs), edges, norm=norm, weights=weights) * hits


class Fusion(RankerOfRankers):
    """Rankers joined by `method`: "rrf", "comb_sum", "comb_mnz", or "learned".

    "learned" fits `learner` (coordinate ascent on NDCG@10 when None) on the parts' normalised scores. Parts
    that are fitted here give scores for queries they have not seen, over `folds`, so that the learner is not
    misled by a part that knows its training set by heart. `depth` keeps only the best documents of each part;
    without it every part retrieves everything, and CombMNZ orders as CombSUM does.

    >>> from rankloop.rankers import RankSVM
    >>> X, y, qid = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.4]], [2, 0, 1], ["a", "a", "a"]
    >>> parts = [RankSVM(C=C).fit(X, y, qid=qid) for C in (1.0, 10.0)]
    >>> Fusion(parts, method="rrf").rank(X)
    array([0, 2, 1])
    """

    learner_: Ranker | None

    def __init__(
        self,
        rankers: Sequence[Ranker] = (),
        *,
        method: str = "rrf",
        k: float = 60.0,
        norm: str = "minmax",
        depth: int | None = None,
        weights: Sequence[float] | None = None,
        learner: Ranker | None = None,
        folds: int = 5,
        prefit: bool = False,
        seed: int = 0,
    ) -> None:
        self.rankers = rankers
        self.method = method
        self.k = k
        self.norm = norm
        self.depth = depth
        self.weights = weights
        self.learner = learner
        self.folds = folds
        self.prefit = prefit
        self.seed = seed

    def _learns_on_top(self) -> bool:
        return self.method == "learned"

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        one_of("method", self.method, ("comb_mnz", "comb_sum", "learned", "rrf"))
        one_of("norm", self.norm, NORMS)
        self.rankers_ = self._fitted_parts(train, valid)
        self.learner_ = None
        if not self._learns_on_top():
            return
        if self.weights is not None:
            raise ValueError("method 'learned' finds the weights itself; leave weights out")
        unseen = self._stacked(train.X, train.offsets) if self.prefit else self._out_of_fold(train)
        learner = _default_learner(self.seed) if self.learner is None else clone(self.learner)
        judged = None
        if valid is not None:
            judged = valid.replace(X=self._stacked(valid.X, valid.offsets), feature_names=None)
        self.learner_ = learner.fit(train.replace(X=unseen, feature_names=None), judged)

    def _out_of_fold(self, train: RankingDataset) -> NDArray[np.float32]:
        """Scores of each query by parts that were fitted without it."""
        unseen = np.empty((train.n_documents, len(self.rankers)), np.float32)
        where = {query: i for i, query in enumerate(train.qid.tolist())}
        for rest, held in train.folds(min(self.folds, train.n_queries), seed=self.seed):
            parts = self._fitted_parts(rest, None)
            scores = [
                normalised(part._scores(held.X, held.offsets), held.offsets, self.norm) for part in parts
            ]
            queries = np.array([where[query] for query in held.qid.tolist()])
            rows = np.concatenate([np.arange(train.offsets[q], train.offsets[q + 1]) for q in queries])
            unseen[rows] = np.stack(scores, axis=1)
        return unseen

    def _stacked(self, X: NDArray[np.float32], offsets: Ints) -> NDArray[np.float32]:
        scores = [normalised(part, offsets, self.norm) for part in self._part_scores(X, offsets)]
        return np.stack(scores, axis=1).astype(np.float32)

    def _scores(self, X: NDArray[np.float32], offsets: Ints) -> Floats:
        if self._learns_on_top():
            if self.learner_ is None:
                raise ValueError("method was set to 'learned' after fit; fit again")
            return self.learner_._scores(self._stacked(X, offsets), offsets)
        parts = [only_best(part, offsets, self.depth) for part in self._part_scores(X, offsets)]
        if self.method == "rrf":
            return rrf(parts, offsets, k=self.k, weights=self.weights)
        join = comb_sum if self.method == "comb_sum" else comb_mnz
        return join(parts, offsets, norm=self.norm, weights=self.weights)

    def _adopt(self) -> None:
        super()._adopt()
        self.learner_ = None

    def _state(self) -> dict[str, Member]:
        from rankloop.rankers.saving.load import dumps

        learned = {} if self.learner_ is None else {"learner": dumps(self.learner_)}
        return {**super()._state(), **learned}

    def _restore(self, state: Mapping[str, Member]) -> None:
        from rankloop.rankers.saving.load import loads

        super()._restore(state)
        learner = state.get("learner")
        self.learner_ = loads(learner) if isinstance(learner, bytes) else None


def _default_learner(seed: int) -> Ranker:
    from rankloop.rankers.coordinate_ascent import CoordinateAscent

    return CoordinateAscent(seed=seed)


def _checked(
    scores: Sequence[ArrayLike], offsets: ArrayLike, weights: Sequence[float] | None
) -> tuple[Floats, Ints, Floats]:
    if len(scores) == 0:
        raise ValueError("fusion needs the scores of at least one ranker, got none")
    runs = [np.asarray(run, np.float64) for run in scores]
    edges = np.asarray(offsets, np.int64)
    for run in runs:
        if run.shape != (int(edges[-1]),):
            raise ValueError(f"each ranker needs one score per document ({edges[-1]}), got shape {run.shape}")
    shares = np.ones(len(runs)) if weights is None else np.asarray(weights, np.float64)
    if shares.shape != (len(runs),):
        raise ValueError(f"weights needs one number per ranker ({len(runs)}), got {len(shares)}")
    return np.array(runs), edges, shares


def _sum(parts: Floats) -> Floats:
    """What a ranker did not retrieve adds nothing."""
    total: Floats = np.nansum(parts, axis=0)
    return total
