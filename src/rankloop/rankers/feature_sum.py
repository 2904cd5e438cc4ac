"""A weighted sum of named features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rankloop.data import RankingDataset
from rankloop.rankers.base.feature_names import feature_indices, feature_names
from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.scale import Standard

__all__ = ["FeatureSum"]


@dataclass(kw_only=True, eq=False, repr=False)
class FeatureSum(LinearScores):
    r"""Scores :math:`\sum_f w_f x_f` with the weights as given: BM25 alone, or BM25 and a prior.

    Nothing is learned: `fit` looks up the columns of the named features. With `features` (all names, in the
    order of the columns) no `fit` is needed. A missing value counts as 0.

    >>> ranker = FeatureSum({"bm25": 1.0, "popularity": 0.5}, features=["length", "bm25", "popularity"])
    >>> ranker.predict([[120.0, 3.0, 2.0], [80.0, 4.0, float("nan")]])
    array([4., 4.])
    """

    _honours: ClassVar[frozenset[str]] = frozenset({"query_weight", "item_weight", "position", "pairs"})
    _needs_preferences: ClassVar[bool] = False

    weights: Mapping[str, float] | None = field(default=None, kw_only=False)
    features: Sequence[str] | None = None

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        self._look_up()

    def __sklearn_is_fitted__(self) -> bool:
        return super().__sklearn_is_fitted__() or self.features is not None

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if self.features is not None and not super().__sklearn_is_fitted__():
            self.n_features_in_ = len(self.features)
            self.feature_names_in_ = np.array(list(self.features), dtype=object)
            self.fingerprint_, self.metrics_, self.propensity_ = "", {}, None
            self._look_up()

    def _look_up(self) -> None:
        weights = dict(self.weights or {})
        wrong = {name: weight for name, weight in weights.items() if not np.isfinite(weight)}
        if wrong or not weights:
            raise ValueError(
                "weights map names of features to finite numbers, as in {'bm25(title)': 1.0}; "
                f"got {wrong or self.weights}"
            )
        coef = np.zeros(self.n_features_in_)
        coef[feature_indices(weights, feature_names(self))] = list(weights.values())
        self._learned(coef, Standard(np.zeros(len(coef)), np.ones(len(coef))), 0)
