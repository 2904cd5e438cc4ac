"""The rankers of the story: two that somebody tuned, one from comments, two from the same clicks."""

from collections.abc import Mapping
from typing import Any

from rankloop.clicks import ClickLog
from rankloop.data import Qrels, RankingDataset, Run
from rankloop.demo.collection import Collection
from rankloop.metrics import evaluate
from rankloop.propensity import Propensity
from rankloop.rankers import LinearRanker, Ranker
from rankloop.unbiased import ips, naive

__all__ = ["METRIC", "baselines", "from_clicks", "from_comments", "judgments", "quality", "run"]

METRIC = "ndcg@10"
ENOUGH = 50  # mined searches below which nothing is learned from them
_PRIORS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def baselines(collection: Collection, train: RankingDataset) -> dict[str, Ranker]:
    """BM25, and BM25 with a prior for what is used much, weighed by the grades of the searches to learn from.

    The prior sees grades that the learners never see: it is the harder one to beat.
    """
    tried = [collection.by({**collection.bm25, collection.prior: weight}) for weight in _PRIORS]
    best = max(tried, key=lambda ranker: quality(ranker, train, collection.searches))
    return {"bm25": collection.by(collection.bm25), "bm25 + popularity": best}


def from_comments(collection: Collection) -> dict[str, Ranker]:
    """A ranker from comments above calls in the sources on this machine, where there are enough."""
    if collection.mined is None or collection.mined.n_queries < ENOUGH:
        return {}
    return {"comments": _weights().fit(collection.mined)}


def from_clicks(log: ClickLog, seen: Propensity, train: RankingDataset) -> dict[str, Ranker]:
    """The same model twice: clicks taken at their word, and clicks divided by how likely they were seen."""
    labels = {"naive": naive(log, train), "unbiased": ips(log, seen, train)}
    made: dict[str, Ranker] = {name: _weights().fit(lists) for name, lists in labels.items()}
    made["unbiased"].propensity_ = seen.values
    return made


def quality(ranker: Any, data: RankingDataset, searches: Mapping[str, Mapping[str, int]]) -> float:
    """Mean NDCG@10 against all answers, also those that BM25 did not find."""
    return float(evaluate(run(ranker, data), judgments(data, searches), [METRIC]).mean[METRIC])


def run(ranker: Any, data: RankingDataset) -> Run:
    assert data.docid is not None  # candidates of an index have ids
    return Run(data.row_qid, data.docid, ranker.predict(data))


def judgments(data: RankingDataset, searches: Mapping[str, Mapping[str, int]]) -> Qrels:
    return Qrels.from_dict({query: dict(searches[query]) for query in data.qid.tolist()})


def _weights() -> LinearRanker:
    """Few searches, many features: a weighted sum that is held back."""
    return LinearRanker(loss="softmax", l2=0.1)
