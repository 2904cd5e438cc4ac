"""Do people trust high ranks? A test on documents that were shown at several ranks."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from rankloop._arrays import Bools, Floats
from rankloop._jit import kernel
from rankloop.clicks import ClickLog
from rankloop.clicks.fitting.moved import Moved, compared, over_expected, people_or_pages, two_halves
from rankloop.propensity.by_layout import one_layout
from rankloop.propensity.trust_warning import TrustWarning

__all__ = ["TrustBias", "trust_bias", "warn_of_trust"]

LEAST = 5  # clicks at each of two ranks, weighted, in each half of the pages


@dataclass(frozen=True)
class TrustBias:
    """How much more attractive clicked documents are at the lower of two ranks: a difference of logarithms.

    `found` says that it is above 0 with this confidence: people click on high ranks what they would not click
    elsewhere, and no curve by rank describes that.
    """

    difference: float
    low: float
    high: float
    p_value: float
    units: float
    confidence: float

    @property
    def found(self) -> bool:
        return self.low > 0


def trust_bias(
    log: ClickLog, *, confidence: float = 0.95, layout: str | None = None, seed: int = 0
) -> TrustBias:
    r"""Test the position-based model against trust in high ranks.

    If clicks are :math:`\theta_k \gamma_d`, a document loses the same share of its clicks from rank i to rank
    j whether it is attractive or not. Trust gives clicks at high ranks to unattractive documents, which lose
    more. Half of the people (or pages) say how attractive each document is; on the pages of the other half
    the mean attraction of what was clicked is compared between every two ranks that showed the same
    documents, each weighted as by `harvest`; then the halves change places. The standard error is
    clustered by query and by person, whichever is wider.
    Pages that were part of an experiment are used where there are any.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> pages = {"logging_policy": data.y, "sessions": 40_000, "k": 4, "randomize": "shuffle", "seed": 0}
    >>> [trust_bias(simulate(data, user=user, **pages)).found for user in ("pbm", "trust")]
    [False, True]
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, as in 0.95, got {confidence}")
    log, _ = one_layout(log, layout)
    found = _tested(log, confidence, seed)
    if found is None:
        raise ValueError(
            "the test compares clicks on the same documents at two ranks, of which this log has too "
            "few; swap ranks on some pages, or log more of them"
        )
    return found


def warn_of_trust(log: ClickLog, seed: int) -> None:
    """A warning where the log shows trust; silence where it does not, or cannot."""
    found = _tested(log, 0.95, seed)
    if found is not None and found.found:
        warnings.warn(
            f"people trust high ranks (clicked documents are {np.expm1(found.difference):.0%} more "
            f"attractive at the lower of two ranks, p = {found.p_value:.2g}); clicks that trust brings are "
            "taken for examination and the interval does not cover that; fit clicks.TrustPBM and correct "
            "with unbiased.affine",
            TrustWarning,
            stacklevel=4,
        )


def _tested(log: ClickLog, confidence: float, seed: int) -> TrustBias | None:
    used = _experiment(log)[log.row_page]
    shares = [(half.rows, *_shares_of(log, half)) for half in two_halves(log, used, seed)]
    whole = sum(weight for _, _, weight in shares)
    if whole == 0:
        return None
    rows = np.concatenate([part for part, _, _ in shares])
    share = np.concatenate([part for _, part, _ in shares]) / whole
    click, page = log.click[rows], log.row_page[rows]
    difference = float(share @ click)
    noise = share * (click - _expected(log, used)[rows])
    error, units = 1e-12, 2.0
    for code in (log.page_query.code[page], people_or_pages(log)[page]):
        mass = np.bincount(code, np.abs(noise))
        alike = max(float(mass.sum() ** 2 / max(np.sum(mass**2), 1e-300)), 2.0)
        spread = float(np.sqrt(np.sum(np.bincount(code, noise) ** 2) * alike / (alike - 1.0)))
        if spread > error:
            error, units = spread, alike
    reach = float(student.ppf((1 + confidence) / 2, units - 1.0)) * error
    p_value = 2 * float(student.sf(abs(difference) / error, units - 1.0))
    return TrustBias(difference, difference - reach, difference + reach, p_value, units, confidence)


def _shares_of(log: ClickLog, half: Moved) -> tuple[Floats, float]:
    """What a click on each row adds to the weighted sum of differences, and the sum of the weights."""
    shown = np.bincount(half.cell).astype(np.float64)
    clicks = np.bincount(half.cell, log.click[half.rows], len(shown)).astype(np.float64)
    sums = compared(half, shown, clicks)
    at_low, at_high = sums[:, :, 0], sums[:, :, 1]
    enough = np.minimum(at_low, at_high) >= LEAST
    total = np.where(enough, at_low + at_high, 1.0)
    weight = np.where(enough, at_low * at_high / total, 0.0)
    middle = np.where(enough, (sums[:, :, 2] + sums[:, :, 3]) / total, 0.0)
    share = np.zeros(len(shown))
    _shares(half.pair, half.rank, shown, half.attraction, at_low, at_high, weight, middle, share)
    return share[half.cell], float(weight.sum())


def _experiment(log: ClickLog) -> Bools:
    """The pages that were part of an experiment, or all where none was."""
    if log.page_intervention is None:
        return np.ones(log.n_pages, bool)
    part = (log.page_intervention.table != "none")[log.page_intervention.code]
    return part if part.any() else np.ones(log.n_pages, bool)


def _expected(log: ClickLog, rows: Bools) -> Floats:
    """The clicks of each row under the position-based model, roughly."""
    clicks, expected, rate = over_expected(log, rows)
    gamma = (clicks + 1.0) / (expected + 1.0)
    return np.minimum(gamma[log.pairs.code] * rate[np.minimum(log.position, len(rate) - 1)], 1.0)


@kernel
def _shares(
    pair: Any,
    rank: Any,
    shown: Any,
    attraction: Any,
    at_low: Any,
    at_high: Any,
    weight: Any,
    middle: Any,
    out: Any,
) -> None:
    """What a click on each (pair, rank) adds to the difference."""
    first = 0
    for i in range(len(pair)):
        if pair[i] != pair[first]:
            first = i
        for j in range(first, i):
            a, b = rank[j], rank[i]
            if weight[a, b] > 0.0:
                both = shown[i] * shown[j] / (shown[i] + shown[j])
                lever = weight[a, b] * both * (attraction[i] - middle[a, b])
                out[j] -= lever / shown[j] / at_low[a, b]
                out[i] += lever / shown[i] / at_high[a, b]
