"""Data sets from and to tables: polars, pandas and Arrow."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._arrays import Array, Floats, Singles
from rankloop._names import unknown
from rankloop.data.columns.check import warn_of_empty
from rankloop.data.ranking_dataset import RankingDataset

if TYPE_CHECKING:
    import polars

__all__ = ["as_polars", "from_frame", "to_frame"]

_OPTIONAL = ("docid", "query_text", "query_weight", "item_weight", "position")


def from_frame(
    frame: Any,
    *,
    label: str = "label",
    qid: str = "qid",
    features: Sequence[str] | None = None,
    docid: str | None = "docid",
    query_text: str | None = "query_text",
    query_weight: str | None = "query_weight",
    item_weight: str | None = "item_weight",
    position: str | None = "position",
) -> RankingDataset:
    """From a table with one row per document: polars (lazy too), pandas, or Arrow.

    The optional columns are used where they exist; None makes one a feature. All other columns are features
    unless `features` names them: numbers or booleans, where null means missing.

    >>> import polars
    >>> frame = polars.DataFrame({"qid": ["a", "b"], "label": [1, 0], "bm25": [7.5, None]})
    >>> data = from_frame(frame)
    >>> data.feature_names, data.X.tolist()
    (('bm25',), [[7.5], [nan]])
    """
    table = as_polars(frame)
    given = dict(zip(_OPTIONAL, (docid, query_text, query_weight, item_weight, position), strict=True))
    optional = {
        role: name
        for role, name in given.items()
        if name is not None and (name in table.columns or name != role)
    }
    for name in (label, qid, *optional.values(), *(features or ())):
        if name not in table.columns:
            raise unknown("column", name, table.columns)
    taken = {label, qid, *optional.values()}
    names = list(features) if features is not None else [c for c in table.columns if c not in taken]
    for name in names:
        if name in taken:
            raise ValueError(f"column {name!r} cannot be a feature and the label, an id or a weight as well")
    columns: dict[str, Any] = {
        role: _TAKEN.get(role, _numbers)(table[name]) for role, name in optional.items()
    }
    X = np.empty((table.height, len(names)), np.float32)
    for j, name in enumerate(names):
        X[:, j] = _feature(table[name])
    warn_of_empty(X, names)
    return RankingDataset(X, _numbers(table[label]), _ids(table[qid]), feature_names=names, **columns)


def to_frame(data: RankingDataset) -> "polars.DataFrame":
    """As a polars table with `qid`, `label`, the optional columns there are, and the features.

    Features without names are called f0, f1 and so on; missing values are nan. Pairs are left out.

    >>> to_frame(RankingDataset([[7.5]], [1], ["a"])).to_dicts()
    [{'qid': 'a', 'label': 1.0, 'f0': 7.5}]
    """
    import polars

    names = data.feature_names or tuple(f"f{j}" for j in range(data.n_features))
    text, weight = data.query_text, data.query_weight
    columns: dict[str, Array | None] = {
        "qid": data.row_qid,
        "docid": data.docid,
        "query_text": None if text is None else text[data.row_query],
        "label": data.y,
        "query_weight": None if weight is None else weight[data.row_query],
        "item_weight": data.item_weight,
        "position": data.position,
    }
    clash = set(columns) & set(names)
    if clash:
        raise ValueError(f"feature {min(clash)!r} has the name of another column; rename it first")
    present = {name: values for name, values in columns.items() if values is not None}
    return polars.DataFrame(present | {name: data.X[:, j] for j, name in enumerate(names)})


def as_polars(frame: Any) -> "polars.DataFrame":
    """A polars, pandas or Arrow table as polars."""
    import polars

    if isinstance(frame, polars.DataFrame):
        return frame
    if isinstance(frame, polars.LazyFrame):
        return frame.collect()
    if type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns"):
        return _from_pandas(frame)
    if hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__"):
        made = polars.from_arrow(frame)
        if isinstance(made, polars.DataFrame):
            return made
    raise ValueError(
        f"from_frame takes a polars, pandas or Arrow table, got {type(frame).__name__}; "
        "for arrays use RankingDataset(X, y, qid)"
    )


def _from_pandas(frame: Any) -> "polars.DataFrame":
    """Column by column through numpy, which does not need pyarrow."""
    import polars

    names = [str(name) for name in frame.columns]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"column {twice[0]!r} appears more than once; names are unique")
    columns = []
    for i, name in enumerate(names):
        values = frame.iloc[:, i]
        kind = getattr(values.dtype, "kind", "O")
        if kind in "fiub":
            whole = kind != "f" and not values.isna().any()
            columns.append(polars.Series(name, values.to_numpy() if whole else _floats(values)))
        else:
            absent = values.isna().tolist()
            cells = [None if no else cell for no, cell in zip(absent, values.tolist(), strict=True)]
            columns.append(polars.Series(name, cells, strict=False))
    return polars.DataFrame(columns)


def _floats(values: Any) -> Floats:
    numbers: Floats = values.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def _feature(column: "polars.Series") -> Singles:
    import polars

    if not (column.dtype.is_numeric() or column.dtype in (polars.Boolean, polars.Null)):
        raise ValueError(
            f"feature column {column.name!r} must hold numbers, got {column.dtype}; "
            "encode it, or name the feature columns with features=[...]"
        )
    single = column.cast(polars.Float32).to_numpy()
    if column.dtype == polars.Float64:
        beyond = np.isinf(single) & np.isfinite(column.to_numpy())
        if beyond.any():
            row = int(beyond.argmax())
            raise ValueError(
                f"column {column.name!r} holds {column[row]} in row {row}, too large for float32; scale it"
            )
    return single


def _numbers(column: "polars.Series") -> Array:
    import polars

    if not (column.dtype.is_numeric() or column.dtype == polars.Boolean):
        raise ValueError(f"column {column.name!r} must hold numbers, got {column.dtype}")
    if column.null_count():
        row = int(column.is_null().to_numpy().argmax())
        raise ValueError(f"column {column.name!r} is missing in row {row}; fill it or drop the row")
    if column.dtype.is_decimal():
        column = column.cast(polars.Float64)
    return column.to_numpy()


def _ids(column: "polars.Series") -> Array:
    import polars

    fits = column.dtype.is_numeric() and not column.dtype.is_decimal()
    if column.dtype == polars.UInt64 and column.max() is not None:
        fits = int(column.max()) < 2**63  # type: ignore[arg-type]  # polars types max() loosely
    if column.null_count():
        row = int(column.is_null().to_numpy().argmax())
        raise ValueError(f"column {column.name!r} is missing in row {row}; every row has an id")
    return column.to_numpy() if fits else column.cast(polars.String).to_numpy()


def _texts(column: "polars.Series") -> Array:
    import polars

    return column.cast(polars.String).fill_null("").to_numpy()


_TAKEN = {"docid": _ids, "query_text": _texts}  # the others are numbers
