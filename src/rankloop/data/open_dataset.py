"""Whatever form a data set has on disk: told from its name, opened, written."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankloop.data.ranking_dataset import RankingDataset
from rankloop.data.save import load_dataset, save
from rankloop.data.svmlight.read_svmlight import read_svmlight
from rankloop.data.svmlight.write_svmlight import write_svmlight

__all__ = ["form_of", "open_dataset", "write_dataset"]

_TEXT = (".txt", ".svm", ".svmlight", ".libsvm", ".letor", ".dat", ".train", ".test", ".vali", ".valid")
_PACKED = (".gz", ".zst")


def form_of(path: str | Path, *, writing: bool = False) -> str:
    """`"svmlight"`, `"parquet"` or `"folder"`; a file with any other name is taken for SVMLight text.

    >>> form_of("train.txt.gz"), form_of("train.parquet"), form_of("train", writing=True)
    ('svmlight', 'parquet', 'folder')
    """
    named = Path(path)
    if named.suffix in (".parquet", ".pq"):
        return "parquet"
    if named.suffix in (*_TEXT, *_PACKED) and not named.is_dir():
        return "svmlight"
    return "folder" if writing or named.is_dir() else "svmlight"


def open_dataset(path: str | Path | Sequence[str | Path], **options: Any) -> RankingDataset:
    """Read SVMLight text (one path or several), a Parquet file or a saved folder.

    `options` are those of `read_svmlight`, `read_parquet` or `load_dataset`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "set"
    >>> write_dataset(RankingDataset([[1.0], [2.0]], [0, 1], ["a", "a"]), path)
    >>> open_dataset(path)
    RankingDataset(1 queries, 2 documents, 1 features)
    """
    if not isinstance(path, str | Path):
        return read_svmlight(path, **options)
    form = form_of(path)
    if form == "svmlight":
        return read_svmlight(path, **options)
    if form == "folder":
        return load_dataset(path, **options)
    from rankloop.data import read_parquet

    return read_parquet(path, **options)


def write_dataset(dataset: RankingDataset, path: str | Path, **options: Any) -> None:
    """Write the form that the name asks for: text, Parquet, or a saved folder for any other name."""
    form = form_of(path, writing=True)
    if form == "svmlight":
        write_svmlight(dataset, path, **options)
    elif form == "folder":
        save(dataset, path, **options)
    else:
        from rankloop.data import write_parquet

        write_parquet(dataset, path, **options)
