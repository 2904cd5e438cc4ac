"""LambdaRank as trees learn best from it."""

from dataclasses import dataclass

from rankloop.losses.lambdarank import LambdaRank

__all__ = ["LambdaGap"]


@dataclass(frozen=True)
class LambdaGap(LambdaRank):
    """`LambdaRank` with lambdas down to rank 30, where pairs of close scores count more.

    It is the default of `LambdaMART`: trees need fewer iterations for the same NDCG.

    >>> LambdaGap()([0.0, 0.0], [0, 1], [0, 2]).gradient.round(4)
    array([ 0.1845, -0.1845])
    """

    truncation: int | None = 30
    norm_gap: bool = True
