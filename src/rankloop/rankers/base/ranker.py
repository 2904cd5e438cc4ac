"""The base class of all rankers."""

from abc import abstractmethod
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from rankloop._archive import Member
from rankloop._arrays import Floats, Ints, Singles
from rankloop.data import RankingDataset
from rankloop.rankers.base.input import (
    feature_rows,
    frame_categories,
    group_by_query,
    one_qid,
    refuse_ignored,
    refuse_other_features,
    refuse_without_order,
    training_sets,
)
from rankloop.rankers.base.parameters import unknown_parameter

__all__ = ["Member", "Ranker"]


class Ranker(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """One score per document, learned from judged or logged lists.

    A new ranker is a dataclass of its keyword parameters (or stores them in its constructor) with four
    methods: `_fit(train, valid)`, `_scores(X, offsets)`, `_state()` and `_restore(state)`. Checks of data and
    features, saving and scikit-learn's conventions come from here. What was learned ends in `_`.
    """

    # Optional fields of a data set that the ranker honours: any other is refused, never ignored.
    _honours: ClassVar[frozenset[str]] = frozenset({"query_weight", "item_weight"})
    # Parameters without meaning after training (callbacks, threads): not saved.
    _unsaved: ClassVar[frozenset[str]] = frozenset()
    # Distributions whose versions a saved file records.
    _libraries: ClassVar[tuple[str, ...]] = ("numpy", "scikit-learn")
    # Without two different labels (or explicit pairs) in some list there is no order to learn.
    _needs_preferences: ClassVar[bool] = True
    # Whether it learns from the columns of X, as all do but those that read texts.
    _needs_features: ClassVar[bool] = True

    # Metadata routing: `GridSearchCV(ranker, ...).fit(X, y, groups=qid)` reaches every place that needs it.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "groups": True, "valid": True}
    __metadata_request__predict: ClassVar[dict[str, Any]] = {"qid": True, "groups": True}
    __metadata_request__score: ClassVar[dict[str, Any]] = {"qid": True, "groups": True}

    n_features_in_: int
    fingerprint_: str
    categories_: dict[str, list[str]]  # of categorical columns, where the training was given a frame
    metrics_: dict[str, dict[str, float]]
    propensity_: Floats | None

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """Refuse a parameter by the name of another library with its name here."""
        known = signature(cls.__init__).parameters
        if not any(one.kind is one.VAR_KEYWORD for one in known.values()):
            for name in given:
                if name not in known:
                    offered = [one for one in known if one != "self"]
                    raise TypeError(str(unknown_parameter(cls.__name__, name, offered)))
        made: Self = super().__new__(cls)
        return made

    @abstractmethod
    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        """Learn: set attributes that end in `_`; may add figures to `self.metrics_`, by name of the data."""

    @abstractmethod
    def _scores(self, X: Singles, offsets: Ints) -> Floats:
        """One score per row; a ranker that scores documents one by one ignores `offsets`."""

    @abstractmethod
    def _state(self) -> dict[str, Member]:
        """What was learned, as arrays, text or bytes by name, for `_restore`."""

    @abstractmethod
    def _restore(self, state: Mapping[str, Member]) -> None:
        """Set what `_state` returned; the parameters and the feature names are already set."""

    @property
    def needs_lists(self) -> bool:
        """Whether a score depends on the other documents of the list: `predict` then needs `qid`."""
        return False

    def fit(
        self,
        X: RankingDataset | ArrayLike,
        y: RankingDataset | ArrayLike | None = None,
        valid: RankingDataset | None = None,
        *,
        qid: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from a data set, `fit(train, valid)`, or from rows, `fit(X, y, qid=...)`.

        `groups` is what scikit-learn calls `qid`: one query id per row, rows in any order.
        """
        train, valid = training_sets(X, y, valid, one_qid(qid, groups), features=self._needs_features)
        refuse_ignored(train, self._honours, type(self).__name__, "choose a ranker that uses it")
        if self._needs_preferences:
            refuse_without_order(train)
        if valid is not None:
            refuse_other_features(
                "valid", valid.feature_names, valid.n_features, train.feature_names, train.n_features
            )
        self._forget()
        self.n_features_in_ = train.n_features
        if train.feature_names is not None:
            self.feature_names_in_ = np.array(train.feature_names, dtype=object)
        if categories := frame_categories(X):
            self.categories_ = categories
        self.fingerprint_ = train.fingerprint()
        self.metrics_ = {}
        self.propensity_ = None
        self._fit(train, valid)
        if valid is not None:
            self._record(valid)
        return self

    def predict(
        self, X: RankingDataset | ArrayLike, *, qid: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Floats:
        """One score per row, in the order of the rows; higher is better."""
        self._check_fitted()
        rows, names = feature_rows(X, getattr(self, "categories_", None))
        trained = self.feature_names_in_.tolist() if hasattr(self, "feature_names_in_") else None
        refuse_other_features("X", names, rows.shape[1], trained, self.n_features_in_)
        ids = one_qid(qid, groups)
        if isinstance(X, RankingDataset):
            if ids is not None:
                raise ValueError("predict(dataset) takes the queries from the data set; leave out qid")
            return self._scores(rows, X.offsets)
        if ids is None:
            if self.needs_lists:
                raise ValueError(
                    f"{type(self).__name__} scores a document by its list; "
                    "use predict(dataset) or predict(X, qid=...) with one query id per row"
                )
            return self._scores(rows, np.array([0, len(rows)], np.int64))
        grouping = group_by_query(ids, len(rows))
        scores = self._scores(grouping.apply(rows), grouping.offsets)
        return scores if grouping.order is None else scores[grouping.new_row()]

    def rank(self, X: RankingDataset | ArrayLike, *, qid: ArrayLike | None = None) -> Ints:
        """Row indices, best first: list after list for a data set or with `qid`, else X is one list."""
        if isinstance(X, RankingDataset):
            return np.lexsort((-self.predict(X), X.row_query))
        if qid is None:
            qid = np.zeros(len(feature_rows(X)[0]), np.int64)
        scores = self.predict(X, qid=qid)
        grouping = group_by_query(qid, len(scores))
        row_query = np.repeat(np.arange(len(grouping.qid)), np.diff(grouping.offsets))
        return np.lexsort((-scores, row_query[grouping.new_row()]))

    def score(
        self,
        X: RankingDataset | ArrayLike,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> float:
        """Mean NDCG@10: what scikit-learn's searches maximise by default."""
        from rankloop.rankers.ranking_scorer import ranking_scorer

        return ranking_scorer("ndcg@10")(self, X, y, qid=qid, groups=groups)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as in scikit-learn."""
        known = self.get_params()
        for name in params:
            if "__" not in name and name not in known:
                raise unknown_parameter(type(self).__name__, name, known)
        super().set_params(**params)
        return self

    def save(self, path: str | Path) -> None:
        """Write one file that `rankloop.load` reads; it contains no pickle."""
        from rankloop.rankers.saving.load import save

        save(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        return tags

    def _record(self, valid: RankingDataset) -> None:
        """Record the quality on the validation set, by the ranker's own metric where it has one."""
        from rankloop.metrics import metric

        chosen = metric(self.get_params(deep=False).get("metric") or "ndcg@10")
        values = chosen(
            self._scores(valid.X, valid.offsets), valid.y, valid.offsets, weight=valid.item_weight
        )
        mean = chosen.mean(values, valid.query_weight)
        if np.isfinite(mean):
            self.metrics_.setdefault("valid", {}).setdefault(str(chosen), mean)

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
