"""Boosted trees on the likelihood of position-based clicks, with a given curve or a learned one."""

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankloop.data import RankingDataset
from rankloop.rankers import LambdaMART
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.cells import CellLikelihood
from rankloop.unbiased.estimation.evidence import Evidence, Floats, Log, evidence
from rankloop.unbiased.estimation.labels import rows_of

__all__ = ["LEARNED", "boosted", "likelihood", "likelihood_ranker"]

LEARNED = "by:unbiased.likelihood"  # in place of the loss, which held the log: no file keeps that


def likelihood_ranker(*, trees: int = 150, leaves: int = 8, threads: int | None = None) -> LambdaMART:
    """Few leaves with a line in each, on parts of the data: clicks are noisy, relevance is mostly smooth."""
    lines = {"linear_tree": True, "linear_lambda": 3.0, "min_data_in_leaf": 100}
    parts = {"bagging_fraction": 0.7, "bagging_freq": 1, "feature_fraction": 0.7}
    return LambdaMART(
        trees=trees,
        leaves=leaves,
        min_sum_hessian=1.0,
        l2=20.0,
        params=lines | parts,
        threads=threads,
        patience=None,
    )


def likelihood(
    log: Log,
    data: RankingDataset,
    *,
    propensity: ClickBias | None = None,
    ranker: LambdaMART | None = None,
) -> LambdaMART:
    r"""Relevance by features and the curve by rank, whichever explain the clicks best together.

    .. math:: \max_{f, \theta} \sum_{d, k} c_{dk} \log p_{dk} + (n_{dk} - c_{dk}) \log (1 - p_{dk}), \qquad
        p_{dk} = \theta_k \, \sigma(f(x_d))

    A Newton step of boosting and steps of EM for the curve in turn (regression-EM, Wang et al., 2018,
    without its sampling), over counts by (document, rank). A given `propensity` is held instead; a
    `TrustPBM` makes it :math:`\alpha_k \sigma(f) + \beta_k`. The ranker's `propensity_` is the curve. Only
    documents that were shown teach. `propensity.identifiability(log, data)` says whether a learned curve can
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
    seen: Evidence, kept: NDArray[np.bool_], ranker: LambdaMART | None = None, *, learn: bool
) -> tuple[LambdaMART, CellLikelihood]:
    """The forest of the documents that are kept, and the likelihood it descended."""
    depth = int(seen.position.max())
    cells = CellLikelihood.of(seen, kept, 1.0 / np.sqrt(np.arange(1.0, depth + 1)) if learn else None)
    fitted: LambdaMART = clone(likelihood_ranker() if ranker is None else ranker)
    params = dict(fitted.params or {})
    if params.get("min_data_in_leaf", 0) > cells.rows / 20:  # a small log: no leaf would be large enough
        params["min_data_in_leaf"] = max(1, cells.rows // 20)
    fitted.set_params(loss=cells, params=params)
    fitted.fit(rows_of(seen.data, kept, _rates(seen)))
    fitted.set_params(loss=LEARNED)
    fitted.propensity_ = cells.curve / cells.curve[0] if learn else seen.curve()
    return fitted, cells


def _rates(seen: Evidence) -> Floats:
    """Clicks per showing: only to tell lists with something to learn from."""
    shown = seen.by_row(seen.impressions)
    return seen.by_row(seen.clicks) / np.maximum(shown, 1.0)
