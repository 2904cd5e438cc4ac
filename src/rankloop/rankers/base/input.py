"""The arguments of `fit` and `predict`: conversion and checks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Singles
from rankloop.data import RankingDataset
from rankloop.data.columns.check import features, ids
from rankloop.data.columns.group import Grouping, group_rows
from rankloop.data.from_frame import categories_of, feature_matrix

__all__ = [
    "feature_rows",
    "frame_categories",
    "group_by_query",
    "one_qid",
    "refuse_ignored",
    "refuse_other_features",
    "refuse_without_order",
    "training_sets",
]

_OPTIONAL = ("query_weight", "item_weight", "position", "pairs")


def training_sets(
    X: Any, y: Any, valid: RankingDataset | None, qid: ArrayLike | None, *, features: bool = True
) -> tuple[RankingDataset, RankingDataset | None]:
    """The data sets behind `fit(train, valid)` or `fit(X, y, qid=...)`."""
    if isinstance(X, RankingDataset):
        if isinstance(y, RankingDataset):
            if valid is not None:
                raise ValueError("fit(train, valid) got two validation sets; give one")
            y, valid = None, y
        if y is not None or qid is not None:
            raise ValueError("fit(train) takes labels and queries from the data set; leave out y and qid")
        train = X
    else:
        if y is None or isinstance(y, RankingDataset):
            raise ValueError("fit(X, y, qid=...) needs labels: one y per row, or a RankingDataset as X")
        if qid is None:
            raise ValueError(
                "fit(X, y) needs qid: one query id per row says which documents compete with each other "
                "(searches of scikit-learn pass it on under set_config(enable_metadata_routing=True))"
            )
        values, names = feature_rows(X)
        train = RankingDataset(values, y, qid, feature_names=names)
    if valid is not None and not isinstance(valid, RankingDataset):
        raise ValueError(f"valid must be a RankingDataset, got {type(valid).__name__}")
    if train.n_documents == 0:
        raise ValueError("the training set has no documents")
    if features and train.n_features == 0:
        raise ValueError(
            "the training set has no features, so there is nothing to rank by; give at least one"
        )
    return train, valid


def feature_rows(
    X: Any, categories: Mapping[str, Sequence[str]] | None = None
) -> tuple[Singles, Sequence[str] | None]:
    """Features as float32 rows, and their names where X (a data set, a frame) has them.

    The categories of a frame become codes: those of the training, where they are given.
    """
    if isinstance(X, RankingDataset):
        return X.X, X.feature_names
    columns = getattr(X, "columns", None)
    if columns is None:
        return np.ascontiguousarray(features(X)), None
    named = all(isinstance(column, str) for column in columns)
    return feature_matrix(X, categories), list(columns) if named else None


def frame_categories(X: Any) -> dict[str, list[str]]:
    """The categories of a frame's categorical columns; none of anything else."""
    return {} if isinstance(X, RankingDataset) or not hasattr(X, "columns") else categories_of(X)


def one_qid(qid: ArrayLike | None, groups: ArrayLike | None) -> ArrayLike | None:
    """`groups` is scikit-learn's name for `qid`; if both are given they must agree."""
    if qid is not None and groups is not None and not np.array_equal(np.asarray(qid), np.asarray(groups)):
        raise ValueError("qid and groups differ; both mean one query id per row, give one of them")
    return groups if qid is None else qid


def group_by_query(qid: ArrayLike, n: int) -> Grouping:
    return group_rows(ids(qid, n, "qid"))


def refuse_ignored(train: RankingDataset, honours: frozenset[str], what: str, instead: str) -> None:
    """Refuse the optional fields of the data set that `what` would ignore."""
    for name in _OPTIONAL:
        if getattr(train, name) is not None and name not in honours:
            raise ValueError(
                f"{what} would ignore the {name} of this data set; {instead}, "
                f"or leave it out with data.replace({name}=None)"
            )


def refuse_without_order(train: RankingDataset) -> None:
    if train.pairs is not None and len(train.pairs):
        return
    first = train.y[train.offsets[:-1]]
    if np.array_equal(train.y, np.repeat(first, train.lengths)):
        raise ValueError(
            "no query has two documents with different labels, so there is no order to learn; "
            "check that y holds the labels and qid the queries"
        )


def refuse_constant(train: RankingDataset) -> None:
    """Refuse features of which none has two values, a missing one included."""
    first = train.X[:1]
    if not any(bool(_differs(column, first[0, at])) for at, column in enumerate(train.X.T)):
        raise ValueError(
            f"no feature tells the {train.n_documents:,} documents apart: each has one value in "
            "all of them; check the features, and how the data were read"
        )


def _differs(column: Singles, value: np.float32) -> np.bool:
    return (~np.isnan(column)).any() if np.isnan(value) else (column != value).any()


def refuse_other_features(
    what: str, names: Sequence[str] | None, number: int, trained: Sequence[str] | None, expected: int
) -> None:
    if number != expected:
        raise ValueError(
            f"{what} has {number} features but the ranker was trained on {expected}; "
            "give the same features in the same order"
        )
    if names is None or trained is None or list(names) == list(trained):
        return
    missing = [name for name in trained if name not in set(names)]
    if missing:
        raise ValueError(
            f"{what} lacks the feature {missing[0]!r} the ranker was trained on "
            f"({len(missing)} missing); give the features named in feature_names_in_"
        )
    at = next(i for i, (new, old) in enumerate(zip(names, trained, strict=True)) if new != old)
    raise ValueError(
        f"{what} has the trained features in another order: column {at} is {names[at]!r}, "
        f"was {trained[at]!r}; reorder the columns by feature_names_in_"
    )
