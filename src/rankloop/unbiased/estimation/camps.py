"""Do the people behind the pages of a log want the same, or do some want the opposite of the others?"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from rankloop._arrays import Bools, Floats, Ints
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset

__all__ = ["Camps", "camps"]

LEAST = 0.1  # of the pages: a smaller camp is not looked for
PAGES = 50_000  # that effects are fitted to at most
ALONE, STEPS = 8, 60  # of Newton for one kind of people, of EM for two
PRIOR = 10.0  # impressions of the rank that a (query, document, rank) borrows
RIDGE = 1.0  # the precision of effects
CLEARLY = 3.0  # standard errors by which the preference of each camp must differ from 0


class Camps(NamedTuple):
    """The pages of two camps that prefer opposite orders, the larger first; `share` is of the smaller one."""

    share: float
    pages: tuple[Bools, Bools]


def camps(log: ClickLog, data: RankingDataset, direction: Floats, seed: int = 0) -> Camps | None:
    r"""Two camps of pages whose clicks go with `direction` (a score by row) and against it, if there are.

    A mixture of two kinds of people, each with effects of the ranks and one weight of the direction,

    .. math:: P(c = 1) = \sigma(o + g_{tk} + w_t \, z_d)

    is fitted by EM, page by page; :math:`o` is the click rate of the document at that rank on the *other*
    pages, so that what everybody likes tells no camp from another. None, unless the mixture is more likely
    than one kind of people by BIC, both camps have a tenth of the pages, and their weights have opposite
    signs, each by three standard errors.
    """
    some = log
    if log.n_pages > PAGES:
        chosen = np.random.default_rng(seed).choice(log.n_pages, PAGES, replace=False)
        some = log.select(np.sort(chosen))
    seen = _Seen.of(some, data, direction, log.n_positions)
    alone = np.zeros(seen.depth + 1)
    for _ in range(ALONE):
        alone, _ = seen.newton(alone, np.ones(len(seen.click)))
    against = np.bincount(seen.page, (seen.click - seen.chance(alone)) * seen.z, some.n_pages)
    belongs = np.where(against > 0, 0.9, 0.1)
    effects, errors, share, total = [alone, alone], [np.inf, np.inf], 0.5, -np.inf
    for _ in range(STEPS):
        share = float(np.clip(belongs.mean(), 1e-3, 1 - 1e-3))
        found = [
            seen.newton(effect, weight[seen.page])
            for effect, weight in zip(effects, (belongs, 1 - belongs), strict=True)
        ]
        effects, errors = [each[0] for each in found], [each[1] for each in found]
        belongs, now = seen.members(effects, share)
        if abs(now - total) < 1e-3:
            break
        total = now
    weights = np.array([effect[-1] for effect in effects])
    gain = total - float(seen.by_page(alone).sum())
    likelier = gain > 0.5 * (seen.depth + 2) * np.log(some.n_pages)
    opposite = weights[0] * weights[1] < 0 and bool(np.all(np.abs(weights) > CLEARLY * np.array(errors)))
    if not (likelier and opposite and LEAST <= share <= 1 - LEAST):
        return None
    if some is not log:
        belongs, _ = _Seen.of(log, data, direction, log.n_positions).members(effects, share)
    first = np.asarray(belongs > 0.5)
    return Camps(min(share, 1 - share), (first, ~first) if share > 0.5 else (~first, first))


class _Seen(NamedTuple):
    """Impressions; effects are one of each rank and, last, the weight of the direction."""

    page: Ints
    rank: Ints
    click: Floats
    z: Floats
    offset: Floats
    depth: int

    @classmethod
    def of(cls, log: ClickLog, data: RankingDataset, direction: Floats, depth: int) -> "_Seen":
        row, rank = log.rows(data), log.position.astype(np.int64) - 1
        click = log.click.astype(np.float64)
        scaled = (direction - direction.mean()) / max(float(direction.std()), 1e-12)
        return cls(log.row_page, rank, click, scaled[row], _by_others(row, rank, click, depth), depth)

    def scores(self, effect: Floats) -> Floats:
        return np.asarray(self.offset + effect[self.rank] + effect[-1] * self.z, np.float64)

    def chance(self, effect: Floats) -> Floats:
        return np.asarray(expit(self.scores(effect)), np.float64)

    def by_page(self, effect: Floats) -> Floats:
        """The log-likelihood of the clicks on each page."""
        scores = self.scores(effect)
        return np.asarray(np.bincount(self.page, self.click * scores - np.logaddexp(0.0, scores)), np.float64)

    def members(self, effects: Sequence[Floats], share: float) -> tuple[Floats, float]:
        """The probability that a page is of the first camp, and the log-likelihood of all pages."""
        each = np.stack(
            [np.log(part) + self.by_page(one) for one, part in zip(effects, (share, 1 - share), strict=True)]
        )
        sums = logsumexp(each, axis=0)
        return np.asarray(np.exp(each[0] - sums), np.float64), float(sums.sum())

    def newton(self, effect: Floats, weight: Floats) -> tuple[Floats, float]:
        """One step towards the most likely effects, and the standard error of the weight."""
        chance = self.chance(effect)
        missing, spread = weight * (self.click - chance), weight * chance * (1 - chance)
        slope = np.append(np.bincount(self.rank, missing, self.depth), missing @ self.z) - RIDGE * effect
        information = np.diag(np.append(np.bincount(self.rank, spread, self.depth), spread @ self.z**2))
        information[:-1, -1] = information[-1, :-1] = np.bincount(self.rank, spread * self.z, self.depth)
        inverse = np.linalg.inv(information + RIDGE * np.eye(self.depth + 1))
        return np.asarray(effect + np.clip(inverse @ slope, -1.0, 1.0)), float(np.sqrt(inverse[-1, -1]))


def _by_others(row: Ints, rank: Ints, click: Floats, depth: int) -> Floats:
    """The log-odds of a click on the document at this rank, by the other pages and the rate of the rank."""
    shown = np.bincount(rank, minlength=depth)
    rate = (np.bincount(rank, click, depth) + 0.5) / (shown + 1.0)
    _, cell = np.unique(row * depth + rank, return_inverse=True)
    n, c = np.bincount(cell)[cell] - 1.0, np.bincount(cell, click)[cell] - click
    chance = (c + PRIOR * rate[rank]) / (n + PRIOR)
    return np.asarray(np.log(chance) - np.log1p(-chance), np.float64)
