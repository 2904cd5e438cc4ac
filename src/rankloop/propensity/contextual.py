"""Propensities that depend on the context of a page and on the rank."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.sparse import csr_array

from rankloop._arrays import Floats, Ints
from rankloop.clicks import ClickLog
from rankloop.propensity.by_layout import one_layout
from rankloop.propensity.fitting.bootstrap import DRAWS, grouped, weights_of, with_draws
from rankloop.propensity.fitting.people import warn_if_few
from rankloop.propensity.propensity import Propensity

__all__ = ["ContextualPropensity", "contextual"]

RIDGE = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class ContextualPropensity:
    """A curve for every context: log theta_k(x) is linear in the features x of a page."""

    weights: Floats  # ranks x features, 0 at rank 1
    intercept: Floats  # one per rank
    mean: Floats
    scale: Floats
    resamples: Floats  # resamples x ranks x (features + 1), intercept last
    groups: int
    pages: int
    layout: str | None

    def __repr__(self) -> str:
        ranks, features = self.weights.shape
        return f"ContextualPropensity({ranks} ranks, {features} features, {self.pages:,} pages)"

    def at(self, features: ArrayLike) -> Floats:
        """One curve per row of features."""
        x = self._scaled(np.atleast_2d(np.asarray(features, np.float64)))
        return np.asarray(np.exp(x @ self.weights.T + self.intercept))

    def curve(self, features: ArrayLike) -> Propensity:
        """The curve of one context, with its interval."""
        x = self._scaled(np.asarray(features, np.float64).reshape(1, -1))[0]
        return with_draws(
            self.weights @ x + self.intercept,
            self.resamples @ np.append(x, 1.0),
            units=float(self.groups),
            method="contextual",
            layout=self.layout,
            pages=self.pages,
        )

    def _scaled(self, x: Floats) -> Floats:
        if x.shape[1] != len(self.mean):
            raise ValueError(f"the contexts have {len(self.mean)} features, got {x.shape[1]}")
        return (x - self.mean) / self.scale


def contextual(
    log: ClickLog,
    features: ArrayLike,
    *,
    depth: int | None = None,
    iterations: int = 500,
    layout: str | None = None,
    resamples: int = DRAWS,
    seed: int = 0,
) -> ContextualPropensity:
    r"""Contextual position bias (Fang et al., 2019), harvested: `features` has one row per page of the log.

    .. math:: P(k \mid q, d, x, \mathrm{click}) = \frac{n_k \theta_k(x)}{\sum_j n_j \theta_j(x)}, \qquad
              \log \theta_k(x) = a_k + b_k^\top x, \quad \theta_1(x) = 1

    Given a click on a document in a context, the relevance of the document cancels in the probability of its
    rank. Documents are compared within one context only, so features should take few distinct values (phone
    or not, query type, a length rounded to tenths); relevance may differ between contexts.

    >>> from rankloop.clicks import PBM, simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> logs = [simulate(data, logging_policy=data.y, sessions=30_000, k=3, randomize="shuffle", seed=i,
    ...                  user=PBM(examination=seen, attraction=[.1, .2, .4, .8, 1]))
    ...         for i, seen in enumerate([[1, 0.3, 0.1], [1, 0.8, 0.6]])]
    >>> found = contextual(ClickLog.concat(logs), np.repeat([[0.0], [1.0]], 30_000, axis=0))
    >>> found.at([[0], [1]]).round(1)
    array([[1. , 0.3, 0.1],
           [1. , 0.8, 0.6]])
    """
    X = np.asarray(features, np.float64)
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2 or len(X) != log.n_pages or not np.all(np.isfinite(X)):
        raise ValueError(f"features has one finite row per page ({log.n_pages}), got shape {X.shape}")
    if layout is not None and log.page_layout is not None:
        X = X[log.page_layout.values.astype(np.str_) == layout]
    log, layout = one_layout(log, layout)
    warn_if_few(log, "contextual")
    ranks = min(log.n_positions, depth or log.n_positions)
    context, page_context = np.unique(X, axis=0, return_inverse=True)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    strata = _Strata(log, page_context.reshape(-1), (context - mean) / scale, ranks, seed)
    point = strata.fit(iterations)
    width = strata.width
    weights = weights_of(resamples, strata.groups, seed) - 1.0
    moved = np.linalg.solve(strata.information(point), (weights @ strata.score(point)).T).T
    drawn = np.zeros((resamples, ranks, width))
    drawn[:, 1:] = (point + moved).reshape(resamples, ranks - 1, width)
    found = np.zeros((ranks, width))
    found[1:] = point.reshape(ranks - 1, width)
    return ContextualPropensity(
        found[:, :-1], found[:, -1], mean, scale, drawn, strata.groups, log.n_pages, layout
    )


class _Strata:
    """(Document, context) with clicks: impressions and clicks at each rank."""

    def __init__(self, log: ClickLog, context: Ints, X: Floats, ranks: int, seed: int) -> None:
        keep = log.position <= ranks
        stratum = log.pairs.code.astype(np.int64) * len(X) + np.repeat(context, log.lengths)
        names, place = np.unique(stratum[keep], return_inverse=True)
        at = (place, log.position[keep] - 1)
        shape = (len(names), ranks)
        shown = csr_array((np.ones(len(place)), at), shape=shape).toarray()
        clicks = csr_array((log.click[keep].astype(np.float64), at), shape=shape).toarray()
        useful = (np.sum(shown > 0, axis=1) > 1) & (clicks.sum(axis=1) > 0)
        by_rank = clicks[useful].sum(axis=0)
        if ranks < 2 or np.any(by_rank == 0):
            lost = 2 if ranks < 2 else int(np.argmin(by_rank)) + 1
            raise ValueError(
                f"no document was clicked at rank {lost} and shown at another rank in the same context; use "
                "fewer distinct contexts (round or bin the features), log more, or set depth"
            )
        self.clicks = clicks[useful]
        self.total = self.clicks.sum(axis=1)
        self.shown = np.log(
            np.maximum(shown[useful], 1e-300)
        )  # a rank that was never shown has probability 0
        self.context = names[useful] % len(X)
        self.X = np.column_stack([X, np.ones(len(X))])
        self.width = self.X.shape[1]
        self.ranks = ranks
        self.group, self.groups = grouped(log.pairs.query[names[useful] // len(X)], seed)
        self.prior = np.tile(np.append(np.full(self.width - 1, RIDGE), 1e-6), ranks - 1)

    def fit(self, iterations: int) -> Floats:
        done = minimize(
            self._objective,
            np.zeros((self.ranks - 1) * self.width),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": iterations, "ftol": 1e-14, "gtol": 1e-8},
        )
        return np.asarray(done.x)

    def _objective(self, point: Floats) -> tuple[float, Floats]:
        logp = self._log_share(point)
        value = -np.sum(self.clicks * logp) + 0.5 * np.sum(self.prior * point**2)
        slope = self._by_context(self.clicks - self.total[:, None] * np.exp(logp))
        n = self.total.sum()
        return float(value / n), ((slope.T @ self.X)[1:].reshape(-1) * -1.0 + self.prior * point) / n

    def _log_share(self, point: Floats) -> Floats:
        seen = np.zeros((len(self.X), self.ranks))
        seen[:, 1:] = self.X @ point.reshape(self.ranks - 1, self.width).T
        odds = self.shown + seen[self.context]
        odds -= odds.max(axis=1, keepdims=True)
        return np.asarray(odds - np.log(np.exp(odds).sum(axis=1, keepdims=True)))

    def _by_context(self, values: Floats) -> Floats:
        return np.stack([np.bincount(self.context, one, len(self.X)) for one in values.T], axis=1)

    def score(self, point: Floats) -> Floats:
        """The gradient of the likelihood for each group of queries."""
        rest = (self.clicks - self.total[:, None] * np.exp(self._log_share(point)))[:, 1:]
        out = np.zeros((self.groups, self.ranks - 1, self.width))
        for k in range(self.ranks - 1):
            for f in range(self.width):
                out[:, k, f] = np.bincount(self.group, rest[:, k] * self.X[self.context, f], self.groups)
        return out.reshape(self.groups, -1)

    def information(self, point: Floats) -> Floats:
        share = np.exp(self._log_share(point))[:, 1:]
        out = np.zeros((self.ranks - 1, self.width, self.ranks - 1, self.width))
        for k in range(self.ranks - 1):
            for j in range(self.ranks - 1):
                weight = self.total * ((share[:, k] if k == j else 0.0) - share[:, k] * share[:, j])
                by_context = np.bincount(self.context, weight, len(self.X))
                out[k, :, j, :] = (self.X * by_context[:, None]).T @ self.X
        flat = out.reshape(len(point), len(point))
        return np.asarray(flat + np.diag(self.prior))
