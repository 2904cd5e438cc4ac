"""The rankers of the demo: two tuned baselines, and two that learn from the same clicks."""

from collections.abc import Mapping
from typing import Any

from rankloop.clicks import ClickLog
from rankloop.data import Qrels, RankingDataset, Run
from rankloop.demo.collection import Collection
from rankloop.metrics import evaluate
from rankloop.propensity import Propensity
from rankloop.rankers import LinearRanker, Ranker
from rankloop.unbiased import ips, naive

__all__ = ["METRIC", "baselines", "from_clicks", "judgments"]

METRIC = "ndcg@10"
_PRIORS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def baselines(collection: Collection, train: RankingDataset) -> dict[str, Ranker]:
    """BM25, and BM25 plus a popularity prior whose weight has the best NDCG on the training searches.

    The prior sees grades that the learners never see, which makes it the harder one to beat.
    """
    tried = [collection.feature_sum({**collection.bm25, collection.prior: weight}) for weight in _PRIORS]
    best = max(tried, key=lambda ranker: _quality(ranker, train, collection.searches))
    return {"bm25": collection.feature_sum(collection.bm25), "bm25 + popularity": best}


def from_clicks(log: ClickLog, propensity: Propensity, train: RankingDataset) -> dict[str, Ranker]:
    """The same model twice: from clicks as they are, and from clicks divided by their propensity."""
    labels = {"naive": naive(log, train), "unbiased": ips(log, propensity, train)}
    # Few searches and many features: a strongly regularised linear model.
    made: dict[str, Ranker] = {
        name: LinearRanker(loss="softmax", l2=0.1).fit(lists) for name, lists in labels.items()
    }
    made["unbiased"].propensity_ = propensity.values
    return made


def judgments(data: RankingDataset, searches: Mapping[str, Mapping[str, int]]) -> Qrels:
    """All graded answers of the searches in `data`, including those that BM25 did not find."""
    return Qrels.from_dict({query: dict(searches[query]) for query in data.qid.tolist()})


def _quality(ranker: Any, data: RankingDataset, searches: Mapping[str, Mapping[str, int]]) -> float:
    run = Run.from_dataset(data, ranker.predict(data))
    return float(evaluate(run, judgments(data, searches), [METRIC]).mean[METRIC])
