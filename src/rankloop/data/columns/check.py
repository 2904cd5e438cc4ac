"""Checks of the columns of a data set, with an error that names the row or query."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Array, Ints, Singles
from rankloop._warn import warn
from rankloop.data.columns.group import Grouping
from rankloop.data.pairs import Pairs

__all__ = [
    "as_given",
    "column",
    "features",
    "ids",
    "labels",
    "names",
    "one_per_query",
    "optional_column",
    "pairs",
    "query_indices",
    "query_text",
    "query_weight",
    "sizes",
    "warn_of_empty",
]


def features(X: Any) -> Singles:
    """Rows × features in single precision; what a sparse matrix of scipy leaves out is 0."""
    if hasattr(X, "toarray"):
        with np.errstate(over="ignore"):
            single = X.astype(np.float32)
        if np.array_equal(np.isfinite(single.data), np.isfinite(X.data)):
            return np.ascontiguousarray(single.toarray())
        X = X.toarray()  # its error below names the row
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


def warn_of_empty(X: Singles, names: Sequence[str] | None, where: str = "") -> None:
    """Warn of features with no value in any row; only those missing in the first row are looked at."""
    if len(X) < 2:
        return
    empty = [at for at in np.flatnonzero(np.isnan(X[0])).tolist() if np.isnan(X[:, at]).all()]
    if empty:
        first = empty[0] + 1 if names is None else repr(names[empty[0]])
        others = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        warn(
            f"{where}feature {first}{others} has no value in any of the {len(X)} rows; "
            "leave it out, or check how the file was read"
        )


def column(values: ArrayLike, rows: int, name: str, dtype: Any) -> Array:
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


def optional_column(
    values: ArrayLike | None, grouping: Grouping, rows: int, name: str, dtype: Any
) -> Array | None:
    """A column in the order of the queries, where it is given."""
    if values is None:
        return None
    return grouping.apply(column(values, rows, name, dtype))


def query_weight(
    weight: ArrayLike | Mapping[Any, float] | None, grouping: Grouping, rows: int
) -> Singles | None:
    """One weight per query, from one per query, one per row, or a mapping from query ids."""
    if weight is None:
        return None
    if isinstance(weight, Mapping):
        missing = [query for query in grouping.qid.tolist() if query not in weight]
        if missing:
            raise ValueError(f"query_weight has no entry for query {missing[0]!r}")
        per_query = np.array([weight[query] for query in grouping.qid.tolist()], np.float32)
    else:
        values = np.asarray(weight).reshape(-1)
        if len(values) not in (len(grouping.qid), rows):
            raise ValueError(
                f"query_weight needs one value per query ({len(grouping.qid)}) or per row ({rows}), "
                f"got {len(values)}"
            )
        if len(values) == len(grouping.qid):
            with np.errstate(over="ignore"):
                per_query = values.astype(np.float32)
        else:
            by_row = grouping.apply(column(values, rows, "query_weight", np.float32))
            per_query = one_per_query(by_row, grouping, "query_weight differs", "give one weight per query")
    if not np.all(np.isfinite(per_query) & (per_query >= 0)):
        at = int(np.argmin(np.isfinite(per_query) & (per_query >= 0)))
        raise ValueError(f"query_weight is finite and >= 0, got {per_query[at]} in query {grouping.qid[at]}")
    return per_query


def query_text(texts: ArrayLike | Mapping[Any, str] | None, grouping: Grouping, rows: int) -> Array | None:
    """One text per query, from one per query, one per row, or a mapping; "" where it is not known."""
    if texts is None:
        return None
    if isinstance(texts, Mapping):
        return np.array([str(texts.get(query, "")) for query in grouping.qid.tolist()], np.str_)
    values = np.asarray(texts).reshape(-1)
    if len(values) not in (len(grouping.qid), rows):
        raise ValueError(
            f"query_text needs one text per query ({len(grouping.qid)}) or per row ({rows}), "
            f"got {len(values)}"
        )
    known: Array = values.astype(np.str_)
    if len(values) == len(grouping.qid):
        return known
    texts = one_per_query(grouping.apply(known), grouping, "query_text differs", "give one text per query")
    return np.asarray(texts)


def one_per_query(by_row: Any, grouping: Grouping, problem: str, advice: str) -> Any:
    """The value of each query, which all of its rows must share."""
    per_query = by_row[grouping.offsets[:-1]]
    differs = by_row != np.repeat(per_query, np.diff(grouping.offsets))
    if differs.any():
        at = int(np.searchsorted(grouping.offsets, int(differs.argmax()), "right")) - 1
        raise ValueError(f"{problem} within query {grouping.qid[at]}; {advice}")
    return per_query


def ids(values: ArrayLike, rows: int, name: str, each: str = "row") -> Array:
    """Ids as int64 where all are whole numbers that fit, else as text; `each` is what has one.

    >>> ids(np.array([3, 2**40], object), 2, "qid"), ids(["a", 3], 2, "qid")
    (array([            3, 1099511627776]), array(['a', '3'], dtype='<U21'))
    """
    array = as_given(values)
    if array.ndim != 1 or len(array) != rows:
        raise ValueError(f"{name} needs one id per {each} ({rows}), got shape {array.shape}")
    if array.dtype.kind in "iub":
        fits = array.dtype != np.uint64 or not np.any(array >= 2**63)
        return array.astype(np.int64 if fits else np.str_)
    if array.dtype.kind == "f":
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} is missing in row {int(np.argmin(np.isfinite(array)))}")
        if np.all((array == np.round(array)) & (np.abs(array) < 2**63)):
            return array.astype(np.int64)
    if array.dtype.kind == "O":
        listed = array.tolist()
        absent = np.array([_absent(value) for value in listed], bool)
        if absent.any():
            raise ValueError(f"{name} is missing in row {int(absent.argmax())}")
        if all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in listed):
            return array.astype(np.int64)
    if array.dtype.kind == "T":
        array = np.array(array.tolist(), dtype=object)
    return array.astype(np.str_)


def as_given(values: ArrayLike) -> Array:
    """An array in which whole numbers beyond int64, which numpy would round, are what they are.

    >>> as_given([2**63 + 1, 3]).tolist()
    [9223372036854775809, 3]
    """
    array = np.asarray(values)
    rounded = array.dtype.kind == "f" and isinstance(values, Sequence) and np.all(np.isfinite(array))
    return np.asarray(values, object) if rounded and np.any(np.abs(array) >= 2**63) else array


def _absent(value: object) -> bool:
    """Whether a value is None, nan, or pandas' NA (which compares with itself to neither true nor false)."""
    differs = value != value
    return value is None or not isinstance(differs, bool | np.bool_) or bool(differs)


def labels(y: Singles, offsets: Ints, qid: Array, order: Ints | None = None) -> None:
    """Labels are finite and at least 0; `order` has the row as it was given for each row once grouped."""
    right = np.isfinite(y) & (y >= 0)
    if right.all():
        return
    row = int(np.argmin(right))
    query = qid[int(np.searchsorted(offsets, row, "right")) - 1]
    given = row if order is None else int(order[row])
    raise ValueError(
        f"labels must be finite and >= 0, got {y[row]:g} in query {query} (row {given}); "
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


def sizes(values: ArrayLike, rows: int) -> Ints:
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


def query_indices(queries: ArrayLike, n_queries: int) -> Ints:
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
