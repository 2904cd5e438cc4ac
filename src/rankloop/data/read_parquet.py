"""Data sets in Parquet files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankloop._atomic import replacing
from rankloop.data.files.frames import read_by_polars
from rankloop.data.files.table_bound import check_table
from rankloop.data.from_frame import from_frame, to_frame
from rankloop.data.ranking_dataset import RankingDataset

__all__ = ["read_parquet", "write_parquet"]


def read_parquet(
    path: str | Path | Sequence[str | Path], *, largest: int | None = None, **columns: Any
) -> RankingDataset:
    """Read one file, or several as one; `columns` says which column has which role, as in `from_frame`.

    A file that needs more than `largest` bytes of memory is refused, by default 1000 times its size.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "data.parquet"
    >>> write_parquet(RankingDataset([[7.5]], [1], ["a"], feature_names=["bm25"]), path)
    >>> read_parquet(path).feature_names
    ('bm25',)
    """
    import polars

    files = [Path(one) for one in ([path] if isinstance(path, str | Path) else path)]
    if not files:
        raise ValueError("read_parquet needs at least one file, got none")
    tables = []
    for file in files:
        if not file.is_file():
            raise FileNotFoundError(f"{file}: no such file")
        with read_by_polars(f"{file} is damaged or not a Parquet file, write it again"):
            check_table(file, "parquet", largest)
            tables.append(polars.read_parquet(file))
        if tables[-1].schema != tables[0].schema:
            odd = set(tables[-1].schema.items()) ^ set(tables[0].schema.items())
            name = min((name for name, _ in odd), default="the order of columns")
            raise ValueError(
                f"{file} and {files[0]} differ in column {name!r}; give all the same columns and types"
            )
    return from_frame(polars.concat(tables), **columns)


def write_parquet(data: RankingDataset, path: str | Path) -> None:
    """Write all columns but pairs, which do not fit in a table."""
    if data.pairs is not None:
        raise ValueError(
            "Parquet holds one row per document and cannot hold pairs; "
            "use save_dataset(), or drop them with replace(pairs=None)"
        )
    table = to_frame(data)
    with replacing(path) as beside:
        table.write_parquet(beside)
