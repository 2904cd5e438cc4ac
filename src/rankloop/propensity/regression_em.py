"""Propensities and feature-based relevance, estimated together."""

import numpy as np
from scipy.sparse import csr_array

from rankloop.clicks import Aggregate, ClickLog, aggregate
from rankloop.data import RankingDataset
from rankloop.propensity.by_layout import one_layout
from rankloop.propensity.fitting.bootstrap import DRAWS, grouped, weights_of, with_draws
from rankloop.propensity.fitting.joint import report_first
from rankloop.propensity.fitting.likelihood import JointLikelihood
from rankloop.propensity.fitting.people import warn_if_few
from rankloop.propensity.propensity import Propensity
from rankloop.propensity.trust_bias import with_trust

__all__ = ["regression_em"]


def regression_em(
    log: ClickLog | Aggregate,
    data: RankingDataset,
    *,
    depth: int | None = None,
    iterations: int = 100,
    monotone: bool = False,
    layout: str | None = None,
    resamples: int = DRAWS,
    seed: int = 0,
) -> Propensity:
    r"""Regression-EM (Wang et al., 2018): the position-based model with relevance explained by features.

    .. math:: P(c = 1 \mid x, k) = \theta_k \, \sigma(f(x))

    f is linear in normal scores of the features. The likelihood is maximised by Fisher scoring instead of EM,
    and the intervals are one scoring step under reweighted queries. No intervention is needed, but the curve
    is only as good as the overlap of features across ranks: the report of `identifiability(log, data)` comes
    with it, and a warning where the logging policy confounds the fit.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=500, docs_per_query=5, n_features=5, seed=0)
    >>> log = simulate(data, logging_policy=np.zeros(data.n_documents), sessions=20_000, k=4, seed=0)
    >>> regression_em(log, data).values.round(1)[:3]
    array([1. , 0.5, 0.3])
    """
    if isinstance(log, ClickLog):
        log, layout = one_layout(log, layout)
    report = report_first(log, data, "regression_em")
    warn_if_few(log, "regression_em")
    counts = aggregate(log) if isinstance(log, ClickLog) else log
    cells = JointLikelihood(counts, data, depth)
    point = cells.fit(iterations)
    group, groups = grouped(cells.query, seed)
    documents = np.arange(len(group))
    by_group = csr_array((np.ones(len(group)), (group, documents)), shape=(groups, len(group)))
    gradient = (weights_of(resamples, groups, seed) - 1.0) @ cells.score(point, by_group)
    moved = np.linalg.solve(cells.information(point), gradient.T).T[:, -(cells.ranks - 1) :]
    curve = np.append(0.0, point[-(cells.ranks - 1) :])
    found = with_draws(
        curve,
        curve + np.pad(moved, ((0, 0), (1, 0))),
        units=float(groups),
        method="regression_em",
        layout=layout,
        pages=int(cells.shown[cells.rank == 0].sum()),
        identifiability=report,
    )
    found = found.monotone() if monotone else found
    return with_trust(log, found, seed, doubts=False) if isinstance(log, ClickLog) else found
