"""What a column must be, and the sentence for one that is not."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.data.columns.group import Grouping
from rankloop.data.pairs import Pairs

__all__ = ["column", "features", "ids", "labels", "names", "pairs", "query_indices", "sizes", "warn_of_empty"]


def features(X: ArrayLike) -> NDArray[np.float32]:
    array = X if isinstance(X, np.memmap) else np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X must be rows × features, got an array of shape {array.shape}")
    if array.dtype == np.float32:
        return array
    if array.dtype.kind not in "fiub":
        raise ValueError(f"X must hold numbers, got dtype {array.dtype}; encode text columns first")
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
    if array.dtype.kind == "f" and np.any(np.isinf(single) & np.isfinite(array)):
        row, feature = np.argwhere(np.isinf(single) & np.isfinite(array))[0]
        raise ValueError(
            f"feature {feature} of row {row} is {array[row, feature]}, too large for float32; scale it"
        )
    return single


def warn_of_empty(X: NDArray[np.float32], names: Sequence[str] | None, where: str = "") -> None:
    """Say which features have no value in any row; only those that lack one in the first row can."""
    if len(X) < 2:
        return
    empty = [at for at in np.flatnonzero(np.isnan(X[0])).tolist() if np.isnan(X[:, at]).all()]
    if empty:
        first = empty[0] + 1 if names is None else repr(names[empty[0]])
        others = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        warnings.warn(
            f"{where}feature {first}{others} has no value in any of the {len(X)} rows; "
            "leave it out, or check how the file was read",
            stacklevel=3,
        )


def column(values: ArrayLike, rows: int, name: str, dtype: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != rows:
        raise ValueError(f"{name} needs one value per row ({rows}), got shape {array.shape}")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, got dtype {array.dtype}")
    if np.dtype(dtype).kind == "f":
        with np.errstate(over="ignore"):
            single = array.astype(dtype)
        if name != "y" and not np.all(np.isfinite(single)):
            row = int(np.argmin(np.isfinite(single)))
            raise ValueError(f"{name} must be finite, got {array[row]} in row {row}")
        if name != "y" and np.any(single < 0):
            row = int(np.argmax(single < 0))
            raise ValueError(f"{name} is >= 0, got {array[row]} in row {row}")
        return single
    if array.dtype.kind == "f" and not np.all(array == np.round(array)):
        row = int(np.argmin(array == np.round(array)))
        raise ValueError(f"{name} must hold whole numbers, got {array[row]} in row {row}")
    beyond = (array < 1) | (array > np.iinfo(dtype).max)
    if beyond.any():
        row = int(np.argmax(beyond))
        limit = "starts at 1" if array[row] < 1 else f"ends at {np.iinfo(dtype).max}"
        raise ValueError(f"{name} {limit}, got {array[row]} in row {row}")
    return array.astype(dtype)


def ids(values: ArrayLike, rows: int, name: str) -> NDArray[Any]:
    """Ids as int64 or as text; whatever is neither is written as text."""
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != rows:
        raise ValueError(f"{name} needs one id per row ({rows}), got shape {array.shape}")
    if array.dtype.kind in "iub":
        fits = array.dtype != np.uint64 or not np.any(array >= 2**63)
        return array.astype(np.int64 if fits else np.str_)
    if array.dtype.kind == "f":
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} is missing in row {int(np.argmin(np.isfinite(array)))}")
        if np.all((array == np.round(array)) & (np.abs(array) < 2**63)):
            return array.astype(np.int64)
    if array.dtype.kind == "O":
        absent = np.array([_absent(value) for value in array.tolist()], bool)
        if absent.any():
            raise ValueError(f"{name} is missing in row {int(absent.argmax())}")
    if array.dtype.kind == "T":
        array = np.array(array.tolist(), dtype=object)
    return array.astype(np.str_)


def _absent(value: object) -> bool:
    """None, nan, and what compares with itself to something that is neither true nor false (pandas' NA)."""
    differs = value != value
    return value is None or not isinstance(differs, bool | np.bool_) or bool(differs)


def labels(y: NDArray[np.float32], offsets: NDArray[np.int64], qid: NDArray[Any]) -> None:
    right = np.isfinite(y) & (y >= 0)
    if right.all():
        return
    row = int(np.argmin(right))
    query = qid[int(np.searchsorted(offsets, row, "right")) - 1]
    raise ValueError(
        f"labels must be finite and >= 0, got {y[row]:g} in query {query} (row {row} once grouped); "
        "drop the row or set it to 0"
    )


def names(feature_names: Sequence[str] | None, n_features: int) -> tuple[str, ...] | None:
    if feature_names is None:
        return None
    given = tuple(str(name) for name in feature_names)
    if len(given) != n_features:
        raise ValueError(f"X has {n_features} features but feature_names has {len(given)}")
    if len(set(given)) != len(given):
        twice = next(name for name in given if given.count(name) > 1)
        raise ValueError(f"feature name {twice!r} appears more than once; names are unique")
    return given


def pairs(given: Pairs, grouping: Grouping) -> Pairs:
    """The pairs by their rows once grouped; both documents of a pair belong to one query."""
    rows = int(grouping.offsets[-1])
    for side in (given.better, given.worse):
        if len(side) and (side.min() < 0 or side.max() >= rows):
            at = int(np.argmax((side < 0) | (side >= rows)))
            raise ValueError(f"pair {at} names row {side[at]}, but the rows are 0 to {rows - 1}")
    moved = given.moved(grouping.new_row())
    first = np.searchsorted(grouping.offsets, moved.better, "right")
    second = np.searchsorted(grouping.offsets, moved.worse, "right")
    if np.any(first != second):
        at = int(np.argmax(first != second))
        raise ValueError(
            f"pair {at} joins query {grouping.qid[first[at] - 1]} with query "
            f"{grouping.qid[second[at] - 1]}; a pair compares documents of one query"
        )
    return moved


def sizes(values: ArrayLike, rows: int) -> NDArray[np.int64]:
    counts = np.asarray(values)
    if counts.ndim != 1 or counts.dtype.kind not in "iu":
        raise ValueError("sizes needs one whole number per query")
    if np.any(counts < 1):
        at = int(np.argmax(counts < 1))
        raise ValueError(f"query {at + 1} has size {counts[at]}; drop queries without documents")
    if counts.sum() != rows:
        raise ValueError(
            f"the sizes sum to {counts.sum()} but there are {rows} rows; "
            "the sizes do not belong to these rows"
        )
    return counts.astype(np.int64)


def query_indices(queries: ArrayLike, n_queries: int) -> NDArray[np.int64]:
    chosen = np.asarray(queries)
    if chosen.dtype == bool:
        if len(chosen) != n_queries:
            raise ValueError(f"a mask needs one entry per query ({n_queries}), got {len(chosen)}")
        return np.flatnonzero(chosen)
    if chosen.size == 0:
        return np.zeros(0, np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError("select takes indices of queries or a mask over queries")
    wrong = (chosen < -n_queries) | (chosen >= n_queries)
    if wrong.any():
        raise ValueError(f"query index {chosen[wrong][0]} is out of range for {n_queries} queries")
    counts = np.bincount(chosen % n_queries)
    if counts.max() > 1:
        raise ValueError(f"query index {int(counts.argmax())} is chosen twice; queries are unique")
    return (chosen % n_queries).astype(np.int64)
