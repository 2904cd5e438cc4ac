"""A simulated world: documents and what they are worth, loggers, people who click, and a test set."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from rankloop._arrays import Floats, Ints
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.simulate import simulate
from rankloop.clicks.simulation.people import GRADES, GRIDS, people
from rankloop.clicks.simulation.utility import utility
from rankloop.data import RankingDataset

__all__ = ["Drawn", "World"]

SHARES = (0.5, 0.25, 0.13, 0.08, 0.04)  # of the grades 0 to 4
TRAFFIC = 0.7  # the n-th query has a share of the pages in proportion to n ** -TRAFFIC
TEST = 500  # queries


class Drawn(NamedTuple):
    """What a world gives: `train` has the true labels, which a learner from clicks must not see.

    `user` is the most frequent reader, by whose curve an oracle would correct the clicks.
    """

    train: RankingDataset
    test: RankingDataset
    log: ClickLog
    user: ClickModel


@dataclass(frozen=True)
class World:
    """A recipe of users, loggers, features and labels, for logs whose truth is known; `draw` makes one.

    `utility` is linear, products, trees or network, or "labels" for a data set with judgments that is given
    to `draw`; `people` is one of 1/k, baidu, trust, cascade, dbn, saturation, mixture, adversarial,
    grid and carousel (whose logs have the row and column of each result).
    `loggers` are correlations with the true utility, from 0 (useless) to 1; several share the pages. With a
    `temperature` pages are Plackett-Luce draws, and `randomize` is an experiment, as in `simulate`.

    >>> drawn = World(queries=40, sessions=500, seed=3).draw()
    >>> drawn.log.n_pages, drawn.train.n_queries, drawn.train.n_features
    (500, 40, 20)
    """

    utility: str = "network"
    people: str = "1/k"
    loggers: tuple[float, ...] = (0.5,)
    temperature: float | None = None
    randomize: str | None = None
    sessions: int = 20_000
    queries: int = 1000
    documents: int = 20
    features: int = 20
    noise: float = 0.35
    k: int = 10
    seed: int = 0

    def draw(self, judged: tuple[RankingDataset, RankingDataset] | None = None) -> Drawn:
        """The documents, the log and a test set; `judged` is a training and a test set with labels."""
        if (self.utility == "labels") != (judged is not None):
            raise ValueError(
                f"the utility is {self.utility!r}; give judged=(train, test) with utility='labels', "
                "and only then"
            )
        if not self.loggers or not all(0 <= one <= 1 for one in self.loggers):
            raise ValueError(f"loggers are correlations between 0 and 1, got {self.loggers}")
        rng = np.random.default_rng(self.seed)
        if judged is None:
            train, test, worth = self._made(rng)
        else:
            train, test = judged
            worth = train.y + rng.normal(scale=max(self.noise, 0.05), size=train.n_documents)
        traffic = rng.permutation(np.arange(1.0, train.n_queries + 1)) ** -TRAFFIC
        shown = train.replace(query_weight=traffic)
        readers = people(self.people, shown)
        logs = []
        for at, strength in enumerate(self.loggers):
            policy = _policy(train, worth, strength, rng)
            for turn, reader in enumerate(readers):
                share = reader.share / len(self.loggers)
                logs.append(
                    simulate(
                        reader.labels,
                        logging_policy=policy,
                        user=reader.model,
                        sessions=max(1, round(share * self.sessions)),
                        k=self.k,
                        randomize=self.randomize,
                        temperature=self.temperature,
                        columns=len(GRIDS[self.people][1]) if self.people in GRIDS else None,
                        ranker=f"logger {at + 1}",
                        seed=(self.seed * 101 + at) * 11 + turn,
                    )
                )
        return Drawn(train, test, _renumbered(logs), readers[0].model)

    def _made(self, rng: Generator) -> tuple[RankingDataset, RankingDataset, Floats]:
        worth_of = utility(self.utility, self.features, rng)
        lengths = [_lengths(n, self.documents, rng) for n in (self.queries, TEST)]
        rows = [rng.normal(size=(int(one.sum()), self.features)).astype(np.float32) for one in lengths]
        worth = [worth_of(X) for X in rows]
        spread = max(float(worth[0].std()), 1e-12)
        noisy = [one / spread + self.noise * rng.normal(size=len(one)) for one in worth]
        cuts = np.quantile(noisy[0], np.cumsum(SHARES)[:-1])
        grades = [np.searchsorted(cuts, one).astype(np.float32) for one in noisy]
        assert len(cuts) == GRADES - 1
        train, test = (
            RankingDataset.from_groups(X, y, n) for X, y, n in zip(rows, grades, lengths, strict=True)
        )
        return train, test, worth[0] / spread


def _lengths(queries: int, documents: int, rng: Generator) -> Ints:
    """Ragged lists of two or more documents."""
    return np.maximum(2, np.round(rng.gamma(4.0, documents / 4.0, queries))).astype(np.int64)


def _policy(train: RankingDataset, worth: Floats, strength: float, rng: Generator) -> Floats:
    """Scores that correlate with utility as `strength` says, and else follow a direction of the features."""
    X = np.nan_to_num(train.X.astype(np.float64))
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    other, right = X @ rng.normal(size=X.shape[1]), worth - worth.mean()
    other = other - right * (other @ right) / max(float(right @ right), 1e-12)
    if other.std() < 1e-6 * np.sqrt(X.shape[1]):  # one feature that is the utility: no other direction
        other = rng.normal(size=len(right))
    best, rest = right / max(float(right.std()), 1e-12), other / other.std()
    return np.asarray(strength * best + np.sqrt(1 - strength**2) * rest)


def _renumbered(logs: list[ClickLog]) -> ClickLog:
    """One log of all pages; each part numbers its sessions from 0, so they are numbered again."""
    joined = ClickLog.concat(logs)
    joined.sessions[:] = np.arange(joined.n_pages)
    return joined
