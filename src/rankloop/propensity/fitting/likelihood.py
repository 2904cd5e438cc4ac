"""The likelihood of clicks under a curve and feature-based relevance, and its maximum."""

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, xlog1py, xlogy

from rankloop._arrays import Floats
from rankloop.clicks import Aggregate
from rankloop.data import RankingDataset
from rankloop.propensity.fitting.features import design

__all__ = ["JointLikelihood"]

CLICKED_TWICE = 200  # pairs of clicks on one document at one rank, needed to estimate the other variance
RIDGE = 1.0  # a standard normal prior on each weight


class JointLikelihood:
    """Impressions and clicks by document and rank, and the likelihood of weights and log theta on them."""

    def __init__(self, counts: Aggregate, data: RankingDataset, depth: int | None = None) -> None:
        most = int(counts.position.max())
        self.ranks = min(most, depth or most)
        keep = counts.position <= self.ranks
        self.rank = counts.position[keep] - 1
        self.shown = counts.impressions[keep].astype(np.float64)
        self.clicks = counts.clicks[keep].astype(np.float64)
        unclicked = np.flatnonzero(np.bincount(self.rank, self.clicks, self.ranks) == 0)
        if self.ranks < 2 or len(unclicked):
            where = f"none at rank {int(unclicked[0]) + 1}" if len(unclicked) else "one rank only"
            raise ValueError(
                f"a joint fit needs clicks at two ranks or more, got {where}; log more or set depth"
            )
        document, self.document = np.unique(counts.names.code[keep], return_inverse=True)
        row = np.empty(len(counts.names.query), np.int64)
        row[counts.names.code] = counts.rows(data)
        self.X = design(data, row[document])
        self.query = counts.names.query[document]

    def fit(self, iterations: int = 100) -> Floats:
        """Weights (intercept last), then log theta from rank 2 on, by Fisher scoring."""
        width = self.X.shape[1]
        point = np.zeros(width + self.ranks - 1)
        rate = np.bincount(self.rank, self.clicks, self.ranks) / np.bincount(
            self.rank, self.shown, self.ranks
        )
        first = float(np.clip(rate[0], 0.01, 0.9))
        point[width - 1] = np.log(first / (1 - first))
        point[width:] = np.log(np.clip(rate[1:] / rate[0], 1e-4, 0.95))
        value = self._value(point)
        for _ in range(iterations):
            slope = self.score(point).sum(axis=0) - self._prior() * point
            step = np.linalg.solve(self.information(point), slope)
            step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
            while (new := self._value(point + step)) < value and np.abs(step).max() > 1e-9:
                step /= 2
            if new < value:
                break
            point, gain, value = point + step, new - value, new
            if gain < 1e-9 * self.shown.sum():
                break
        return point

    def _prior(self) -> Floats:
        prior = np.zeros(self.X.shape[1] + self.ranks - 1)
        prior[: self.X.shape[1] - 1] = RIDGE
        return prior

    def _parts(self, point: Floats) -> tuple[Floats, Floats]:
        """Relevance of each document, and click probability of each cell."""
        width = self.X.shape[1]
        relevance = expit(self.X @ point[:width])
        seen = np.exp(np.append(0.0, point[width:]))
        return relevance, np.clip(seen[self.rank] * relevance[self.document], 1e-12, 1 - 1e-9)

    def _value(self, point: Floats) -> float:
        _, p = self._parts(point)
        likelihood = np.sum(xlogy(self.clicks, p) + xlog1py(self.shown - self.clicks, -p))
        return float(likelihood - 0.5 * np.sum(self._prior() * point**2))

    def score(self, point: Floats, by_group: csr_array | None = None) -> Floats:
        """The gradient of the likelihood for each document, or for each group of them."""
        relevance, p = self._parts(point)
        slope = self._by_rank(self.clicks - (self.shown - self.clicks) * p / (1 - p))  # in log p
        bend = 1 - relevance  # the derivative of log relevance in its score
        parts = (self.X * (slope.sum(axis=1) * bend)[:, None], slope[:, 1:])
        return np.concatenate(parts if by_group is None else [by_group @ one for one in parts], axis=1)

    def information(self, point: Floats) -> Floats:
        width = self.X.shape[1]
        relevance, p = self._parts(point)
        weight, bend = self._by_rank(self.shown * p / (1 - p)), 1 - relevance
        out = np.diag(self._prior() + 1e-9 * self.shown.sum())
        out[:width, :width] += self.X.T @ (self.X * (weight.sum(axis=1) * bend**2)[:, None])
        out[:width, width:] = self.X.T @ (weight[:, 1:] * bend[:, None])
        out[width:, :width] = out[:width, width:].T
        out[width:, width:] += np.diag(weight[:, 1:].sum(axis=0))
        return out

    def absorbed(self, point: Floats) -> tuple[float, ...]:
        """Move log theta of one rank, fit all else again: the share of the fall in likelihood that is undone.

        To second order, so that nothing is fitted again; 0 for rank 1, which is held.
        """
        information = self.information(point)
        alone = 1.0 / (np.diag(information) * np.diag(np.linalg.inv(information)))
        return (0.0, *np.clip(1.0 - alone[self.X.shape[1] :], 0.0, 1.0).tolist())

    def _by_rank(self, values: Floats) -> Floats:
        shape = (len(self.X), self.ranks)
        return np.asarray(csr_array((values, (self.document, self.rank)), shape=shape).toarray())

    def variances(self, point: Floats) -> tuple[float, float | None]:
        """Of relevance among the documents at one rank, relative to its mean: by features, and the rest.

        The rest is the variance of clicks beyond chance; None if too few documents were clicked twice.
        """
        relevance, p = self._parts(point)
        mine = relevance[self.document]
        shown = np.bincount(self.rank, self.shown, self.ranks)
        mean = np.bincount(self.rank, self.shown * mine, self.ranks) / np.maximum(shown, 1e-300)
        explained = float(np.sum(self.shown * (mine / mean[self.rank] - 1) ** 2) / self.shown.sum())
        twice = float(np.sum(self.shown * (self.shown - 1) * p**2))
        if twice < CLICKED_TWICE:
            return explained, None
        beyond = np.sum((self.clicks - self.shown * p) ** 2 - self.shown * p * (1 - p))
        return explained, max(float(beyond) / twice, 0.0)
