"""Dueling bandit gradient descent."""

from typing import Unpack

from rankloop._options import passes_to
from rankloop.online.mgd import MGD, DuelOptions
from rankloop.rankers import Ranker

__all__ = ["DBGD"]


class DBGD(MGD):
    """Interleaves one random challenger per page and steps towards it if it wins (Yue & Joachims, 2009).

    >>> from rankloop.rankers.linear_ranker import LinearRanker
    >>> DBGD(LinearRanker()).challengers
    1
    """

    name = "dbgd"

    @passes_to(MGD.__init__)
    def __init__(self, ranker: Ranker, **options: Unpack[DuelOptions]) -> None:
        super().__init__(ranker, challengers=1, **options)
