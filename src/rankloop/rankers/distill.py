"""Knowledge distillation: a small ranker fitted to the scores of a large one."""

from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from rankloop._names import one_of
from rankloop.data import RankingDataset
from rankloop.rankers.base.per_list import normalised
from rankloop.rankers.base.ranker import Ranker

__all__ = ["distill", "soft_labels"]

R = TypeVar("R", bound=Ranker)


def distill(
    teacher: Ranker,
    student: R,
    data: RankingDataset,
    valid: RankingDataset | None = None,
    *,
    top: float = 4.0,
    scale: str = "set",
    mix: float = 0.0,
) -> R:
    """A copy of `student`, fitted to the teacher's scores as soft labels.

    The labels of `data` are not used, so queries without judgments work too; `valid` keeps its own labels.

    >>> from rankloop.data import synthetic
    >>> from rankloop.rankers import PointwiseRanker, RankSVM
    >>> data = synthetic(n_queries=20, docs_per_query=10, n_features=5, seed=0)
    >>> teacher = PointwiseRanker().fit(data)
    >>> student = distill(teacher, RankSVM(), data)
    >>> student.predict(data).shape == data.y.shape
    True
    """
    labelled = soft_labels(teacher, data, top=top, scale=scale, mix=mix)
    fitted: Any = clone(student).fit(labelled, valid)
    return fitted  # type: ignore[no-any-return] # scikit-learn's clone has no types


def soft_labels(
    teacher: Ranker, data: RankingDataset, *, top: float = 4.0, scale: str = "set", mix: float = 0.0
) -> RankingDataset:
    """The data set with the teacher's scores as labels, from 0 to `top`.

    `scale="set"` puts the scores of all queries on one scale: a list of nearly equal scores stays nearly
    flat. `scale="query"` stretches every list over the whole range, for teachers whose scores do not compare
    across queries. `mix` is the share of the true labels.
    """
    one_of("scale", scale, ("query", "set"))
    if not 0 <= mix < 1:
        raise ValueError(
            f"mix lies in [0, 1), got {mix}; with 1 the teacher has no part: fit the student alone"
        )
    if not (np.isfinite(top) and top > 0):
        raise ValueError(f"top must be a label above 0, got {top}")
    scores = teacher.predict(data)
    whole = np.array([0, len(scores)], np.int64)
    soft = top * normalised(scores, data.offsets if scale == "query" else whole, "minmax")
    return data.replace(y=(1 - mix) * soft + mix * data.y)
