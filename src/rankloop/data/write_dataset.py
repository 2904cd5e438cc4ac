"""A data set in the form that a name asks for."""

from pathlib import Path
from typing import Any

from rankloop.data.load_dataset import save_dataset
from rankloop.data.ranking_dataset import RankingDataset
from rankloop.data.read_parquet import write_parquet
from rankloop.data.svmlight.write_svmlight import write_svmlight

__all__ = ["form_of", "write_dataset"]

_TEXT = (".txt", ".svm", ".svmlight", ".libsvm", ".letor", ".dat", ".train", ".test", ".vali", ".valid")
_PACKED = (".gz", ".zst")


def write_dataset(dataset: RankingDataset, path: str | Path, **options: Any) -> None:
    """Write SVMLight text for .txt, .svm and the like (also .gz, .zst), Parquet, or else a saved folder.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "set"
    >>> write_dataset(RankingDataset([[1.0], [2.0]], [0, 1], ["a", "a"]), path)
    >>> path.is_dir()
    True
    """
    writers = {"svmlight": write_svmlight, "parquet": write_parquet, "saved": save_dataset}
    writers[form_of(path)](dataset, path, **options)  # type: ignore[operator] # each has its own options


def form_of(path: str | Path) -> str:
    """The kind of file that a name asks for: what is written has no content yet to tell it by.

    >>> form_of("train.txt.gz"), form_of("train.parquet"), form_of("train")
    ('svmlight', 'parquet', 'saved')
    """
    named = Path(path)
    if named.suffix in (".parquet", ".pq"):
        return "parquet"
    return "svmlight" if named.suffix in (*_TEXT, *_PACKED) and not named.is_dir() else "saved"
