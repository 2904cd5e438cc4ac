"""Data sets named on the command line: files, globs, addresses, and the columns of tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rankloop.data import RankingDataset
    from rankloop.rankers import Ranker

__all__ = ["TABLES", "Reading", "expanded", "read_names"]

TABLES = ("parquet", "csv", "jsonl")


@dataclass(frozen=True)
class Reading:
    """How data sets are read: which column of a table has which role, and the names of features in text."""

    qid: Annotated[
        str | None,
        typer.Option("--qid", help="For tables (CSV, ...): the column of query ids; by default qid."),
    ] = None
    label: Annotated[
        str | None, typer.Option("--label", help="For tables: the column of labels; by default label.")
    ] = None
    docid: Annotated[
        str | None, typer.Option("--docid", help="For tables: the column of document ids; by default docid.")
    ] = None
    feature_columns: Annotated[
        str | None,
        typer.Option(
            "--feature-columns",
            help="For tables: the feature columns, as in bm25,price; by default all others.",
        ),
    ] = None
    feature_names: Annotated[
        str | None,
        typer.Option("--feature-names", help="For SVMLight text: a file of feature names, one per line."),
    ] = None

    def dataset(
        self, path: str | Path, *, like: "Ranker | RankingDataset | None" = None, labels: bool = True
    ) -> "RankingDataset":
        """A data set with the features of `like`, where that is given; without `labels` none are needed."""
        from rankloop.data.open_dataset import kind_of_dataset, open_dataset

        source = expanded(path)
        if not labels:
            from rankloop.cli.options.unlabelled import labelled_text

            with labelled_text(source) as text:
                if text is not None:
                    return self._text(text, like)
        kind = kind_of_dataset(source)
        if kind not in TABLES:
            self.refuse_columns(path)
        if kind == "svmlight":
            return self._text(source, like)
        if self.feature_names is not None:
            raise ValueError(f"--feature-names is for SVMLight text, and {path} has names of its own")
        if kind in TABLES:
            return open_dataset(source, **self.columns(source, like=like, labels=labels))
        return open_dataset(source)

    def refuse_columns(self, path: str | Path) -> None:
        """Columns have no meaning for a file that is no table."""
        for name in ("qid", "label", "docid", "feature_columns"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"--{name.replace('_', '-')} is for tables, and {path} is not a table; leave it out"
                )

    def ranking(self, path: str | Path, judgments: str | Path) -> Any:
        """What `evaluate` takes; scores come in the order of the rows of the file of judgments."""
        import numpy as np

        from rankloop.cli.options.inputs import read_ranking
        from rankloop.cli.options.row_order import in_query_order
        from rankloop.data.kind_of import DATASETS, kind_of

        found = read_ranking(path)
        if not isinstance(found, np.ndarray) or str(judgments) == "-":
            return found
        source = expanded(judgments)
        if kind_of(source if isinstance(source, str) else source[0]) not in DATASETS:
            return found
        return in_query_order(found, source, self.qid or "qid")

    def _text(self, source: Any, like: Any) -> "RankingDataset":
        from rankloop.data.open_dataset import open_dataset

        names = None if self.feature_names is None else read_names(Path(self.feature_names))
        if names is None and like is not None and _names_of(like) is not None:
            names = list(_names_of(like) or ())
        width = len(names) if names is not None else getattr(like, "n_features_in_", None)
        width = width or getattr(like, "n_features", None)
        made = open_dataset(source, n_features=width)
        return made if names is None else made.replace(feature_names=names)

    def columns(self, source: Any, *, like: Any = None, labels: bool = True) -> dict[str, Any]:
        """The options of `from_frame` for a table."""
        chosen: dict[str, Any] = {"qid": self.qid or "qid", "label": self.label or "label"}
        if self.docid is not None:
            chosen["docid"] = self.docid
        if not labels and self.label is None and "label" not in _header(source):
            chosen["label"] = None
        if self.feature_columns is not None:
            chosen["features"] = [one.strip() for one in self.feature_columns.split(",") if one.strip()]
        elif like is not None and _names_of(like) is not None:
            chosen["features"] = list(_names_of(like) or ())
        return chosen


def expanded(path: str | Path) -> str | list[str]:
    """A path or address as it is; the files of a glob that the shell left alone.

    >>> expanded("s3://bucket/set"), expanded("train.txt")
    ('s3://bucket/set', 'train.txt')
    """
    import glob

    text = str(path)
    if "://" in text or Path(text).exists() or not glob.has_magic(text):
        return text
    found = sorted(glob.glob(text))
    if not found:
        raise FileNotFoundError(f"no file matches {text}")
    return found[0] if len(found) == 1 else found


def _names_of(like: Any) -> tuple[str, ...] | None:
    names = getattr(like, "feature_names_in_", None)
    names = getattr(like, "feature_names", None) if names is None else names
    return None if names is None else tuple(map(str, names))


def read_names(path: Path) -> list[str]:
    """One name on a line, in the order of the features; or a number and a name, as in XGBoost's maps."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of feature names {path}")
    lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if not lines:
        raise ValueError(f"{path} is empty; it should hold the name of a feature on each line")
    parts = [line.replace(":", " ", 1).split() for line in lines]
    if not all(len(part) > 1 and part[0].isdecimal() for part in parts):
        return lines
    numbers = [int(part[0]) for part in parts]
    first = min(numbers)
    if first > 1 or sorted(numbers) != list(range(first, first + len(numbers))):
        raise ValueError(f"{path} numbers features, but not all from 1 (or 0) to {max(numbers)}, each once")
    return [part[1] for _, part in sorted(zip(numbers, parts, strict=True))]


def _header(source: str | list[str]) -> list[str]:
    """The columns of a table."""
    import polars

    from rankloop.data.kind_of import kind_of

    first = source if isinstance(source, str) else source[0]
    scans: dict[str, Any] = {
        "parquet": polars.scan_parquet,
        "csv": polars.scan_csv,
        "jsonl": polars.scan_ndjson,
    }
    return list(scans[kind_of(first)](first).collect_schema())
