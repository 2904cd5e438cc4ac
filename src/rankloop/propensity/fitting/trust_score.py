"""How well clicks on documents that moved fit a given trust in high ranks."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Bools, Floats, Ints
from rankloop.clicks import ClickLog
from rankloop.clicks.fitting.moved import people_or_pages

__all__ = ["RANKS", "Fitted", "TrustScore"]

RANKS = 20  # compared at most
ROWS = 2_000_000  # a longer log is tested on some of its queries
PRIOR = 2.0  # impressions at rank 1 by which an estimated attraction is drawn to the mean
ROOM = 0.95  # of the clicks at rank 1 that trust may bring; more leaves nothing to attraction
CROWD = 3  # people who saw a document, at least: one is left out, two give the square of its attraction


class Fitted(NamedTuple):
    """The score of one trust: how many standard errors it is above 0, from how many units, and the curve."""

    errors: float
    units: float
    curve: Floats


class TrustScore:
    r"""Clicks of people who trust high ranks, against those of people who do not.

    .. math:: P(c = 1 \mid d, k) = \theta_k (\gamma_d + (1 - \gamma_d) t_k), \qquad t_k = \tau / k

    Given :math:`\tau`, :math:`z = (c - \theta_k t_k) / (1 - t_k)` has the mean :math:`\theta_k \gamma_d`, and
    a contrast of ranks within a document is 0 on average, whatever its attraction. The score adds the
    contrasts of 1 / k, each times :math:`(1 - \gamma_d)^2` as everybody else's clicks estimate it, without
    bias: too little trust leaves the unattractive documents with more clicks at high ranks.
    """

    def __init__(self, log: ClickLog, used: Bools, seed: int = 0) -> None:
        rows = _moved(log, np.flatnonzero(used[log.row_page] & (log.position <= RANKS)), seed)
        self.empty = len(rows) == 0
        if self.empty:
            return
        page = log.row_page[rows]
        _, self.document = np.unique(log.pairs.code[rows], return_inverse=True)
        _, person = np.unique(people_or_pages(log)[page], return_inverse=True)
        key = self.document * (int(person.max()) + 1) + person
        one, self.visitor = np.unique(key, return_inverse=True)
        self.visited = one // (int(person.max()) + 1)
        self.units = (log.page_query.code[page], person)
        self.rank = log.position[rows] - 1
        self.click = log.click[rows].astype(np.float64)
        documents, self.ranks = int(self.document.max()) + 1, int(self.rank.max()) + 1
        cell = self.document * self.ranks + self.rank
        shape = (documents, self.ranks)
        self.shown = np.bincount(cell, minlength=documents * self.ranks).reshape(shape).astype(np.float64)
        self.clicks = np.bincount(cell, self.click, documents * self.ranks).reshape(shape)
        self.falling = 1.0 / np.arange(1.0, self.ranks + 1)
        self.rate = self.clicks.sum(axis=0) / np.maximum(self.shown.sum(axis=0), 1.0)
        self.first = int(np.argmax(self.rate > 0))  # the rank that the curve is relative to
        self.free = np.flatnonzero(np.arange(self.ranks) != self.first)
        self.most = min(ROOM * float(self.rate[self.first]) / self.falling[self.first], ROOM)

    def at(self, trust: float) -> Fitted:
        """The score of a trust (tau), standardised by its cluster-robust error over queries or people."""
        t = trust * self.falling
        theta, weight, share, slope = self._curve(t)
        rank, document = self.rank, self.document
        z = (self.click - theta[rank] * t[rank]) / (1 - t[rank])
        attraction, lever = self._attraction(z, theta)
        # the score: contrasts of 1 / k within documents, and its slope in log theta
        middle = (share @ self.falling)[document]
        lever = lever * weight[rank]
        bend = -np.bincount(document, lever * z, len(share)) @ (
            share * (self.falling - (share @ self.falling)[:, None])
        )
        lever *= self.falling[rank] - middle
        bend -= np.bincount(rank, lever, self.ranks) * theta * t / (1 - t)
        score = float(lever @ z)
        # what an error of theta does to it is taken out
        tilt = np.zeros(self.ranks)
        free = np.ix_(self.free, self.free)
        tilt[self.free] = np.linalg.lstsq(slope[free].T, bend[self.free], rcond=None)[0]
        lever += weight[rank] * (tilt[rank] - (share @ tilt)[document])
        noise = lever * (z - theta[rank] * attraction)
        error, units = 1e-300, 2.0
        for code in self.units:
            mass = np.bincount(code, np.abs(noise))
            alike = max(float(mass.sum() ** 2 / max(np.sum(mass**2), 1e-300)), 2.0)
            spread = float(np.sqrt(np.sum(np.bincount(code, noise) ** 2) * alike / (alike - 1.0)))
            if spread > error:
                error, units = spread, alike
        return Fitted(score / error, units, theta)

    def _curve(self, t: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Theta, the weight of a row of each rank, each document's shares of ranks, and the slope.

        Theta makes the weighted contrasts of every rank 0 over all documents, by Newton's method; `slope` is
        what these lose by a step of log theta.
        """
        theta = np.maximum(self.rate, 1e-4) / max(self.rate[self.first], 1e-4)
        free = np.ix_(self.free, self.free)
        for _ in range(50):
            seen = self.shown * theta
            z = (self.clicks - seen * t) / (1 - t)
            mean = min(max(float(z.sum() / seen.sum()), 1e-4), 0.99)
            chance = np.clip(theta * (mean * (1 - t) + t), 1e-6, 0.95)
            weight = mean * theta * (1 - t) ** 2 / (chance * (1 - chance))
            share = seen * weight
            share /= share.sum(axis=1, keepdims=True)
            total = z @ weight
            left = (z * weight - total[:, None] * share).sum(axis=0)
            lost = seen * (t / (1 - t)) * weight
            slope = np.diag(total @ share + lost.sum(axis=0)) - share.T @ (total[:, None] * share + lost)
            step = np.zeros(self.ranks)
            step[self.free] = np.linalg.lstsq(slope[free], left[self.free], rcond=None)[0]
            theta = theta * np.exp(np.clip(step, -1.0, 1.0))
            if np.abs(step).max() < 1e-6:
                break
        return theta, weight, share, slope

    def _attraction(self, z: Floats, theta: Floats) -> tuple[Floats, Floats]:
        """For each row what everybody else's clicks say of its document: attraction, and (1 - attraction)².

        The square is that of two other people's, so that both are unbiased for every row of a document; few
        impressions draw them to their means by a factor that is the document's.
        """
        size = len(self.shown)
        sums = [np.bincount(self.visitor, one) for one in (z, theta[self.rank])]
        parts = []
        for own in sums:
            whole = np.bincount(self.visited, own, size)
            others = (whole[self.visited] - own)[self.visitor]
            squares = (np.bincount(self.visited, own**2, size)[self.visited] - own**2)[self.visitor]
            parts.append(
                (others, np.maximum(others**2 - squares, 0.0) if own is sums[1] else others**2 - squares)
            )
        (clicks, pairs), (seen, both) = parts
        once, twice = clicks / np.maximum(seen, 1e-12), pairs / np.maximum(both, 1e-12)
        mass = np.bincount(self.visited, sums[1], size)
        sure = (mass / (mass + PRIOR))[self.document]
        mean, square = float(np.mean(once)), float(np.mean(twice))
        drawn = mean + sure * (once - mean)
        return drawn, 1.0 - 2.0 * drawn + square + sure**2 * (twice - square)


def _moved(log: ClickLog, rows: Ints, seed: int) -> Ints:
    """The rows whose documents were shown at two ranks or more, to `CROWD` people or more."""
    if len(rows) > ROWS:
        order = np.random.default_rng([seed, 8]).permutation(log.n_queries)
        query = order[log.page_query.code[log.row_page[rows]]]
        rows = rows[query < log.n_queries * ROWS / len(rows)]
    if len(rows) == 0:
        return rows
    code = log.pairs.code[rows].astype(np.int64)
    size = len(log.pairs)
    enough = np.ones(size, bool)
    person = people_or_pages(log)[log.row_page[rows]].astype(np.int64)
    for other, least in ((log.position[rows].astype(np.int64), 2), (person, CROWD)):
        width = int(other.max()) + 1
        enough &= np.bincount(np.unique(code * width + other) // width, minlength=size) >= least
    return rows[enough[code]]
