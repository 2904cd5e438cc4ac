"""Propensities from pages on which two ranks were exchanged by the toss of a coin."""

import re

import numpy as np

from rankloop._names import one_of
from rankloop.clicks import ClickLog
from rankloop.propensity.by_layout import one_layout
from rankloop.propensity.fitting.bootstrap import DRAWS
from rankloop.propensity.fitting.exchanges import Exchange, curve_of_exchanges
from rankloop.propensity.propensity import Propensity

__all__ = ["SCHEMES", "swap_intervention"]

SCHEMES = ("all", "pivot", "chain")


def swap_intervention(
    log: ClickLog,
    *,
    scheme: str = "all",
    depth: int | None = None,
    monotone: bool = False,
    layout: str | None = None,
    resamples: int = DRAWS,
    seed: int = 0,
) -> Propensity:
    r"""Swap interventions (Joachims et al., 2017): the same two documents, seen at both ranks.

    .. math:: \theta_b / \theta_a = \frac{c_{b b} / n + c_{a b} / n'}{c_{a a} / n + c_{b a} / n'}

    with n pages left as they were, n' exchanged, and c_ab clicks at b on what belongs at a. Uses the pages
    whose `intervention` is "swap a-b" (also those the coin left alone), and `original_position`. `scheme`
    keeps the swaps with rank 1 ("pivot"), those of neighbours ("chain"), or weighs "all" by what they tell.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.y, sessions=40_000, k=4, randomize="swap", seed=0)
    >>> swap_intervention(log).values.round(1)
    array([1. , 0.5, 0.3, 0.3])
    """
    one_of("scheme", scheme, SCHEMES)
    log, layout = one_layout(log, layout)
    if log.page_intervention is None or log.original_position is None:
        raise ValueError(
            "swaps are read from the columns intervention and original_position; log both, "
            "or use harvest(log), which needs neither"
        )
    ranks = min(log.n_positions, depth or log.n_positions)
    swaps: list[Exchange] = []
    for number, name in enumerate(log.page_intervention.table):
        told = re.fullmatch(r"swap (\d+)-(\d+)", str(name))
        if told is None:
            continue
        low, high = sorted((int(told[1]), int(told[2])))
        if high <= ranks and _kept(low, high, scheme):
            swaps.append(Exchange(low, high, np.flatnonzero(log.page_intervention.code == number)))
    return curve_of_exchanges(
        log,
        swaps,
        ranks,
        "swap_intervention",
        layout=layout,
        monotone=monotone,
        resamples=resamples,
        seed=seed,
    )


def _kept(low: int, high: int, scheme: str) -> bool:
    return scheme == "all" or (low == 1 if scheme == "pivot" else high == low + 1)
