"""From a log and a data set to a ranker, with every choice made from the log alone."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

import rankloop.propensity as curves
from rankloop._arrays import Floats
from rankloop._names import one_of
from rankloop.clicks import DBN, ClickLog, aggregate
from rankloop.data import RankingDataset
from rankloop.propensity import Identifiability, IdentifiabilityWarning, Propensity
from rankloop.rankers import LambdaMART
from rankloop.rankers.base.ranker import Ranker
from rankloop.unbiased.candidates import candidates
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.held_out import (
    LEAST,
    HeldOut,
    first_unless_beaten,
    held_out_rows,
    tempered,
    unseen_costs,
)
from rankloop.unbiased.estimation.readers import stop_reading
from rankloop.unbiased.estimation.voters import Vote, thorough
from rankloop.unbiased.likelihood import boosted
from rankloop.unbiased.select import Selection

__all__ = ["Learned", "learn"]

SURE = 0.2  # the largest standard error (of the logarithm) at which the curve of an experiment is used
CURVE_TREES = 5  # times the trees of the ranker, to learn a curve
FEW = 20  # so many pages may all have a click by chance
TEMPERED = 0.5  # the power of the curve that corrects where the logged order was good already


@dataclass(frozen=True, repr=False)
class Learned:
    """The ranker, and how it was chosen.

    `held_out` has the negative log-likelihood of held-out clicks by candidate, `selection` the estimated
    value of the ranker on the held-out queries (trained on the others) beside that of the logged order. The
    trees were trained with the curve to the power `power`: 1 corrects in full, 0 not at all. `features` are
    those that a large budget kept, numbered from 0, and `voters` its kinds of rankers.
    """

    ranker: Ranker
    chosen: str
    curve: Floats
    curve_by: str
    held_out: dict[str, float]
    selection: Selection | None
    identifiability: Identifiability | None
    warnings: tuple[str, ...]
    power: float = 1.0
    features: tuple[int, ...] | None = None
    voters: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "chosen": self.chosen,
            "curve": self.curve.tolist(),
            "curve_by": self.curve_by,
            "held_out": self.held_out,
            "selection": None if self.selection is None else self.selection.to_dict(),
            "identifiability": None if self.identifiability is None else self.identifiability.to_dict(),
            "warnings": list(self.warnings),
            "power": self.power,
            "features": None if self.features is None else list(self.features),
            "voters": list(self.voters),
        }

    def __repr__(self) -> str:
        lines = [f"learned by {self.chosen}; curve by {self.curve_by}"]
        lines.append("examination by rank: " + " ".join(f"{one:.3f}" for one in self.curve))
        for name, value in self.held_out.items():
            lines.append(f"  {name}: {value:.5f} nats per impression on held-out queries")
        if self.selection is not None:
            lines += ["dcg@10 on held-out queries, doubly robust:", *repr(self.selection).splitlines()]
        return "\n".join([*lines, *(f"warning: {one}" for one in self.warnings)])


def learn(
    log: Log,
    data: RankingDataset,
    *,
    propensity: ClickBias | None = None,
    rankers: Mapping[str, LambdaMART] | None = None,
    budget: str = "usual",
    seed: int = 0,
) -> Learned:
    r"""Choose a curve, a loss and a ranker from the log alone; no label of `data` is used.

    The curve is the given one; else that of an experiment in the log (shuffles, swaps, several rankers) if
    its interval is narrow; else it is learned together with the trees, and `identifiability` says how far to
    trust it. A `DBN` replaces the curve where it clearly predicts the clicks on held-out pages better: people
    who read on until they are satisfied have no curve by rank. The trees are the first of `rankers`, unless
    others clearly predict the clicks on a held-out fifth of the queries better. Their dcg@10 is estimated
    beside that of the logged order; then they are trained on all queries. Where the logged order has most of
    that value already and the log is too small for a certain lead, there is little bias left to correct at
    the price of much variance, so the square root of the curve corrects.

    `budget="large"` takes about ten times as long: features that do not help to predict clicks on other
    queries are left out (`features` has the others), and the ranker is an `Ensemble` of slower forests with
    random splits and of networks on the same likelihood, or of one kind where it predicts the held-out clicks
    clearly better.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=60, docs_per_query=8, n_features=5, seed=0)
    >>> log = simulate(data, logging_policy=data.X[:, 0], sessions=60_000, k=3, randomize="swap", seed=0)
    >>> learn(log, data, rankers=candidates(trees=20, threads=1)).curve_by
    'swap_intervention'
    """
    one_of("budget", budget, ("usual", "large"))
    known = dict(candidates() if rankers is None else rankers)
    if not known:
        raise ValueError("learn chooses from at least one ranker, by name")
    notes = _missing(log)
    if propensity is None:
        given, by, report = _curve(log, data, next(iter(known.values())), seed, notes)
    else:
        given, by, report = propensity, "the caller", None
    seen = evidence(log, given, data)
    chosen, held_out, selection, power = next(iter(known)), {}, None, 1.0
    held = held_out_rows(seen, seed)
    ranker: Ranker
    vote: Vote | None
    if held is None:
        notes.append(f"fewer than {LEAST} queries: none was held out to choose and evaluate with")
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
    corrected = tempered(seen, power)
    if budget == "large":
        vote = thorough(corrected, held, known[chosen], seed)
        ranker, held_out = vote.ranker, held_out | vote.held_out
    else:
        vote, ranker = None, boosted(corrected, seen.shown, known[chosen], learn=False)[0]
    ranker.propensity_ = seen.curve()
    return Learned(
        ranker,
        chosen,
        seen.curve(),
        by,
        held_out,
        selection,
        report,
        tuple(notes),
        power,
        None if vote is None else vote.features,
        () if vote is None else vote.voters,
    )


def _missing(log: Log) -> list[str]:
    """Errors and warnings for a log without clicks or without non-clicks, which logs often drop."""
    counts = aggregate(log) if isinstance(log, ClickLog) else log
    shown, clicked = int(counts.impressions.sum()), int(counts.clicks.sum())
    if shown == 0:
        raise ValueError("the log is empty; there is nothing to learn from")
    if clicked == 0:
        raise ValueError("nothing was clicked; log for longer, or check that clicks are joined to the pages")
    if clicked == shown:
        raise ValueError("the log has clicks only; log every document that was shown, clicked or not")
    if not isinstance(log, ClickLog) or log.n_pages < FEW:
        return []
    if np.all(np.add.reduceat(log.click, log.offsets[:-1], dtype=np.int64) > 0):
        return ["every page has a click: keep the pages without clicks too, or all documents look better"]
    return []


def _curve(
    log: Log, data: RankingDataset, ranker: LambdaMART, seed: int, notes: list[str]
) -> tuple[ClickBias, str, Identifiability | None]:
    """A DBN, the curve of an experiment, or a learned one; its name, and a report where it was learned."""
    if isinstance(log, ClickLog) and stop_reading(log, seed):
        notes.append("people read on until they are satisfied: no curve by rank describes them")
        return DBN().fit(log), "a DBN of the clicks", None
    found, by, why = _experiment(log)
    notes += why
    if found is not None:
        return found, by, None
    report = curves.identifiability(log, data)
    notes += [f"the curve was learned with the ranker: {one}" for one in report.warnings]
    learned = _joint_curve(evidence(log, None, data), ranker)
    notes += _rising(learned)
    return learned, "the likelihood of the clicks", report


def _joint_curve(seen: Evidence, ranker: LambdaMART) -> Floats:
    """A curve takes more trees to converge than a ranking: it has a forest of its own, which is not kept."""
    longer = clone(ranker).set_params(trees=CURVE_TREES * ranker.trees)
    fitted, _ = boosted(seen, seen.shown, longer, learn=True)
    return np.asarray(fitted.propensity_, np.float64)


def _experiment(log: Log) -> tuple[Propensity | None, str, list[str]]:
    """The curve of an experiment or of several rankers, if the log has one that is precise enough."""
    if not isinstance(log, ClickLog):
        return None, "", []
    if log.page_layout is not None and len(np.unique(log.page_layout.code)) > 1:
        return None, "", ["the log mixes layouts: one curve was learned for all; see propensity.by_layout"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentifiabilityWarning)
            found = curves.estimate(log)
    except ValueError:  # no experiment ties the ranks together
        return None, "", []
    if len(found) < log.n_positions:
        return (
            None,
            "",
            [f"{found.method} covers ranks 1 to {len(found)} only; the curve was learned instead"],
        )
    error = np.log(found.high / np.maximum(found.low, 1e-300)) / 3.92
    if not np.all(error <= SURE):
        why = f"{found.method} is uncertain by {error.max():.0%} at rank {int(error.argmax()) + 1}"
        return (
            None,
            "",
            [f"{why}; the curve was learned instead (propensity.plan_swaps plans a larger experiment)"],
        )
    return found, found.method, []


def _doubt(selection: Selection) -> list[str]:
    if selection.best == "new" and selection.behind["shown"][2] < 0:
        return []
    return ["on held-out queries the new order is not clearly better than the logged one; test it first"]


def _rising(curve: Floats) -> list[str]:
    """A warning for a curve that rises: a sign that position and relevance were not separated."""
    rise = float(np.max(curve[1:] / curve[:-1], initial=0.0))
    if rise > 1.5:
        return [
            f"the learned curve rises by a factor of {rise:.1f} from one rank to the next; do not trust it"
        ]
    return []
