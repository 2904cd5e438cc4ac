"""Any scikit-learn regressor or classifier as a ranker."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from rankloop._arrays import Array, Floats, Ints, Singles
from rankloop._names import one_of
from rankloop.data import RankingDataset
from rankloop.rankers.base.ranker import Member, Ranker
from rankloop.rankers.base.row_weight import row_weight
from rankloop.rankers.base.scale import scaled_per_query
from rankloop.rankers.saving.codec import decode, encode

__all__ = ["PointwiseRanker"]


@dataclass(kw_only=True, eq=False, repr=False)
class PointwiseRanker(Ranker):
    r"""Documents one by one: a regressor gives the label, a classifier the expected one (McRank, Li 2007).

    .. math:: s(x) = \hat y(x) \quad\text{or}\quad s(x) = \sum_c c \, P(y = c \mid x)

    The default `estimator` is gradient-boosted regression trees. `scale="standard"` or
    `"minmax"` first scales each feature within each query; a score then depends on the list.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y, qid = [[0.1], [0.9], [0.3], [0.8]], [0, 1, 0, 1], ["a", "a", "b", "b"]
    >>> ranker = PointwiseRanker(LogisticRegression()).fit(X, y, qid=qid)
    >>> ranker.rank([[0.2], [0.7], [0.4]])
    array([1, 2, 0])
    """

    _needs_preferences: ClassVar[bool] = False

    estimator: Any = field(default=None, kw_only=False)
    scale: str | None = None

    @property
    def needs_lists(self) -> bool:
        return self.scale is not None

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        if self.scale is not None:
            one_of("scale", self.scale, ("minmax", "standard"))
        estimator = _trees() if self.estimator is None else clone(self.estimator)
        labels: Array = train.y
        if is_classifier(estimator):
            if not hasattr(estimator, "predict_proba"):
                raise ValueError(
                    f"{type(estimator).__name__} gives no probabilities; "
                    "choose a classifier with predict_proba"
                )
            labels = train.y.astype(np.int64)
            if not np.array_equal(labels, train.y):
                raise ValueError("a classifier needs labels that are whole numbers; use a regressor")
        self.absent_ = np.asarray(np.isnan(train.X).all(axis=0))
        weighted = train.query_weight is not None or train.item_weight is not None
        given = {"sample_weight": row_weight(train)} if weighted else {}
        if given and not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"{type(estimator).__name__} would ignore the query_weight or item_weight of this data set; "
                "choose an estimator that takes sample_weight, or leave them out with data.replace(...=None)"
            )
        estimator.fit(self._features(train.X, train.offsets), labels, **given)
        self.estimator_: Any = estimator

    def _scores(self, X: Singles, offsets: Ints) -> Floats:
        features = self._features(X, offsets)
        if is_classifier(self.estimator_):
            chance = self.estimator_.predict_proba(features)
            return np.asarray(chance @ self.estimator_.classes_, np.float64)
        return np.asarray(self.estimator_.predict(features), np.float64).reshape(len(X))

    def _features(self, X: Singles, offsets: Ints) -> Array:
        """A feature that was missing in all training rows becomes 0: estimators treat it differently."""
        if self.absent_.any():
            X = np.where(self.absent_, np.float32(0), X)
        return X if self.scale is None else scaled_per_query(X, offsets, self.scale)

    def _state(self) -> dict[str, Member]:
        members: dict[str, Member] = {}
        text = json.dumps(encode(self.estimator_, "part", members))
        return {"estimator": text, "absent": self.absent_, **members}

    def _restore(self, state: Mapping[str, Member]) -> None:
        self.absent_ = np.asarray(state["absent"])
        self.estimator_ = decode(json.loads(str(state["estimator"])), state)


def _trees() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    # Its own early stopping would hold out rows, not whole queries.
    return HistGradientBoostingRegressor(early_stopping=False, random_state=0)
