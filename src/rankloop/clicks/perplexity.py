"""The perplexity of a click model."""

from typing import NamedTuple

from rankloop._arrays import Floats

__all__ = ["Perplexity"]


class Perplexity(NamedTuple):
    """2 to the mean negative log2-likelihood of a click: 1 is certainty, 2 a fair coin.

    `per_rank` averages over the pages that show the rank.
    """

    overall: float
    per_rank: Floats
