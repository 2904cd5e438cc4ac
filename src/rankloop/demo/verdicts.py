"""Three comparisons on test searches: by grades, by clicks on BM25's pages, and interleaved."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop.clicks import ClickLog, ClickModel
from rankloop.clicks.user import attraction_by_grade
from rankloop.data import RankingDataset, Run
from rankloop.demo.collection import PAGE, Collection
from rankloop.demo.learners import METRIC, judgments
from rankloop.interleaving import Verdict, simulate_duel
from rankloop.metrics import Comparison, compare, dcg
from rankloop.propensity import Propensity
from rankloop.unbiased import likelihood_ranker
from rankloop.unbiased.counterfactual_estimate import Evaluator

__all__ = ["Counterfactual", "counterfactual", "interleaved", "offline"]

CLICKED = "dcg@10"
_TREES = 60  # of the relevance model in the doubly robust estimate


@dataclass(frozen=True)
class Counterfactual:
    """A ranking's gain over BM25: estimated from clicks on BM25's pages, and the true one."""

    estimate: float
    low: float
    high: float
    truth: float

    def __str__(self) -> str:
        return f"{self.estimate:+.3f} [{self.low:+.3f}, {self.high:+.3f}] (true {self.truth:+.3f})"


def offline(
    collection: Collection, rankers: Mapping[str, Any], test: RankingDataset, seed: int
) -> Comparison:
    """Every ranking against all graded answers, compared with BM25."""
    runs = {name: Run.from_dataset(test, ranker.predict(test)) for name, ranker in rankers.items()}
    return compare(runs, judgments(test, collection.searches), METRIC, baseline="bm25", seed=seed)


def counterfactual(
    rankers: Mapping[str, Any],
    test: RankingDataset,
    log: ClickLog,
    propensity: Propensity,
    max_label: int,
    seed: int,
) -> dict[str, Counterfactual]:
    """The gain if each ranker had ordered the documents on BM25's pages (doubly robust).

    Clicks say nothing about documents that were never shown, so only shown documents are reordered. Grades
    are used for the true gain alone, through the attraction of each document.
    """
    shown = _shown(test, log)
    scores = {name: ranker.predict(shown) for name, ranker in rankers.items()}
    relevance = likelihood_ranker(trees=_TREES, threads=1)
    attraction = attraction_by_grade(max_label=max_label)[shown.y.astype(np.int64)]
    truth = {name: _mean_dcg(one, attraction, shown, log) for name, one in scores.items()}
    found = {}
    evaluator = Evaluator(log, shown, CLICKED, propensity=propensity, seed=seed, ranker=relevance)
    for name, one in scores.items():
        if name != "bm25":
            value, low, high = evaluator.difference(one, scores["bm25"])
            found[name] = Counterfactual(value, low, high, truth[name] - truth["bm25"])
    return found


def _shown(data: RankingDataset, log: ClickLog) -> RankingDataset:
    """The documents that the log has shown."""
    assert data.docid is not None
    rows = np.unique(log.rows(data))
    return RankingDataset(
        data.X[rows],
        data.y[rows],
        data.row_qid[rows],
        docid=data.docid[rows],
        feature_names=data.feature_names,
    )


def interleaved(
    rankers: Mapping[str, Any], test: RankingDataset, person: ClickModel, *, pages: int, seed: int
) -> list[Verdict]:
    """The unbiased ranker against each of the others on interleaved pages."""
    rivals = [name for name in rankers if name != "unbiased"]
    return [
        simulate_duel(
            test,
            {"unbiased": rankers["unbiased"], rival: rankers[rival]},
            user=person,
            pages=pages,
            k=PAGE,
            seed=seed,
        ).verdicts()[0]
        for rival in rivals
    ]


def _mean_dcg(scores: Any, attraction: Any, data: RankingDataset, log: ClickLog) -> float:
    """The mean DCG@10 of a page, with a document's attraction as its gain."""
    values = dcg(scores, attraction.astype(np.float32), data.offsets, k=10, gain="linear")
    order = np.argsort(data.qid)
    query = order[np.searchsorted(data.qid, log.queries, sorter=order)][log.page_query.code]
    pages = np.bincount(query, minlength=data.n_queries)
    return float(values @ pages / pages.sum())
