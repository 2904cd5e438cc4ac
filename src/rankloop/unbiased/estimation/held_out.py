"""Queries held out from training, and the value of rankings by their clicks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from rankloop._arrays import Bools, Floats
from rankloop.clicks import ClickLog
from rankloop.clicks.columns.rows import places
from rankloop.data import RankingDataset
from rankloop.rankers import LambdaMART
from rankloop.rankers.base.ranker import Ranker
from rankloop.unbiased.estimation.bias import ClickBias, by_page
from rankloop.unbiased.estimation.cells import CellLikelihood
from rankloop.unbiased.estimation.evidence import Evidence, Log
from rankloop.unbiased.select import Selection, select

__all__ = ["ENOUGH", "HeldOut", "first_unless_beaten", "held_out_rows", "tempered", "unseen_costs"]

SHARE = 0.2  # of the queries are held out
LEAST, CLICKED = 30, 10  # with fewer queries, or fewer with a click that compares, none is held out
ENOUGH = f"{LEAST} queries, {CLICKED} of them with a click on one of several documents"
GOOD = 0.7  # of the new ranker's gain over a random order: a logged order with this much is good already
CERTAIN = 4.0  # standard errors at which a lead counts as certain
SOME = 0.3  # the same as GOOD for people who stop reading, who examine little below a click


def held_out_rows(seen: Evidence, seed: int) -> Bools | None:
    """Which rows belong to the queries that are held out; None where too few queries have pages or clicks."""
    queries = np.flatnonzero(seen.sessions > 0)
    row_query = seen.data.row_query
    clicked = np.unique(row_query[seen.row[seen.clicks > 0]])
    several = np.bincount(row_query[seen.shown], minlength=seen.data.n_queries) > 1
    if len(queries) < LEAST or np.count_nonzero(several[clicked]) < CLICKED:
        return None
    chosen = np.random.default_rng(seed).choice(queries, max(1, int(SHARE * len(queries))), replace=False)
    return np.isin(row_query, chosen)


def unseen_costs(seen: Evidence, held: Bools, ranker: Ranker, level: float) -> Floats:
    """Minus the log-likelihood of the clicks on each held-out query, per impression of all of them."""
    kept = seen.shown & held
    cells = CellLikelihood.of(seen, kept, None)
    cells.level = level
    row_query = seen.data.row_query[kept]
    by_row = cells.costs(ranker.predict(seen.data.X[kept], qid=row_query)) / cells.impressions.sum()
    _, query = np.unique(row_query, return_inverse=True)
    return np.asarray(np.bincount(query, by_row), np.float64)


def first_unless_beaten(costs: Mapping[str, Floats]) -> str:
    """The first name, or the cheapest of those that are cheaper by two standard errors (over queries)."""
    names = list(costs)
    found, least = names[0], 0.0
    for name in names[1:]:
        gap = costs[name] - costs[names[0]]
        if gap.sum() < min(least, -2.0 * np.sqrt(len(gap)) * gap.std()):
            found, least = name, float(gap.sum())
    return found


def tempered(seen: Evidence, power: float) -> Evidence:
    r"""The evidence with the curve :math:`\theta^p`: 1 corrects in full, 0 does not correct."""
    return replace(seen, alpha=seen.alpha**power)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rankings of the documents shown for held-out queries, compared by their doubly robust dcg@10."""

    log: Log
    part: RankingDataset
    shown: Bools
    place: Floats  # the mean position in the log
    relevance: Floats
    given: ClickBias

    @classmethod
    def of(
        cls,
        log: Log,
        seen: Evidence,
        held: Bools,
        ranker: LambdaMART,
        cells: CellLikelihood,
        given: ClickBias,
    ) -> "HeldOut":
        """`ranker` and `cells` are the model of relevance in the doubly robust estimates."""
        queries = np.unique(seen.data.row_query[seen.shown & held])
        data = seen.data
        if data.docid is None:  # the selected rows keep their numbers as ids
            data = data.replace(docid=np.arange(data.n_documents))
        part = data.select(queries)
        rows = np.isin(data.row_query, queries)
        shown = np.maximum(seen.by_row(seen.impressions), 1.0)
        place = seen.by_row(seen.impressions * seen.position) / shown
        relevance = expit(ranker.predict(part) + cells.level)
        return cls(_of_queries(log, part), part, seen.shown[rows], place[rows], relevance, given)

    def against_shown(self, ranker: LambdaMART) -> Selection:
        return self._compare(
            {"new": self._order(ranker.predict(self.part)), "shown": self._order(-self.place)}
        )

    def shown_is_good(self, ranker: LambdaMART) -> bool:
        """Whether the logged order has most of the ranker's gain over a random one and no lead is certain.

        Where people stop reading, most of the ranker's estimate comes from the ranker's own model.
        """
        orders = {"new": ranker.predict(self.part), "shown": -self.place, "random": np.zeros(len(self.place))}
        found = self._compare({name: self._order(scores) for name, scores in orders.items()})
        new, shown, random = (found.estimates[name].value for name in orders)
        if by_page(self.given):
            return shown - random > SOME * (new - random)
        behind, low, high = found.behind["shown"]
        error = (high - low) / 3.92
        return shown - random > GOOD * (new - random) and (found.best != "new" or -behind < CERTAIN * error)

    def _order(self, scores: Floats) -> Floats:
        """Documents that were not shown are put last: there is no evidence for them."""
        return np.where(self.shown, scores, scores[self.shown].min() - 1.0)

    def _compare(self, orders: Mapping[str, Floats]) -> Selection:
        return select(self.log, self.part, orders, "dcg@10", propensity=self.given, relevance=self.relevance)


def _of_queries(log: Log, part: RankingDataset) -> Log:
    """The part of a log with these queries."""
    if isinstance(log, ClickLog):
        return log.select((places(log.queries, part.qid) >= 0)[log.page_query.code])
    kept = (places(log.row_query.table, part.qid) >= 0)[log.row_query.code]
    return type(log)(
        log.row_query.take(kept),
        log.row_document.take(kept),
        log.position[kept],
        log.impressions[kept],
        log.clicks[kept],
    )
