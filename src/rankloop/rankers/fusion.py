"""Several rankers as one, by the fusion of their scores or ranks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import clone

from rankloop._arrays import Floats, Ints, Singles
from rankloop._names import one_of
from rankloop.data import RankingDataset
from rankloop.rankers.base.parts import RankerOfRankers
from rankloop.rankers.base.per_list import NORMS, normalised, only_best
from rankloop.rankers.base.ranker import Member, Ranker
from rankloop.rankers.fuse import CONSTANT, METHODS, fused_scores

__all__ = ["Fusion"]


@dataclass(kw_only=True, eq=False, repr=False)
class Fusion(RankerOfRankers):
    """Rankers joined by `method`: "rrf", "comb_sum", "comb_mnz", or "learned".

    "learned" fits `learner` (coordinate ascent on NDCG@10 when None) on the parts' normalised scores. Parts
    that are fitted here give scores for queries they were not trained on, over `folds`, so that a part that
    overfits gets no undue weight. `depth` keeps only the best documents of each part; without it every part
    retrieves everything, and CombMNZ gives the order of CombSUM.

    >>> from rankloop.rankers import RankSVM
    >>> X, y, qid = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.4]], [2, 0, 1], ["a", "a", "a"]
    >>> parts = [RankSVM(C=C).fit(X, y, qid=qid) for C in (1.0, 10.0)]
    >>> Fusion(parts, method="rrf").rank(X)
    array([0, 2, 1])
    """

    rankers: Sequence[Ranker] = field(default=(), kw_only=False)
    method: str = "rrf"
    constant: float = CONSTANT
    norm: str = "minmax"
    depth: int | None = None
    weights: Sequence[float] | None = None
    learner: Ranker | None = None
    folds: int = 5
    prefit: bool = False
    seed: int = 0

    def _learns_on_top(self) -> bool:
        return self.method == "learned"

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        one_of("method", self.method, (*METHODS, "learned"))
        one_of("norm", self.norm, NORMS)
        self.rankers_ = self._fitted_parts(train, valid)
        self.learner_: Ranker | None = None
        if not self._learns_on_top():
            return
        if self.weights is not None:
            raise ValueError("method 'learned' finds the weights itself; leave weights out")
        unseen = self._stacked(train.X, train.offsets) if self.prefit else self._out_of_fold(train)
        learner = _default_learner(self.seed) if self.learner is None else clone(self.learner)
        held_out = None
        if valid is not None:
            held_out = valid.replace(X=self._stacked(valid.X, valid.offsets), feature_names=None)
        self.learner_ = learner.fit(train.replace(X=unseen, feature_names=None), held_out)

    def _out_of_fold(self, train: RankingDataset) -> Singles:
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

    def _stacked(self, X: Singles, offsets: Ints) -> Singles:
        scores = [normalised(part, offsets, self.norm) for part in self._part_scores(X, offsets)]
        return np.stack(scores, axis=1).astype(np.float32)

    def _scores(self, X: Singles, offsets: Ints) -> Floats:
        if self._learns_on_top():
            if self.learner_ is None:
                raise ValueError("method was set to 'learned' after fit; fit again")
            return self.learner_._scores(self._stacked(X, offsets), offsets)
        parts = [only_best(part, offsets, self.depth) for part in self._part_scores(X, offsets)]
        return fused_scores(
            parts, offsets, self.method, constant=self.constant, norm=self.norm, weights=self.weights
        )

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
