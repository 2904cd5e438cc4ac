"""LambdaRank's lambdas with near pairs counting more, in single precision: LambdaMART's default."""

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import over_lists
from rankloop.data import RankingDataset
from rankloop.losses import LambdaRank, Loss
from rankloop.losses.kernels.gain import gains
from rankloop.losses.kernels.ideal import discounts, ranks
from rankloop.losses.kernels.math import exp_negative, fast, inner, single_workspace
from rankloop.losses.kernels.order import LANES, descending
from rankloop.losses.kernels.single_lambdas import two_rows

__all__ = ["GapLambdas"]

SPAN = 30.0  # up to this span of sigma * score, products of odds and gaps fit single precision

Row = NDArray[np.float64]
Single = NDArray[np.float32]


_near_rows = two_rows(gapped=True)


class GapLambdas:
    """The same numbers as `LambdaRank(norm_gap=True)`, with all that labels decide computed once."""

    def __init__(self, loss: LambdaRank, train: RankingDataset) -> None:
        gain = gains(train.y, loss.gain)
        rank = ranks(train.offsets)
        discount = discounts(rank)
        best = gain[np.lexsort((-gain, train.row_query))]
        if loss.truncation is not None:
            best = np.where(rank <= loss.truncation, best, 0.0)
        ideal = np.add.reduceat(best * discount, train.offsets[:-1])  # every query has a document
        self.factor = np.divide(loss.sigma, ideal, out=np.zeros_like(ideal), where=ideal > 0)
        if loss.metric == "dcg":
            self.factor = np.where(ideal > 0, loss.sigma, 0.0)
        if train.query_weight is not None:
            self.factor *= train.query_weight
        self.sigma, self.offsets, self.gain = loss.sigma, train.offsets, gain.astype(np.float32)
        self.truncation = loss.truncation or int(train.lengths.max())
        self.discount = discounts(np.arange(1.0, train.lengths.max() + 1.0)).astype(np.float32)

    @classmethod
    def of(cls, loss: Loss, train: RankingDataset) -> "GapLambdas | None":
        """The lambdas of this loss on this data set, where they are in reach."""
        if not isinstance(loss, LambdaRank) or loss.metric not in ("ndcg", "dcg"):
            return None
        if not loss.norm_gap or loss.norm_list or train.item_weight is not None or train.pairs is not None:
            return None
        return cls(loss, train)

    def __call__(self, scores: Row) -> tuple[Single, Single] | None:
        """Gradient and Hessian; None where the scores of a list span too much."""
        gradient, hessian = np.empty(len(scores), np.float32), np.empty(len(scores), np.float32)
        failed = np.zeros(len(self.factor), np.bool_)

        def work(first: int, last: int) -> None:
            _gap_lists(
                first, last, scores, self.gain, self.offsets, self.discount, self.factor,
                self.sigma, self.truncation, gradient, hessian, failed,
            )  # fmt: skip

        over_lists(work, self.offsets)
        return None if failed.any() else (gradient, hessian)


@fast
def _gap_lists(
    first: int,
    last: int,
    scores: Row,
    gains: Single,
    offsets: NDArray[np.int64],
    discount: Single,
    factors: Row,
    sigma: float,
    truncation: int,
    gradient: Single,
    hessian: Single,
    failed: NDArray[np.bool_],
) -> None:
    longest = 0
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
    work = single_workspace(6, longest)
    odds, gain, gamma, fall, g, h = work[0], work[1], work[2], work[3], work[4], work[5]
    for k in range(discount.size):
        gamma[k] = discount[k]
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    keys = np.empty(longest + LANES + 1, np.int16)
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        n = stop - start
        if n < 2 or factors[q] == 0.0:
            for k in range(start, stop):
                gradient[k] = np.float32(0.0)
                hessian[k] = np.float32(0.0)
            continue
        descending(scores[start:stop], order, spare, keys)
        high, low = scores[start + order[0]], scores[start + order[n - 1]]
        if sigma * (high - low) > SPAN:
            failed[q] = True
            continue
        near = np.float32(0.01) if high > low else np.float32(1.0)
        for k in range(n):
            fall[k] = np.float32(high - scores[start + order[k]])
            gain[k] = gains[start + order[k]]
            g[k] = np.float32(0.0)
            h[k] = np.float32(0.0)
        _odds(n, sigma, fall, odds)
        top = min(truncation, n)
        for i in range(0, min(top, n - 1), 2):
            _near_rows(i, n, i + 1 < top, near, fall, odds, gain, gamma, g, h)
        for k in range(n):
            gradient[start + order[k]] = np.float32(g[k] * factors[q])
            hessian[start + order[k]] = np.float32(h[k] * odds[k] * (factors[q] * sigma))


@inner
def _odds(n: int, sigma: float, fall: Single, odds: Single) -> None:
    for k in range(n):
        odds[k] = np.float32(exp_negative(sigma * np.float64(fall[k])))
