"""Data sets from and to tables: polars, pandas and Arrow."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._arrays import Array, Floats, Singles
from rankloop._names import unknown
from rankloop.data.columns.check import warn_of_empty
from rankloop.data.ranking_dataset import RankingDataset

if TYPE_CHECKING:
    import polars

__all__ = ["as_polars", "categories_of", "feature_matrix", "from_frame", "to_frame"]

_OPTIONAL = ("docid", "query_text", "query_weight", "item_weight", "position")


def from_frame(
    frame: Any,
    *,
    label: str | None = "label",
    qid: str = "qid",
    features: Sequence[str] | None = None,
    docid: str | None = "docid",
    query_text: str | None = "query_text",
    query_weight: str | None = "query_weight",
    item_weight: str | None = "item_weight",
    position: str | None = "position",
) -> RankingDataset:
    """Make a data set from a table with one row per document: polars (lazy too), pandas, or Arrow.

    The optional columns are used where they exist; None makes one a feature. All other columns are features
    unless `features` names them: numbers, booleans or categories (as their codes), where null means missing.
    Without labels (`label=None`) every document has label 0: to predict.

    >>> import polars
    >>> frame = polars.DataFrame({"qid": ["a", "b"], "label": [1, 0], "bm25": [7.5, None]})
    >>> data = from_frame(frame)
    >>> data.feature_names, data.X.tolist()
    (('bm25',), [[7.5], [nan]])
    """
    import polars

    table = as_polars(frame)
    given = dict(zip(_OPTIONAL, (docid, query_text, query_weight, item_weight, position), strict=True))
    optional = {
        role: name
        for role, name in given.items()
        if name is not None and (name in table.columns or name != role)
    }
    needed = [qid] if label is None else [label, qid]
    taken = {*needed, *optional.values()}
    for name in (*needed, *optional.values(), *(features or ())):
        if name not in table.columns:
            raise _no_column(name, table.columns, {"label": label, "qid": qid})
    names = list(features) if features is not None else [c for c in table.columns if c not in taken]
    for name in names:
        if name in taken:
            raise ValueError(f"column {name!r} cannot be a feature and the label, an id or a weight as well")
    columns: dict[str, Any] = {
        role: _TAKEN.get(role, _numbers)(table[name]) for role, name in optional.items()
    }
    for name in names:
        if isinstance(table[name].dtype, polars.Categorical):
            raise ValueError(
                f"column {name!r} is Categorical, which does not say how its categories are numbered; "
                "cast it to polars.Enum([...])"
            )
    X = feature_matrix(table.select(names)) if names else np.empty((table.height, 0), np.float32)
    warn_of_empty(X, names)
    y = np.zeros(table.height, np.float32) if label is None else _numbers(table[label])
    return RankingDataset(X, y, _ids(table[qid]), feature_names=names, **columns)


def _no_column(name: str, columns: Sequence[str], roles: Mapping[str, str | None]) -> ValueError:
    """The error for a column that is not there; one that has its usual name was probably not named at all."""
    error = unknown("column", name, columns)
    if roles.get(name) != name:
        return error
    start = f"unknown column {name!r}"
    return ValueError(f"{start}; name yours with {name}=...{str(error).removeprefix(start)}")


def to_frame(data: RankingDataset) -> "polars.DataFrame":
    """A polars table of a data set: `qid`, `label`, the optional columns that it has, and the features.

    Features without names are called f1, f2 and so on, by their numbers in SVMLight files; missing values are
    nan. Pairs are left out.

    >>> to_frame(RankingDataset([[7.5]], [1], ["a"])).to_dicts()
    [{'qid': 'a', 'label': 1.0, 'f1': 7.5}]
    """
    import polars

    names = data.feature_names or tuple(f"f{j}" for j in range(1, data.n_features + 1))
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


def feature_matrix(frame: Any, categories: Mapping[str, Sequence[str]] | None = None) -> Singles:
    """The columns of a table as features; `categories` numbers those of the columns that it names.

    >>> import polars
    >>> colour = polars.Series("colour", ["red", "blue", None], dtype=polars.Enum(["blue", "red"]))
    >>> feature_matrix(polars.DataFrame([colour])).T
    array([[ 1.,  0., nan]], dtype=float32)
    >>> feature_matrix(polars.DataFrame([colour]), {"colour": ["red"]}).T
    array([[ 0., nan, nan]], dtype=float32)
    """
    table = as_polars(frame)
    X = np.empty((table.height, table.width), np.float32)
    for j, column in enumerate(table):
        X[:, j] = _feature(column, (categories or {}).get(column.name))
    return X


def categories_of(frame: Any) -> dict[str, list[str]]:
    """The categories of the categorical columns of a table, in the order of their codes."""
    import polars

    table = as_polars(frame)
    return {one.name: _declared(one) for one in table if one.dtype in (polars.Categorical, polars.Enum)}


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
        if hasattr(values, "cat"):
            declared = polars.Enum([str(one) for one in values.cat.categories])
            cells = [None if no else str(cell) for no, cell in zip(values.isna(), values, strict=True)]
            columns.append(polars.Series(name, cells, dtype=declared))
        elif kind in "fiub":
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


def _feature(column: "polars.Series", categories: Sequence[str] | None = None) -> Singles:
    import polars

    if categories is not None or column.dtype in (polars.Categorical, polars.Enum):
        return _codes(column, categories)
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


def _codes(column: "polars.Series", categories: Sequence[str] | None) -> Singles:
    """Categories as numbers, in the order given or declared; null and other categories are nan."""
    import polars

    known = _declared(column) if categories is None else list(categories)
    codes = column.cast(polars.String).replace_strict(
        known, range(len(known)), default=None, return_dtype=polars.Float32
    )
    return codes.to_numpy()


def _declared(column: "polars.Series") -> list[str]:
    """The categories of a column; those of a polars Categorical, which declares none, are sorted."""
    import polars

    if isinstance(column.dtype, polars.Enum):
        return column.dtype.categories.to_list()
    return sorted(column.cast(polars.String).drop_nulls().unique().to_list())


def _numbers(column: "polars.Series") -> Array:
    import polars

    if not (column.dtype.is_numeric() or column.dtype == polars.Boolean):
        raise ValueError(f"column {column.name!r} must hold numbers, got {column.dtype}")
    if column.null_count():
        row = int(column.is_null().to_numpy().argmax())
        raise ValueError(f"column {column.name!r} is missing in row {row}; fill it or drop the row")
    if column.dtype.is_decimal() or _is_wide(column):
        column = column.cast(polars.Float64)
    return column.to_numpy()


def _is_wide(column: "polars.Series") -> bool:
    """Whether a column has whole numbers that numpy has no type for."""
    return column.dtype.is_integer() and "128" in str(column.dtype)


def _ids(column: "polars.Series") -> Array:
    import polars

    fits = column.dtype.is_numeric() and not column.dtype.is_decimal() and not _is_wide(column)
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
