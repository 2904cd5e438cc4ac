"""The predictions of a relevance model in place of clicks."""

from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from rankloop._arrays import Floats
from rankloop._options import passes_to
from rankloop.data import RankingDataset
from rankloop.rankers import LambdaMART
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.labels import labelled
from rankloop.unbiased.likelihood import boosted

__all__ = ["ModelOptions", "direct_method", "relevance_of"]


class ModelOptions(TypedDict, total=False):
    """Where relevance comes from; the defaults are those of `relevance_of`."""

    relevance: ArrayLike | None
    ranker: LambdaMART | None
    folds: int
    seed: int


def relevance_of(
    seen: Evidence,
    *,
    relevance: ArrayLike | None = None,
    ranker: LambdaMART | None = None,
    folds: int = 2,
    seed: int = 0,
) -> Floats:
    """The given relevance, checked, or that of a model."""
    return modelled(seen, ranker, folds, seed) if relevance is None else checked(relevance, seen.data)


@passes_to(relevance_of)
def direct_method(
    log: Log,
    propensity: ClickBias,
    data: RankingDataset,
    *,
    unseen: str = "keep",
    **model: Unpack[ModelOptions],
) -> RankingDataset:
    r"""Labels are the predictions of a model: :math:`y_d = \hat\gamma(x_d)`.

    Little variance, and as much bias as the model has. Without `relevance` (one number in [0, 1] per row) the
    model is boosted trees on the likelihood of the clicks, cross-fitted over folds of queries.

    >>> from rankloop.clicks import ClickLog
    >>> data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    >>> log = ClickLog([1, 1], ["q"] * 2, ["x", "y"], [1, 2], [1, 1])
    >>> direct_method(log, [1.0, 0.5], data, relevance=[0.2, 0.7]).y
    array([0.2, 0.7], dtype=float32)
    """
    seen = evidence(log, propensity, data)
    return labelled(seen, relevance_of(seen, **model), unseen)


def checked(relevance: ArrayLike, data: RankingDataset) -> Floats:
    found = np.asarray(relevance, np.float64)
    if found.shape != (data.n_documents,) or not np.all((found >= 0) & (found <= 1)):
        raise ValueError(
            f"relevance is one probability per row of the data set ({data.n_documents}), "
            f"got shape {found.shape} between {found.min(initial=0):g} and {found.max(initial=0):g}"
        )
    return found


def modelled(seen: Evidence, ranker: LambdaMART | None, folds: int, seed: int) -> Floats:
    """Relevance by boosted trees, each query predicted by trees that were not trained on it."""
    data = seen.data
    if not 2 <= folds <= data.n_queries:
        raise ValueError(f"folds lies between 2 and the number of queries ({data.n_queries}), got {folds}")
    fold = np.random.default_rng(seed).permutation(np.arange(data.n_queries) % folds)[data.row_query]
    found = np.empty(data.n_documents)
    for one in range(folds):
        predicted = fold == one
        fitted, cells = boosted(seen, seen.shown & ~predicted, ranker, learn=False)
        found[predicted] = expit(fitted.predict(data.X[predicted]) + cells.level)
    return found
