"""Which of many features are worth their time: forests of fewer and fewer, beside one of all."""

from dataclasses import dataclass, field, replace

import numpy as np

from rankloop.rankers.auto.candidates import Candidate, first_candidates
from rankloop.rankers.auto.clock import Clock
from rankloop.rankers.auto.division import Division
from rankloop.rankers.auto.search import FIRST, ONE, WIDE, Setting, Tried, least, try_one
from rankloop.rankers.auto.view import ALL, View
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.paired import behind

__all__ = ["Screened", "screened"]

RATIO = 3  # of the features of one forest to those of the next
LEAST = 8  # features of a forest
UNTIL = 0.4  # of the time, after which no further forest is begun
ERRORS = 1.0  # standard errors that a forest of fewer features may be behind the best
QUICK = 0.02  # of the time: where a forest of all features takes less, all are kept


@dataclass(frozen=True, eq=False)
class Screened:
    """The features that models see, the forests on them that were fitted, and why it is these."""

    view: View = ALL
    tried: list[Tried] = field(default_factory=list)
    reason: str = ""


def screened(over: Division, clock: Clock, setting: Setting) -> Screened:
    """The fewest features whose forest is about as good as the best, where one of all takes long.

    Of every forest the features with the largest gain are those of the next; a linear model of all is
    compared too, as it can make use of many at once. Where a forest of all is quick, all are kept, and a
    forest of fewer that is better is one more model. With a number of fits nothing may depend on the time,
    and all are kept too.
    """
    train = over.fitted
    own = train.item_weight is None
    firsts = first_candidates(setting.backends, ALL, ALL, own_objectives=own)
    trees = next((one for one in firsts if one.params.get("backend") in ("lightgbm", "xgboost")), None)
    if train.n_features < WIDE or trees is None or setting.fits is not None:
        return Screened()
    linear = next(one for one in firsts if one.kind == "linear")
    found: list[Tried] = []
    try:
        _tried(found, trees, linear, over, clock, setting)
    except KeyboardInterrupt:
        if not found:
            raise
        clock.interrupt()
    every = [one for one in found if one.candidate.view == ALL]
    fewer = [one for one in found if one.candidate.view != ALL]
    if not fewer or clock.interrupted:
        return Screened(tried=every)
    forest, best = every[0], max(found, key=lambda one: one.value)
    if forest.seconds < QUICK * clock.seconds:
        return Screened(tried=[*every, best] if best in fewer else every)
    good = [one for one in fewer if one.value >= forest.value and not behind(one.each, best.each, ERRORS)]
    if not good:
        return Screened(tried=every)
    fewest = good[-1]
    columns = len(fewest.candidate.view.columns or ())
    reason = (
        f"models see the {columns} of {train.n_features} features that trees gained most by: trees of these "
        f"have {setting.metric} {abs(fewest.value):.4f} in {fewest.seconds:.1f} seconds, of all "
        f"{abs(forest.value):.4f} in {forest.seconds:.1f}"
    )
    return Screened(fewest.candidate.view, [fewest], reason)


def _tried(
    found: list[Tried], trees: Candidate, linear: Candidate, over: Division, clock: Clock, setting: Setting
) -> None:
    """A forest of all features, a linear model, forests of a third of the features and so on."""
    objective = Objective.of(setting.metric, over.compared)
    columns = np.arange(over.fitted.n_features)

    def fit(candidate: Candidate, share: float) -> Tried | None:
        seconds = share * clock.seconds
        one = try_one(candidate, over.fitted, over.compared, objective, clock, seconds, setting)
        found.extend([] if one is None else [one])
        return one

    one = fit(trees, FIRST)
    if one is not None and least(linear, over.fitted, []) < ONE * clock.seconds:
        fit(linear, ONE)
    while one is not None and clock.until(UNTIL) > 0:
        if one.behind(max(found, key=lambda other: other.value)):
            return
        gain = one.ranker.feature_importances_
        kept = np.argsort(-gain, kind="stable")[: len(columns) // RATIO]
        columns = columns[np.sort(kept[gain[kept] > 0])]
        if len(columns) < LEAST:
            return
        one = fit(replace(trees, view=View(columns=tuple(columns.tolist()))), ONE)
