"""Boosting of thresholds on the pairs."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Bools, Floats, Ints, Singles
from rankloop._jit import kernel
from rankloop._progress import progress
from rankloop.data import RankingDataset
from rankloop.losses.kernels.pair_sums import levels
from rankloop.metrics import Metric
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.ranker import Member, Ranker
from rankloop.rankers.base.row_weight import row_weight
from rankloop.rankers.base.scale import refuse_infinite
from rankloop.rankers.base.thresholds import Thresholds

__all__ = ["RankBoost"]


@dataclass(kw_only=True, eq=False, repr=False)
class RankBoost(Ranker):
    r"""RankBoost (Freund et al., 2003): thresholds of features that descend the exponential loss of pairs.

    .. math:: \sum_{i \succ j} v_i \, e^{s_j - s_i}, \qquad
        s(x) = \sum_t \alpha_t \, [x_{f_t} > \theta_t], \qquad
        \alpha = \tfrac12 \ln \frac{1 + r + \epsilon}{1 - r + \epsilon}

    where r is the agreement of the threshold with the current weights of the pairs. The weight of a pair is
    a product over its two documents, so an iteration costs O(documents), not O(pairs). A missing value goes
    to the better side of the threshold. With a validation set the best number of thresholds is kept.

    >>> X, y, qid = [[3.0, 0.1], [1.0, 0.9], [2.0, 0.2], [5.0, 0.7]], [0, 1, 0, 1], ["a", "a", "b", "b"]
    >>> RankBoost(iterations=5).fit(X, y, qid=qid).rank(X[:2])
    array([1, 0])
    """

    iterations: int = 300
    thresholds: int = 255
    metric: str | Metric = "ndcg@10"
    patience: int = 50

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        if self.iterations < 1 or self.thresholds < 1:
            raise ValueError("iterations and thresholds must be at least 1")
        refuse_infinite(train.X)
        candidates = Thresholds.of(train.X, self.thresholds)
        pairs = _PairWeights(train)
        judged = None if valid is None else Objective.of(self.metric, valid)
        scores, valid_scores = (
            np.zeros(train.n_documents),
            np.zeros(0 if valid is None else valid.n_documents),
        )
        chosen: list[tuple[int, float, bool, float]] = []
        best_value, best_size = -np.inf, self.iterations
        with progress("RankBoost", total=self.iterations) as advance:
            for turn in range(1, self.iterations + 1):
                net = pairs.net(scores)
                if net is None:
                    break
                feature, threshold, missing, r = candidates.best(net)
                alpha = 0.5 * np.log((1 + r + pairs.least) / (1 - r + pairs.least))
                if alpha == 0.0:
                    break
                chosen.append((feature, threshold, missing, alpha))
                scores += alpha * _beyond(train.X[:, feature], threshold, missing)
                note = ""
                if valid is not None and judged is not None:
                    valid_scores += alpha * _beyond(valid.X[:, feature], threshold, missing)
                    value = judged(valid_scores)
                    note = f"{judged.metric} {abs(value):.4f}"
                    if value > best_value:
                        best_value, best_size = value, turn
                    elif turn - best_size >= self.patience:
                        break
                advance(1, note)
        columns = list(zip(*chosen[:best_size], strict=True)) or [(), (), (), ()]
        self.feature_, self.threshold_ = np.array(columns[0], np.int64), np.array(columns[1], np.float64)
        self.missing_, self.alpha_ = np.array(columns[2], bool), np.array(columns[3], np.float64)

    def _scores(self, X: Singles, offsets: Ints) -> Floats:
        scores = np.zeros(len(X))
        for feature in np.unique(self.feature_):
            mine = np.flatnonzero(self.feature_ == feature)
            mine = mine[np.argsort(self.threshold_[mine], kind="stable")]
            reached = np.concatenate(([0.0], np.cumsum(self.alpha_[mine])))
            column = X[:, feature]
            found = reached[np.searchsorted(self.threshold_[mine], column, side="left")]
            absent = self.alpha_[mine][self.missing_[mine]].sum()
            scores += np.where(np.isnan(column), absent, found)
        return scores

    def _state(self) -> dict[str, Member]:
        return {
            "feature": self.feature_,
            "threshold": self.threshold_,
            "missing": self.missing_,
            "alpha": self.alpha_,
        }

    def _restore(self, state: Mapping[str, Member]) -> None:
        self.feature_, self.threshold_ = np.asarray(state["feature"]), np.asarray(state["threshold"])
        self.missing_, self.alpha_ = np.asarray(state["missing"]), np.asarray(state["alpha"])


def _beyond(column: Singles, threshold: float, missing: bool) -> Bools:
    return np.where(np.isnan(column), missing, column > threshold)


class _PairWeights:
    """The distribution over pairs, summed to one signed weight per document."""

    def __init__(self, train: RankingDataset) -> None:
        self.labels, self.offsets, self.row_query = train.y, train.offsets, train.row_query
        self.order = np.lexsort((train.y, train.row_query))
        self.weight = row_weight(train)
        _, sizes = np.unique(levels(train.y, train.offsets) + 1j * train.row_query, return_counts=True)
        pairs = (train.lengths.astype(np.float64) ** 2).sum() - (sizes.astype(np.float64) ** 2).sum()
        self.least = 2.0 / max(2.0, pairs)

    def net(self, scores: Floats) -> Floats | None:
        """For each document the weight of its pairs as the better one less that as the other; sums to 0."""
        starts = self.offsets[:-1]
        middle = 0.5 * (np.maximum.reduceat(scores, starts) + np.minimum.reduceat(scores, starts))
        rising = np.exp(np.clip(scores - middle[self.row_query], -150.0, 150.0))
        net = np.zeros(len(scores))
        total = _net_weights(rising, self.weight / rising, self.labels, self.order, self.offsets, net)
        return net / total if total > 0 else None


@kernel
def _net_weights(
    rising: Floats, falling: Floats, labels: Singles, order: Ints, offsets: Ints, out: Floats
) -> float:
    """The net weight of each document and the sum of all; lists are sorted by label.

    Two running sums over blocks of equal labels, one from each end: only positive terms are added.
    """
    total = 0.0
    for q in range(len(offsets) - 1):
        start, stop = offsets[q], offsets[q + 1]
        lower, block = 0.0, 0.0
        for k in range(start, stop):
            row = order[k]
            if k > start and labels[row] != labels[order[k - 1]]:
                lower += block
                block = 0.0
            block += rising[row]
            out[row] += falling[row] * lower
            total += falling[row] * lower
        higher, block = 0.0, 0.0
        for k in range(stop - 1, start - 1, -1):
            row = order[k]
            if k < stop - 1 and labels[row] != labels[order[k + 1]]:
                higher += block
                block = 0.0
            block += falling[row]
            out[row] -= rising[row] * higher
    return total
