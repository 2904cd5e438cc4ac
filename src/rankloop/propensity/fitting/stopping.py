"""Whether people stop reading: do clicks on a result depend on the results above it?"""

import numpy as np
from scipy.special import stdtr

from rankloop._arrays import Floats, Ints
from rankloop.clicks import ClickLog

__all__ = ["stopping"]

PAGES = 200_000  # that are looked at, evenly spaced, in a larger log


def stopping(log: ClickLog) -> float | None:
    r"""The p-value of the hypothesis that attractive results above do not keep people from clicking below.

    Where each rank is seen with a probability of its own, clicks on a document at a rank do not depend on the
    other documents of the page. With r the click minus its mean over the pages with the same document at the
    same rank, and z the attraction of the documents above minus its mean over these pages,

    .. math:: t = \sum_u s_u \big/ \sqrt{\textstyle\sum_u s_u^2}, \qquad s_u = \sum_{i \in u} r_i z_i

    over people u (pages where nobody is known) is compared with Student's t, one-sided: people who stop after
    what they liked have a negative t. None where the documents above a document never differ.
    """
    if log.n_pages > PAGES:
        log = log.select(np.linspace(0, log.n_pages - 1, PAGES).astype(np.int64))
    page, pair = log.row_page, log.pairs.code.astype(np.int64)
    rank = log.position.astype(np.int64)
    click = log.click.astype(np.float64)
    of_rank = _means(rank, click)
    attraction = ((np.bincount(pair, click) + 1.0) / (np.bincount(pair, of_rank[rank]) + 1.0))[pair]
    first = np.flatnonzero(np.diff(page, prepend=-1))
    before = np.cumsum(attraction) - attraction
    above = before - before[first][np.cumsum(np.diff(page, prepend=-1) != 0) - 1]
    cell = np.unique(pair << 32 | rank, return_inverse=True)[1]
    rest, z = click - _means(cell, click)[cell], above - _means(cell, above)[cell]
    z[np.abs(z) < 1e-9] = 0.0
    person = page if log.page_user is None else log.page_user.code[page]
    score = np.bincount(person, rest * z)
    square = float(score @ score)
    if square == 0.0:
        return None
    freedom = square**2 / float(np.sum(score**4)) - 1.0
    return float(stdtr(max(freedom, 1.0), score.sum() / np.sqrt(square)))


def _means(group: Ints, values: Floats) -> Floats:
    """The mean of each group; 0 for numbers without an entry."""
    return np.bincount(group, values) / np.maximum(np.bincount(group), 1)
