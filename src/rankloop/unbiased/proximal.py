"""A new ranker that moves away from the logged one only as far as the clicks bear it out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from rankloop._arrays import Floats
from rankloop._student import check_confidence
from rankloop.clicks import ClickLog, TrustPBM
from rankloop.data import RankingDataset
from rankloop.lists.discount import discount
from rankloop.rankers import Ensemble
from rankloop.rankers.base.per_list import normalised
from rankloop.rankers.base.ranker import Ranker
from rankloop.unbiased.counterfactual_estimate import Evaluator
from rankloop.unbiased.estimation.camps import Camps, camps
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.rank_metric import rank_metric
from rankloop.unbiased.estimation.stack import curve_of_stack

__all__ = ["Proximal", "proximal"]

METRIC = "dcg@10"
STEPS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15)  # of the way from the logged ranker to the new one
WIDE = 2.0  # exposure may grow or shrink by a factor of 1 + WIDE where there is much evidence
PAGES = 30.0  # of a query, which give half of that room
LESS = 0.75  # the power of a curve that may be too steep: position takes credit for what a logger knows


@dataclass(frozen=True, eq=False, repr=False)
class Proximal:
    """The ranker, its step (0: the logged one, 1: the new one), and the gain that was counted.

    `gain`, `low` and `high` are of dcg@10 over the logged ranker, under the click model that is worst for the
    new one, with the gains beyond the allowed exposure left out. `moved` is the share of exposure that goes
    to other documents, `opposed` that of the pages whose clicks go against those on the others.
    """

    ranker: Ranker
    step: float
    gain: float
    low: float
    high: float
    moved: float
    opposed: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "ranker"}

    def __repr__(self) -> str:
        text = (
            f"{self.step:.0%} of the way from the logged ranker to the new one; {self.moved:.0%} of the "
            f"exposure moves, for {self.gain:+.4f} ({self.low:+.4f} to {self.high:+.4f}) of {METRIC}"
        )
        if self.step == 0:
            text = "the logged ranker stays: no step towards the new one is better whatever people do"
        if self.opposed > 0:
            text += f"; the clicks on {self.opposed:.0%} of the pages go against those on the others"
        return text


def proximal(
    log: Log,
    data: RankingDataset,
    new: Ranker,
    logged: Ranker,
    *,
    curve: ArrayLike,
    trust: ArrayLike | None = None,
    scores: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Proximal:
    r"""Move from the logged ranker towards the new one as far as the clicks support it.

    The gain of an order is counted as proximal policies count it (PRPO; Gupta et al., 2024): with
    :math:`\omega` the exposure (discount) of a document, :math:`\omega_0` that of the logged order and
    :math:`a` its relevance above the mean of the query,

    .. math:: \sum_d \min\big( a_d \omega_d, \; a_d \, \mathrm{clip}(\omega_d,
        \tfrac{\omega_{0d}}{1 + \epsilon}, (1 + \epsilon) \, \omega_{0d}) \big)

    so moving a document by more than a factor :math:`1 + \epsilon` can lose but not gain. :math:`\epsilon`
    goes to 0 with the pages of a query: where evidence is thin, there is nothing to gain from moving far. The
    lower bound of the gain is that under the worst of four click models: the `curve` (with `trust`), the one
    that makes the clicks most likely given the new scores, and each to the power .75, which is nearer to
    taking clicks at their word. Where the people of some pages want what the others do not, as adversaries
    do, the gain must hold for each camp alone: clicks do not say who is right. Where no step has a
    lower bound above 0, the logged ranker stays.

    `scores` are of the new ranker, trained without the query of each row (`Learned.scores`): by default its
    own, which look too good on clicks that it was trained on.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> from rankloop.rankers import LinearRanker
    >>> data = synthetic(n_queries=80, docs_per_query=8, n_features=5, seed=0)
    >>> good, bad = LinearRanker().fit(data), LinearRanker().fit(data.replace(y=4 - data.y))
    >>> log = simulate(data, logging_policy=good, sessions=800, seed=0)
    >>> proximal(log, data, bad, good, curve=1 / np.arange(1, 11))
    the logged ranker stays: no step towards the new one is better whatever people do
    """
    check_confidence(confidence)
    counted = evidence(log, None, data)
    old = np.asarray(logged.predict(data), np.float64)
    held = np.asarray(new.predict(data) if scores is None else scores, np.float64)
    if held.shape != old.shape or not np.all(np.isfinite(held)):
        raise ValueError(f"scores are one finite number per row of the data set ({len(old)})")
    given = np.asarray(curve, np.float64)
    parts = np.stack([normalised(one, data.offsets, "zscore") for one in (old, held)], axis=1)
    believed = np.zeros(len(given)) if trust is None else np.asarray(trust, np.float64)
    fitted = curve_of_stack(parts, counted)
    relevance = expit(fitted.level + parts @ fitted.weights)
    judges = _judges(log, data, ((given, believed), (fitted.curve, fitted.trust)), relevance)
    apart = _apart(log, data, parts)
    for camp in () if apart is None or not isinstance(log, ClickLog) else map(log.select, apart.pages):
        own = curve_of_stack(parts, evidence(camp, None, data))
        judges += _judges(camp, data, ((own.curve, own.trust),), expit(own.level + parts @ own.weights))
    each = 1 - (1 - confidence) / len(STEPS)  # the best of several steps is chosen
    room = _Room.of(counted, _last(old, counted), relevance)
    best = Proximal(logged, 0.0, 0.0, 0.0, 0.0, 0.0)
    for step in STEPS:
        order = _last(parts @ [1 - step, step], counted)
        change = room.counted(order)
        bounds = [judge.bounds(change, confidence=each, gap=True) for judge in judges]
        gain, low, high = min(bounds, key=lambda one: one[1])
        if low > best.low:
            best = Proximal(_mixed(logged, new, step), step, gain, low, high, room.moved(order))
    return best if apart is None else replace(best, opposed=apart.share)


def _apart(log: Log, data: RankingDataset, parts: Floats) -> Camps | None:
    """Camps of people who disagree about the logged order, or about the way from it to the new one."""
    if not isinstance(log, ClickLog):
        return None
    return camps(log, data, parts[:, 0]) or camps(log, data, parts[:, 1] - parts[:, 0])


def _judges(
    log: Log, data: RankingDataset, people: Sequence[tuple[Floats, Floats]], relevance: Floats
) -> list[Evaluator]:
    """Estimates by people with each curve and trust, and with the curve to a lower power."""
    models = [
        TrustPBM(relevant=theta**power, other=theta**power * floor, attraction=0.5)
        for theta, floor in people
        for power in (1.0, LESS)
    ]
    return [Evaluator(log, data, METRIC, propensity=model, relevance=relevance) for model in models]


@dataclass(frozen=True, eq=False)
class _Room:
    """How far the exposure of each document may move, and whether more of it is a gain."""

    seen: Evidence
    exposure: Floats
    low: Floats
    high: Floats
    good: Floats  # relevance above the mean of the query

    @classmethod
    def of(cls, seen: Evidence, order: Floats, relevance: Floats) -> "_Room":
        data = seen.data
        exposure = _exposure(order, seen)
        pages = seen.sessions[data.row_query]
        factor = 1.0 + WIDE * pages / (pages + PAGES)
        shown = np.maximum(np.bincount(data.row_query, seen.shown, data.n_queries), 1.0)
        mean = np.bincount(data.row_query, np.where(seen.shown, relevance, 0.0), data.n_queries) / shown
        return cls(seen, exposure, exposure / factor, exposure * factor, relevance - mean[data.row_query])

    def counted(self, order: Floats) -> Floats:
        """The change of exposure by another order, without what goes too far and would be a gain."""
        new = _exposure(order, self.seen)
        kept = np.where(self.good > 0, np.minimum(new, self.high), np.maximum(new, self.low))
        return np.asarray(kept - self.exposure, np.float64)

    def moved(self, order: Floats) -> float:
        pages = self.seen.sessions[self.seen.data.row_query]
        change = np.abs(_exposure(order, self.seen) - self.exposure)
        return float((pages * change).sum() / (2.0 * (pages * self.exposure).sum()))


def _exposure(order: Floats, seen: Evidence) -> Floats:
    return rank_metric(METRIC).weights(order, seen.data.offsets, discount(np.arange(1.0, 11.0)))


def _last(scores: Floats, seen: Evidence) -> Floats:
    """Documents that were not shown last, in their order: there is no evidence for them."""
    shown = scores[seen.shown]
    far = float(shown.max() - shown.min()) + float(np.ptp(scores)) + 1.0
    return np.where(seen.shown, scores, scores - far)


def _mixed(logged: Ranker, new: Ranker, step: float) -> Ranker:
    if step == 1.0:
        return new
    return Ensemble([logged, new], weights=[1 - step, step], norm="zscore", prefit=True)
