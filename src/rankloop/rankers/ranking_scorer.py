"""Any metric as a scorer for scikit-learn's searches."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRequest

from rankloop.data import RankingDataset
from rankloop.metrics import Metric, metric
from rankloop.rankers.base.input import group_by_query, one_qid
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.ranker import Ranker

__all__ = ["RankingScorer", "ranking_scorer"]


@dataclass(frozen=True)
class RankingScorer:
    """Called as scikit-learn calls scorers; always higher is better."""

    metric: Metric

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> float:
        if isinstance(X, RankingDataset):
            return Objective(self.metric, X)(estimator.predict(X))
        ids = one_qid(qid, groups)
        if ids is None or y is None:
            raise ValueError(
                f"scoring {self.metric} needs y and the query of each row: switch routing on with "
                "sklearn.set_config(enable_metadata_routing=True) and call search.fit(X, y, groups=qid)"
            )
        last = estimator[-1] if hasattr(estimator, "steps") else estimator
        listwise = isinstance(last, Ranker) and last.needs_lists
        scores = estimator.predict(X, qid=ids) if listwise else estimator.predict(X)
        grouping = group_by_query(ids, len(scores))
        labels = grouping.apply(np.asarray(y, np.float32))
        mean = self.metric.mean(self.metric(grouping.apply(scores), labels, grouping.offsets))
        return mean if self.metric.higher_is_better else -mean

    def get_metadata_routing(self) -> MetadataRequest:
        """Both names of the query ids are requested."""
        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="qid", alias=True)
        request.score.add_request(param="groups", alias=True)
        return request


def ranking_scorer(name: str | Metric) -> RankingScorer:
    """A scorer for `GridSearchCV` and the like, over whole queries.

    .. code-block:: python

        sklearn.set_config(enable_metadata_routing=True)
        search = GridSearchCV(ranker, grid, cv=GroupKFold(5), scoring=ranking_scorer("ndcg@10"))
        search.fit(X, y, groups=qid)
    """
    return RankingScorer(metric(name))
