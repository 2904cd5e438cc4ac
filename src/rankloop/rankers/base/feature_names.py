"""Features of a ranker by name or number."""

from collections.abc import Iterable
from typing import Any

from rankloop._names import unknown
from rankloop.rankers.base.ranker import Ranker

__all__ = ["feature_index", "feature_indices", "feature_names", "numbered"]


def feature_names(ranker: Ranker) -> tuple[str, ...]:
    """The names that the training data had, or "feature 1", "feature 2", ... as in SVMLight files."""
    ranker._check_fitted()
    if hasattr(ranker, "feature_names_in_"):
        return tuple(str(name) for name in ranker.feature_names_in_)
    return numbered(ranker.n_features_in_)


def numbered(count: int) -> tuple[str, ...]:
    return tuple(f"feature {number}" for number in range(1, count + 1))


def feature_indices(wanted: Iterable[str | int], names: tuple[str, ...]) -> list[int]:
    """The indices of features given as text, by name or number from 1 as in files, or as columns from 0.

    >>> feature_indices(["bm25", "1", 0, 1], ("length", "bm25"))
    [1, 0, 0, 1]
    """
    return [feature_index(one, names) for one in wanted]


def feature_index(one: Any, names: tuple[str, ...]) -> int:
    if isinstance(one, str):
        if one in names:
            return names.index(one)
        if not one.isdecimal():
            raise unknown("feature", one, names)
        if not 1 <= int(one) <= len(names):
            raise ValueError(f"features are numbered from 1 to {len(names)} in text, got {one!r}")
        return int(one) - 1
    if not 0 <= int(one) < len(names):
        raise ValueError(f"columns are numbered from 0 to {len(names) - 1}, got {one}")
    return int(one)
