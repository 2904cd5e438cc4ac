"""From a log and a data set to a ranker, with every choice made from the log alone."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rankloop._names import one_of
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.propensity import Identifiability, Propensity
from rankloop.rankers import LambdaMART
from rankloop.rankers.base.ranker import Ranker
from rankloop.unbiased.candidates import candidates
from rankloop.unbiased.estimation.before_clicks import condensed
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.camps import camps
from rankloop.unbiased.estimation.curve import curve_of_log
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.for_engines import for_engines
from rankloop.unbiased.estimation.held_out import (
    ENOUGH,
    HeldOut,
    first_unless_beaten,
    held_out_rows,
    tempered,
    unseen_costs,
)
from rankloop.unbiased.estimation.informative import informative
from rankloop.unbiased.estimation.lacking import all_equal, lacking
from rankloop.unbiased.estimation.library import split_or_not
from rankloop.unbiased.estimation.stacked import out_of_fold, stacked
from rankloop.unbiased.estimation.voters import KINDS, larger
from rankloop.unbiased.learned import Learned
from rankloop.unbiased.likelihood import boosted
from rankloop.unbiased.proximal import proximal
from rankloop.unbiased.select import Selection

__all__ = ["learn"]

GIVEN = "the caller"  # who gave the curve
CLEAR = 0.4  # of the pages: a larger camp is not called the one that is wrong
TEMPERED = 0.5  # the power of the curve that corrects where the logged order was good already


def learn(
    log: Log,
    data: RankingDataset,
    *,
    propensity: ClickBias | None = None,
    rankers: Mapping[str, LambdaMART] | None = None,
    logged: Ranker | None = None,
    networks: bool = True,
    exportable: bool = False,
    budget: str = "usual",
    seed: int = 0,
) -> Learned:
    r"""Choose a curve, a loss and a ranker from the log alone; no label of `data` is used.

    The curve is the given one; else that of an experiment in the log (shuffles, swaps, several rankers) if
    its interval is narrow; else it is learned together with the trees, and `identifiability` says how far to
    trust it. A `DBN` replaces the curve where it clearly predicts the clicks on held-out pages better: people
    who read on until they are satisfied have no curve by rank.

    With the usual budget twenty corrections (pairs, likelihood with linear and with plain leaves, and
    linear weights, each with the curve in full, by half, not at all and as the stack finds it; two
    towers; pairs with documents that were never shown as irrelevant ones) are fitted in three folds of
    queries and added up with the weights that make the clicks on the other queries most likely, together
    with a new curve and clicks that do not depend on relevance. With PyTorch, two small networks join
    them. The sum is one forest, or an `Ensemble` of it and the networks; `networks=False` keeps it one
    forest. With `exportable` a forest that every search engine can hold learns the scores of the result,
    and takes its place: its leaves are constant, and missing features count as 0. `summary` says in one
    paragraph what was found. Its dcg@10 is estimated beside that of the logged order. The shape of the
    trees is that of the first of `rankers`. Pages whose clicks go against those on the others, as those
    of people who want bad results to rise, are left out, and the rest is learned from again (`opposed` is
    their share; above 40 % a warning says that the clicks cannot be trusted). With `logged`, the ranker
    that made the log, the result moves away from it only as far as the clicks bear it out under every
    click model that is likely (`unbiased.proximal`).

    `budget="quick"` takes less time: one forest, the first of `rankers` unless others clearly
    predict the clicks on a held-out fifth of the queries better. Where the logged order has most of its value
    already and the log is too small for a certain lead, there is little bias left to correct at the price of
    much variance, so the square root of the curve corrects.

    `budget="large"` takes several times as long as the usual one: five folds; slow forests with random
    splits and networks on the same likelihood (three of each that gets weight) join the stack. They look at
    the features without which clicks on other queries are clearly harder to predict (`features`).

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=60, docs_per_query=8, n_features=5, seed=0)
    >>> log = simulate(data, logging_policy=data.X[:, 0], sessions=60_000, k=3, randomize="swap", seed=0)
    >>> learn(log, data, rankers=candidates(trees=20, threads=1)).curve_by
    'swap_intervention'
    """
    one_of("budget", budget, ("quick", "usual", "large"))
    options: dict[str, Any] = {"rankers": rankers, "logged": logged, "networks": networks}
    options |= {"budget": budget, "seed": seed}
    if exportable and logged is not None:
        raise ValueError(
            "a step away from the logged ranker is a sum of two rankers, which no search engine can hold; "
            "leave logged or exportable out"
        )
    found = _without_opponents(log, data, propensity, **options)
    if not exportable:
        return found
    shape = next(iter((candidates() if rankers is None else rankers).values()))
    ranker, notes = for_engines(found.ranker, data, shape, seed)
    return replace(found, ranker=ranker, warnings=(*found.warnings, *notes))


def _without_opponents(
    log: Log, data: RankingDataset, propensity: ClickBias | None, *, seed: int, **options: Any
) -> Learned:
    """What is found again without the pages of a camp that wants the opposite of the others."""
    found = _once(log, data, propensity, seed=seed, **options)
    if not isinstance(log, ClickLog) or found.scores is None:
        return found
    apart = camps(log, data, found.scores, seed)
    if apart is None:
        return found
    about = f"the clicks on {apart.share:.0%} of the pages go against those on the others"
    if apart.share > CLEAR:
        note = f"{about}: they cannot be trusted; find out who is who, and leave some out"
    else:
        note = f"{about}: these pages are left out"
        found = _once(log.select(apart.pages[0]), data, propensity, seed=seed, **options)
    return replace(found, warnings=(*found.warnings, note), opposed=apart.share)


@split_or_not()
def _once(
    log: Log,
    data: RankingDataset,
    propensity: ClickBias | None,
    *,
    rankers: Mapping[str, LambdaMART] | None,
    logged: Ranker | None,
    networks: bool,
    budget: str,
    seed: int,
) -> Learned:
    known = dict(candidates() if rankers is None else rankers)
    if not known:
        raise ValueError("learn chooses from at least one ranker, by name")
    notes = lacking(log)
    if propensity is None:
        given, by, report = curve_of_log(log, data, next(iter(known.values())), seed, notes)
    else:
        given, by, report = propensity, GIVEN, None
    seen = evidence(log, given, data)
    chosen, held_out, selection, power = next(iter(known)), {}, None, 1.0
    held = held_out_rows(seen, seed)
    if budget != "quick" and held is not None:
        lines, large = next(iter(known.values())), budget == "large"
        found = _stacked(log, seen, given, lines, by, report, notes, seed, large=large, networks=networks)
        return found if logged is None else _beside(log, data, found, logged)
    if logged is not None:
        raise ValueError(
            "a step away from the logged ranker is chosen with budget='usual' or 'large' and "
            f"{ENOUGH} or more; the budget is {budget!r}"
        )
    if held is None:
        notes.append(f"fewer than {ENOUGH}: none was held out to choose and evaluate with")
    else:
        kept = seen.shown & ~held
        fitted = {name: boosted(seen, kept, one, learn=False) for name, one in known.items()}
        costs = {name: unseen_costs(seen, held, one, cells.level) for name, (one, cells) in fitted.items()}
        held_out = {name: float(cost.sum()) for name, cost in costs.items()}
        chosen = first_unless_beaten(costs)
        evaluation = HeldOut.of(log, seen, held, *fitted[chosen], given)
        best = fitted[chosen][0]
        if (
            evaluation.shown_is_good(best) and not seen.beta.any()
        ):  # clicks from trust bias are subtracted in full
            power = TEMPERED
            best, _ = boosted(tempered(seen, power), kept, known[chosen], learn=False)
            notes.append(
                "the logged order was good already: clicks are corrected by the square root of the curve"
            )
        selection = evaluation.against_shown(best)
        notes += _doubt(selection)
    ranker, _ = boosted(tempered(seen, power), seen.shown, known[chosen], learn=False)
    notes += all_equal(ranker.predict(data))
    ranker.propensity_ = seen.curve()
    return Learned(ranker, chosen, seen.curve(), by, held_out, selection, report, tuple(notes), power)


def _stacked(
    log: Log,
    seen: Evidence,
    given: ClickBias,
    lines: LambdaMART,
    by: str,
    report: Identifiability | None,
    notes: list[str],
    seed: int,
    *,
    large: bool,
    networks: bool,
) -> Learned:
    """Many corrections of the clicks, weighted by held-out clicks; more of them with a large budget."""
    estimated = isinstance(given, Propensity) and given.log_covariance is not None
    floors = estimated or by != GIVEN  # a curve that is known is taken as it is
    features = informative(condensed(seen), lines, seed) if large else None
    more = None if features is None else larger(lines, features, networks=networks)
    options: dict[str, Any] = {"learn": report is not None, "floors": floors, "seed": seed}
    found = stacked(log, seen, given, lines, **options, larger=more, network=networks)
    if found.trust.any():
        notes.append("people click what is on top for trust: such clicks are subtracted")
    if found.logger > 0:
        notes.append(
            "by the clicks alone, what was shown would be worse than what was not, which is selection bias: "
            f"documents that were not shown count as irrelevant, with {found.logger:.0%} of the weight"
        )
    selection = out_of_fold(log, found, given)
    notes += _doubt(selection)
    found.ranker.propensity_ = found.curve
    return Learned(
        found.ranker,
        f"a stack of {len(found.weights)} corrections",
        found.curve,
        by,
        found.costs,
        selection,
        report,
        tuple(notes),
        power=found.power,
        features=None if features is None else tuple(np.flatnonzero(features).tolist()),
        voters=tuple(one for one in found.weights if one in KINDS),
        weights=found.weights,
        trust=found.trust,
        agreement=found.agreement,
        scores=found.scores,
    )


def _beside(log: Log, data: RankingDataset, found: Learned, logged: Ranker) -> Learned:
    """The result no further away from the logged ranker than is safe."""
    near = proximal(
        log, data, found.ranker, logged, curve=found.curve, trust=found.trust, scores=found.scores
    )
    return replace(found, ranker=near.ranker, proximal=near)


def _doubt(selection: Selection) -> list[str]:
    if selection.best == "new" and selection.behind["shown"][2] < 0:
        return []
    return ["on held-out queries the new order is not clearly better than the logged one; test it first"]
