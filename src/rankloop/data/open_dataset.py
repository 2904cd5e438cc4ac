"""A data set in whatever form it has on disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankloop.data.files.frames import read_by_polars
from rankloop.data.files.table_bound import check_table
from rankloop.data.files.text import long_work
from rankloop.data.from_frame import from_frame
from rankloop.data.kind_of import DATASETS, KINDS, kind_of, listed
from rankloop.data.load_dataset import load_dataset
from rankloop.data.ranking_dataset import RankingDataset
from rankloop.data.read_parquet import read_parquet
from rankloop.data.svmlight.read_svmlight import read_svmlight

__all__ = ["kind_of_dataset", "open_dataset"]


def open_dataset(path: str | Path | Sequence[str | Path], **options: Any) -> RankingDataset:
    """Read SVMLight text or a Parquet, CSV or JSONL table (one path or several), a saved folder or shards.

    The content decides what a path is, not its name. `options` are those of `read_svmlight`, `read_parquet`
    (for all tables) or `load_dataset`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows"
    >>> _ = path.write_text("qid,label,bm25\\nq1,2,0.5\\n")
    >>> open_dataset(path)
    RankingDataset(1 queries, 1 documents, 1 features)
    """
    kind = kind_of_dataset(path)
    if kind == "svmlight":
        return read_svmlight(path, **options)
    if kind == "parquet":
        return read_parquet(path, **options)
    if kind in ("csv", "jsonl"):
        files = [path] if isinstance(path, str | Path) else path
        largest = options.pop("largest", None)
        return from_frame(_table([Path(file) for file in files], kind, largest), **options)
    assert isinstance(path, str | Path)
    if kind == "saved":
        return load_dataset(path, **options)
    from rankloop.data.shards.shards import open_shards

    return open_shards(path, **options).whole()


def _table(files: Sequence[Path], kind: str, largest: int | None) -> Any:
    """The rows of CSV or JSONL files of the same columns; a number may be whole in one and not in another."""
    import polars

    read = polars.read_csv if kind == "csv" else polars.read_ndjson
    tables = []
    with long_work(f"reading {files[0].name}", sum(file.stat().st_size for file in files)) as advance:
        for file in files:
            with read_by_polars(f"{file} cannot be read as {KINDS[kind]}"):
                check_table(file, kind, largest)
                tables.append(read(file, infer_schema_length=10_000))
            if tables[-1].columns != tables[0].columns:
                odd = set(tables[-1].columns) ^ set(tables[0].columns)
                name = min(odd, default="the order of columns")
                raise ValueError(
                    f"{file} and {files[0]} differ in column {name!r}; give all the same columns"
                )
            advance(file.stat().st_size)
    return polars.concat(tables, how="vertical_relaxed")


def kind_of_dataset(path: str | Path | Sequence[str | Path]) -> str:
    """The kind of a data set; several files are of one kind: SVMLight text, Parquet, CSV or JSONL."""
    if isinstance(path, str | Path):
        kind = kind_of(path, DATASETS)
        if kind not in DATASETS:
            raise ValueError(f"{path} is {KINDS[kind]}, not a data set; a data set is {listed(DATASETS)}")
        return kind
    kinds = {kind_of_dataset(one) for one in path} or {"svmlight"}
    if len(kinds) > 1 or not kinds <= {"svmlight", "parquet", "csv", "jsonl"}:
        raise ValueError(
            "several files are one data set if all are SVMLight text, or all are tables of one kind; "
            f"got {' and '.join(KINDS[kind] for kind in sorted(kinds))}: open them one by one"
        )
    return kinds.pop()
