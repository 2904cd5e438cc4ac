"""A simulated user who sees one page at a time, as online learning needs it."""

import numpy as np

from rankloop._arrays import Bools, Ints
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.behaviour import draw
from rankloop.clicks.fitting.pages import Pages, pages_of
from rankloop.data import RankingDataset

__all__ = ["Reader"]


class Reader:
    """Clicks on pages of a data set's rows; the user's parameters for each row are computed once.

    >>> from rankloop.clicks import user
    >>> data = RankingDataset([[0.0]] * 4, [0, 4, 1, 4], ["q"] * 4)
    >>> Reader(user("perfect"), data).clicks(np.array([1, 0, 3]), np.random.default_rng(0))
    array([ True, False,  True])
    """

    def __init__(self, model: ClickModel, data: RankingDataset) -> None:
        pages = pages_of(data)
        self._whole = model._behaviour(pages, pages.depth)
        self._position = np.arange(1, pages.depth + 1, dtype=np.int32)

    def clicks(self, rows: Ints, random: np.random.Generator) -> Bools:
        """One click or non-click for each shown row, from the top."""
        whole, places = self._whole, len(rows)
        page = Pages(np.array([0, places]), self._position[:places])
        here = whole._replace(attraction=whole.attraction[rows], keep=whole.keep[rows])
        return draw(page, here, int(random.integers(2**62))).astype(np.bool_)
