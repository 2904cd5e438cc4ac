"""LambdaGap: LambdaRank as tuned for boosted trees."""

from dataclasses import dataclass

from rankloop.losses.lambdarank import LambdaRank

__all__ = ["LambdaGap"]


@dataclass(frozen=True)
class LambdaGap(LambdaRank):
    r"""LambdaRank with LightGBM's truncation and division by the score gap: `LambdaMART`'s default.

    .. math:: \lambda_{ij} = -\sigma \, \frac{|\Delta M_{ij}|}{0.01 + |s_i - s_j|} \,
        \frac{1}{1 + e^{\sigma (s_i - s_j)}}

    It is `LambdaRank(truncation=30, norm_gap=True)`, named after the gap: pairs whose scores are close, and
    whose order the next tree can still change, count more. LightGBM has this as part of `lambdarank_norm`
    (Ke et al., 2017), without a name of its own; its scaling of whole lists (`norm_list`) stays off.

    >>> LambdaGap()([2.0, 0.0], [0, 1], [0, 2]).gradient.round(4)
    array([ 0.1617, -0.1617])
    """

    truncation: int | None = 30
    norm_gap: bool = True
