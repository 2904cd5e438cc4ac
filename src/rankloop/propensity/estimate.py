"""The best propensity curve that a log supports."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rankloop._names import one_of
from rankloop.clicks import Aggregate, ClickLog, FairPairs, Shuffle, Swap, aggregate, intervention
from rankloop.data import RankingDataset
from rankloop.propensity.dual_learning import dual_learning
from rankloop.propensity.fair_pairs import fair_pairs
from rankloop.propensity.harvest import harvest
from rankloop.propensity.pair_debias import pair_debias
from rankloop.propensity.propensity import Propensity
from rankloop.propensity.randomized import randomized
from rankloop.propensity.regression_em import regression_em
from rankloop.propensity.swap_intervention import swap_intervention

__all__ = ["ESTIMATORS", "EXPERIMENTS", "JOINT", "estimate", "experiment_of"]

ESTIMATORS: dict[str, Callable[..., Propensity]] = {
    one.__name__: one
    for one in (randomized, swap_intervention, fair_pairs, harvest, regression_em, dual_learning, pair_debias)
}
JOINT = ("regression_em", "dual_learning", "pair_debias")
EXPERIMENTS = {Shuffle: "randomized", Swap: "swap_intervention", FairPairs: "fair_pairs"}  # best first


def estimate(
    log: ClickLog | Aggregate, data: RankingDataset | None = None, *, method: str = "auto", **options: Any
) -> Propensity:
    """A curve by the named estimator, or by the first that the log supports.

    "auto" uses shuffled pages, else swaps, else FairPairs, else documents that were shown at several ranks;
    with a data set and none of these, `regression_em`, which warns where it cannot be trusted.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.y, sessions=5000, k=3, randomize="swap", seed=0)
    >>> estimate(log).method
    'swap_intervention'
    """
    one_of("method", method, ("auto", *ESTIMATORS))
    chosen = _supported(log, data) if method == "auto" else method
    if chosen in JOINT:
        if data is None:
            raise ValueError(f"{chosen} explains relevance by features; pass the data set of the documents")
        return ESTIMATORS[chosen](log, data, **options)
    return ESTIMATORS[chosen](log, **options)


def experiment_of(names: Iterable[str]) -> str | None:
    """The best estimator for the experiments of a log, by their names; None where it has none."""
    kinds = {type(intervention(name)) for name in names}
    return next((method for kind, method in EXPERIMENTS.items() if kind in kinds), None)


def _supported(log: ClickLog | Aggregate, data: RankingDataset | None) -> str:
    if isinstance(log, ClickLog) and log.page_intervention is not None:
        names = log.page_intervention.table[np.unique(log.page_intervention.code)]
        if (experiment := experiment_of(names)) is not None:
            return experiment
    if data is not None:
        counts = aggregate(log) if isinstance(log, ClickLog) else log
        if len(counts) == len(counts.names.query):  # every document was shown at one rank only
            return "regression_em"
    return "harvest"
