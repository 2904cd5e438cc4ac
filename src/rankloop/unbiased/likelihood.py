"""Boosted trees on the likelihood of position-based clicks, with a given or a learned curve."""

import numpy as np
from sklearn.base import clone

from rankloop._arrays import Bools, Floats
from rankloop.data import RankingDataset
from rankloop.rankers import LambdaMART
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.cells import CellLikelihood
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.labels import rows_of
from rankloop.unbiased.likelihood_ranker import likelihood_ranker

__all__ = ["LEARNED", "boosted", "likelihood"]

LEARNED = "by:unbiased.likelihood"  # replaces the loss, which holds the log and is not saved


def likelihood(
    log: Log, data: RankingDataset, *, propensity: ClickBias | None = None, ranker: LambdaMART | None = None
) -> LambdaMART:
    r"""The relevance (by features) and the curve (by rank) that together explain the clicks best.

    .. math:: \max_{f, \theta} \sum_{d, k} c_{dk} \log p_{dk} + (n_{dk} - c_{dk}) \log (1 - p_{dk}), \qquad
        p_{dk} = \theta_k \, \sigma(f(x_d))

    Alternates a Newton step of boosting with steps of EM for the curve (regression-EM, Wang et al., 2018,
    without its sampling), over counts by (document, rank). A given `propensity` is kept fixed; a `TrustPBM`
    makes it :math:`\alpha_k \sigma(f) + \beta_k`. The ranker's `propensity_` is the curve. Only documents
    that were shown are trained on. `propensity.identifiability(log, data)` says whether a learned curve can
    be trusted.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=60, docs_per_query=8, n_features=5, seed=0)
    >>> log = simulate(data, logging_policy=data.X[:, 0], sessions=2000, seed=0)
    >>> ranker = likelihood(log, data, ranker=likelihood_ranker(trees=20, threads=1))
    >>> len(ranker.propensity_)
    10
    """
    seen = evidence(log, propensity, data)
    fitted, _ = boosted(seen, seen.shown, ranker, learn=propensity is None)
    return fitted


def boosted(
    seen: Evidence, kept: Bools, ranker: LambdaMART | None = None, *, learn: bool
) -> tuple[LambdaMART, CellLikelihood]:
    """A forest trained on the rows that are kept, and the likelihood that was its loss."""
    depth = int(seen.position.max())
    cells = CellLikelihood.of(seen, kept, 1.0 / np.sqrt(np.arange(1.0, depth + 1)) if learn else None)
    fitted: LambdaMART = clone(likelihood_ranker() if ranker is None else ranker)
    params = dict(fitted.params or {})
    if (
        params.get("min_data_in_leaf", 0) > cells.rows / 20
    ):  # a small log, where no leaf would be large enough
        params["min_data_in_leaf"] = max(1, cells.rows // 20)
    fitted.set_params(loss=cells, params=params)
    fitted.fit(rows_of(seen.data, kept, _rates(seen)))
    fitted.set_params(loss=LEARNED)
    fitted.propensity_ = cells.curve / cells.curve[0] if learn else seen.curve()
    return fitted, cells


def _rates(seen: Evidence) -> Floats:
    """Clicks per impression; trees use them only to leave out lists without clicks."""
    shown = seen.by_row(seen.impressions)
    return seen.by_row(seen.clicks) / np.maximum(shown, 1.0)
