"""A ranker from many corrections of the same clicks, weighted by how they explain clicks on other queries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from rankloop._arrays import Floats, Ints
from rankloop.clicks import ClickLog, ClickModel, TrustPBM
from rankloop.rankers import Ensemble, LambdaMART
from rankloop.rankers.base.ranker import Ranker
from rankloop.rankers.trees.shared_bins import shared_bins
from rankloop.unbiased.estimation.before_clicks import before_clicks, condensed
from rankloop.unbiased.estimation.bias import ClickBias, by_page
from rankloop.unbiased.estimation.evidence import Evidence, Log
from rankloop.unbiased.estimation.held_out import tempered
from rankloop.unbiased.estimation.labels import rows_of
from rankloop.unbiased.estimation.left_out import say_of_the_logger
from rankloop.unbiased.estimation.library import (
    ALL,
    FOLDS,
    Correction,
    fitted,
    fold_of,
    in_folds,
    library,
    more,
)
from rankloop.unbiased.estimation.networks import few_networks
from rankloop.unbiased.estimation.one_forest import one_forest
from rankloop.unbiased.estimation.stack import Clicked, agreement, curve_of_stack, scale_of
from rankloop.unbiased.estimation.straight import Straight, added
from rankloop.unbiased.likelihood import LEARNED
from rankloop.unbiased.select import Selection, select

__all__ = ["Larger", "Stacked", "out_of_fold", "stacked"]

TRUST = 0.2  # of the irrelevant documents at rank 1 are clicked: less counts as none
BETTER = 0.001  # nats per impression by which trust must make the clicks likelier
STEEPEST, KNOWN = 1.1, 0.4  # the power of a curve: the first, less the second times the agreement, at most 1
TRUSTED = 0.9, 0.5  # the same for a curve with trust
HEAD = "likelihood, half"
SMALL = 0.005  # a share of the weights that is left out
FLAT = 1e-8  # the spread of a column that says nothing


@dataclass(frozen=True, eq=False)
class Stacked:
    """The ranker, the evidence with the curve of the stack, and scores of queries that were held out.

    `relevance` are these scores as probabilities, `weights` shares by correction, `costs` the cost of the
    held-out clicks by each correction alone and by all together, `trust` is the share of irrelevant documents
    that are clicked at each rank once seen, `power` that of the curve, `learned` says whether the curve
    was, and `logger` is the say of what was left out.
    """

    ranker: Ranker
    seen: Evidence
    scores: Floats
    relevance: Floats
    curve: Floats
    trust: Floats
    agreement: float
    weights: dict[str, float]
    costs: dict[str, float]
    power: float
    learned: bool
    logger: float


class Larger(NamedTuple):
    """What a larger budget has: more folds, and more corrections (of some evidence, averaged over seeds)."""

    folds: int
    corrections: Callable[[Evidence, Sequence[int]], dict[str, Correction]]
    seeds: int  # of the members that are kept


@shared_bins()
def stacked(
    log: Log,
    seen: Evidence,
    given: ClickBias,
    lines: LambdaMART,
    *,
    learn: bool,
    floors: bool,
    seed: int,
    larger: Larger | None = None,
    network: bool = False,
) -> Stacked:
    r"""Fit a library of corrections in folds of queries; weigh them by the likelihood of the clicks.

    The scores of a query come from forests that never saw its clicks. Weights of at least 0, a curve and,
    where that is clearly likelier, clicks from trust are fitted to the clicks together (`learn`; else
    `given` is kept). The curve of the stack, tempered, then makes four more corrections, and the weights are
    fitted again; with `network`, networks join them. Where people stop reading, only
    impressions without a click above them count: there, examination does not depend on what was clicked.
    A sum by which the documents shown were worse than those left out gets more of the members that know what
    was left out (`say_of_the_logger`). What has weight is trained on all queries and added up to one forest,
    with networks beside it.
    """
    if lines.backend != "lightgbm":
        raise ValueError(
            f"corrections are stacked with trees of the backend lightgbm, got {lines.backend}; "
            "take budget='quick' for others"
        )
    counted, stops = seen, False
    if isinstance(log, ClickLog) and isinstance(given, ClickModel) and by_page(given):
        counted, seen, stops = condensed(before_clicks(log, given, seen)), condensed(seen), True
    corrections, folds = library(seen, lines), FOLDS if larger is None else larger.folds
    scores = in_folds(corrections, seen, seed, folds)
    scale = scale_of(scores, seen)
    doubts: dict[str, bool] = {"learn": learn, "floors": floors and not stops, "temper": floors and stops}
    found = _explained(scores / scale, counted, **doubts)
    again = counted if stops else _biased(seen, found.clicked, found.power) if learn else seen
    added = more("again", again, lines) if learn or stops else {}
    if larger is not None:
        added |= larger.corrections(again, [seed])
    if network:
        added |= few_networks(seen, again, lines, seed)
    if added:
        scores = np.hstack([scores, in_folds(added, seen, seed, folds)])
        corrections |= added
        scale = scale_of(scores, seen)
        found = _explained(scores / scale, counted, **doubts)
    z, weights, clicked = scores / scale, found.clicked.weights, found.clicked
    weights = weights if weights.any() else np.full(len(corrections), 1 / len(corrections))
    weights = np.where((weights < SMALL * weights.sum()) | (scale < FLAT), 0.0, weights)
    total = _held_out(z, found.weighed, fold_of(seen, seed, folds))
    apart = np.array([name.endswith(ALL) for name in corrections]) & (scale >= FLAT)
    left = weights.sum() * apart / max(int(apart.sum()), 1)
    say = say_of_the_logger(seen, total, z @ left)
    weights, total = (1 - say) * weights + say * left, (1 - say) * total + say * (z @ left)
    if larger is not None:
        corrections |= larger.corrections(again, range(seed, seed + larger.seeds))
    share = weights / weights.sum()
    used = {name: float(one) for name, one in zip(corrections, share, strict=True) if one > 0}
    final = _biased(seen, clicked, found.power) if learn else seen
    calibrated = curve_of_stack(total[:, None], final, curve=False)
    return Stacked(
        _sum_of(corrections, used, weights / scale, final),
        final,
        total,
        np.asarray(expit(calibrated.level + calibrated.weights[0] * total), np.float64),
        clicked.curve if learn else seen.curve(),
        clicked.trust,
        agreement(total, seen),
        dict(sorted(used.items(), key=lambda one: -one[1])),
        {"stack": clicked.cost} | _alone(z, list(corrections), found.weighed),
        found.power,
        learn,
        say,
    )


def _held_out(z: Floats, weighed: Evidence, part: Ints) -> Floats:
    """The sum of each row with the weights that explain the clicks of the other folds best."""
    total = np.zeros(len(z))
    for one in np.unique(part):
        cells = part[weighed.row] != one
        kept = {
            name: getattr(weighed, name)[cells]
            for name in ("row", "position", "impressions", "clicks", "alpha", "beta")
        }
        if cells.any():
            found = curve_of_stack(z, replace(weighed, **kept), curve=False).weights
            total[part == one] = z[part == one] @ found
    return total


class Explained(NamedTuple):
    """What the clicks show: the curve, with trust where that is clear, the power of the curve that corrects,
    and the evidence under which the weights are the most likely ones."""

    clicked: Clicked
    power: float
    weighed: Evidence


def _explained(z: Floats, seen: Evidence, *, learn: bool, floors: bool, temper: bool) -> Explained:
    """The most likely weights under a curve, which is learned or that of the evidence.

    A learned curve is tempered: position takes credit for what a logger knows and the features do not tell,
    so that such a curve is too steep, the more so the better the logger (the agreement of the new order with
    the one shown). Clicks that do not depend on relevance are called trust where they are many. With
    `floors` they are fitted beside a curve that is kept. With `temper` a curve of people who stop reading is
    tempered too, to the power 1 less the agreement.
    """
    if learn:
        plain, trusting = curve_of_stack(z, seen), curve_of_stack(z, seen, trust=True)
        clear = trusting.trust[0] > TRUST and plain.cost - trusting.cost > BETTER
        shown, (steepest, known) = (trusting, TRUSTED) if clear else (plain, (STEEPEST, KNOWN))
        power = min(steepest - known * max(agreement(z @ shown.weights, seen), 0.0), 1.0)
        weighed = _biased(seen, shown, power)
    elif floors:
        power, doubt = 1.0, curve_of_stack(z, seen, curve=False, trust=True).trust[seen.position - 1]
        weighed = replace(seen, alpha=seen.alpha * (1 - doubt), beta=seen.alpha * doubt)
        shown = curve_of_stack(z, seen, curve=False)
    elif temper:
        shown = curve_of_stack(z, seen, curve=False)
        power = 1.0 - max(agreement(z @ shown.weights, seen), 0.0)
        weighed = tempered(seen, power)
    else:
        power, weighed, shown = 1.0, seen, curve_of_stack(z, seen, curve=False)
    best = curve_of_stack(z, weighed, curve=False)
    return Explained(shown._replace(weights=best.weights, cost=best.cost), power, weighed)


def _biased(seen: Evidence, found: Clicked, power: float) -> Evidence:
    """The evidence with the tempered curve of the stack."""
    at, theta = seen.position - 1, found.curve**power
    return replace(seen, alpha=(theta * (1 - found.trust))[at], beta=(theta * found.trust)[at])


def _alone(z: Floats, names: list[str], seen: Evidence) -> dict[str, float]:
    """The cost of the clicks by each column alone, at its best level and weight."""
    return {name: curve_of_stack(z[:, [column]], seen, curve=False).cost for column, name in enumerate(names)}


def _sum_of(
    corrections: dict[str, Correction], used: dict[str, float], weights: Floats, seen: Evidence
) -> Ranker:
    """All trees and lines as one forest; networks, if any, beside it."""
    columns = {name: column for column, name in enumerate(corrections)}
    made = {name: fitted(corrections[name], seen.shown) for name in used}
    forests = {name: one for name, one in made.items() if isinstance(one, LambdaMART)}
    straights = {name: one for name, one in made.items() if isinstance(one, Straight)}
    networks = {name: one for name, one in made.items() if isinstance(one, Ensemble)}
    by_name = {name: float(weights[columns[name]]) for name in used}
    if not forests:  # the text of a forest has a head, which a sum of lines takes from one of weight 0
        head = fitted(corrections[HEAD], seen.shown)
        assert isinstance(head, LambdaMART)
        forests, by_name[HEAD] = {HEAD: head}, 0.0 if straights else 1e-9
    line = added(list(straights.values()), [by_name[name] for name in straights]) if straights else None
    ranker = one_forest(list(forests.values()), [by_name[name] for name in forests], line)
    ranker.set_params(loss=LEARNED)
    if not networks:
        return ranker
    parts: list[Ranker] = [ranker]
    shares = [1.0]
    for name, one in networks.items():
        parts += one.rankers
        shares += [by_name[name] * share for share in one.weights or ()]
    joined = Ensemble(parts, weights=shares, norm="none", prefit=True)
    return joined.fit(rows_of(seen.data, seen.shown, seen.by_row(seen.clicks)))


def out_of_fold(log: Log, found: Stacked, given: ClickBias) -> Selection:
    """The doubly robust dcg@10 of the stack beside that of the order shown, on queries it was not fitted to.

    Documents that were not shown are put last in both orders: there is no evidence for them.
    """
    seen = found.seen
    shown = np.maximum(seen.by_row(seen.impressions), 1.0)
    place = seen.by_row(seen.impressions * seen.position) / shown
    orders = {
        name: np.where(seen.shown, one, one[seen.shown].min() - 1.0)
        for name, one in (("new", found.scores), ("shown", -place))
    }
    bias = given
    if found.learned:
        theta = found.curve**found.power
        bias = TrustPBM(relevant=theta, other=theta * found.trust, attraction=0.5)
    return select(log, seen.data, orders, "dcg@10", propensity=bias, relevance=found.relevance)
