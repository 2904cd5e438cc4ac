"""Counts and oddities of a data set."""

from dataclasses import asdict, dataclass
from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Array, Ints, Singles
from rankloop._table import Table
from rankloop.data.ranking_dataset import RankingDataset

__all__ = ["Description", "describe"]

_CELLS = 4_000_000  # of a memory-mapped set in memory at a time; it is read once


@dataclass(frozen=True)
class Description:
    """What `describe` found in a data set; prints as a table.

    `duplicate_rows` counts documents whose features equal those of an earlier document of the same
    query, whatever their labels. `constant_features` have one value and none missing;
    `missing_features` have only missing values. Features are named, or numbered from 1 as in files.
    """

    queries: int
    documents: int
    features: int
    labels: dict[str, int]
    length_min: int
    length_median: float
    length_mean: float
    length_max: int
    queries_without_relevant: int
    queries_with_one_grade: int
    duplicate_rows: int
    constant_features: tuple[str, ...]
    missing_features: tuple[str, ...]
    missing_share: float

    def to_dict(self) -> dict[str, Any]:
        """The figures by name, ready for JSON."""
        plain = asdict(self)
        return plain | {name: list(plain[name]) for name in ("constant_features", "missing_features")}

    def table(self) -> Table:
        """The figures as a table, for notebooks and papers."""
        return Table(("", ""), [(name, value.replace("\n", ", ")) for name, value in self._rows()], left=2)

    def _repr_html_(self) -> str:
        return self.table().html()

    def __str__(self) -> str:
        try:
            from rich.console import Console
        except ModuleNotFoundError:
            return "\n".join(f"{name:<26} {value}" for name, value in self._rows())
        page = Console(file=StringIO(), width=100)
        with page.capture() as text:
            page.print(self)
        return text.get().rstrip()

    def __rich__(self) -> Any:
        from rich.table import Table as RichTable

        table = RichTable(show_header=False)
        for row in self._rows():
            table.add_row(*row)
        return table

    def _rows(self) -> list[tuple[str, str]]:
        total = max(1, self.documents)
        grades = [f"{label}: {n:,} ({n / total:.1%})" for label, n in self.labels.items()]
        lengths = f"{self.length_min:,} / {self.length_median:,g} / {self.length_mean:,.1f} / "
        return [
            ("queries", f"{self.queries:,}"),
            ("documents", f"{self.documents:,}"),
            ("features", f"{self.features:,}"),
            ("labels", "\n".join(grades)),
            ("list length", f"{lengths}{self.length_max:,} (least, median, mean, most)"),
            ("lists without relevant", f"{self.queries_without_relevant:,}"),
            ("lists with one grade", f"{self.queries_with_one_grade:,}"),
            ("duplicate rows", f"{self.duplicate_rows:,}"),
            ("constant features", _some(self.constant_features)),
            ("features without a value", _some(self.missing_features)),
            ("missing values", f"{self.missing_share:.2%}"),
        ]


def describe(data: RankingDataset) -> Description:
    """Count the queries, documents and labels of a data set, and what is odd about them.

    >>> data = RankingDataset([[1.0, 5.0], [2.0, 5.0], [2.0, 5.0]], [0, 1, 1], ["a", "a", "a"])
    >>> found = describe(data)
    >>> found.duplicate_rows, found.constant_features, found.labels
    (1, ('2',), {'0': 1, '1': 2})
    """
    names = np.array(data.feature_names or [str(j) for j in range(1, data.n_features + 1)])
    low, high, missing, hashes = _scan(data.X)
    best = np.maximum.reduceat(data.y, data.offsets[:-1]) if data.n_queries else data.y
    worst = np.minimum.reduceat(data.y, data.offsets[:-1]) if data.n_queries else data.y
    lengths = data.lengths if data.n_queries else np.zeros(1, np.int64)
    return Description(
        queries=data.n_queries,
        documents=data.n_documents,
        features=data.n_features,
        labels=_histogram(data.y),
        length_min=int(lengths.min()),
        length_median=float(np.median(lengths)),
        length_mean=float(lengths.mean()),
        length_max=int(lengths.max()),
        queries_without_relevant=int((best <= 0).sum()),
        queries_with_one_grade=int((best == worst).sum()),
        duplicate_rows=_repeated(data.row_query, hashes),
        constant_features=tuple(names[(missing == 0) & (low == high)].tolist()),
        missing_features=tuple(names[missing == max(1, data.n_documents)].tolist()),
        missing_share=float(missing.sum() / max(1, data.X.size)),
    )


def _scan(X: Singles) -> tuple[Array, Array, Array, Array]:
    """Least and greatest value and number missing of each feature, and a hash of each row."""
    rows, features = X.shape
    low, high = np.full(features, np.nan, np.float32), np.full(features, np.nan, np.float32)
    missing, hashes = np.zeros(features, np.int64), np.zeros(rows, np.uint64)
    random = np.random.default_rng(0)
    factors = random.integers(0, 2**64, features, np.uint64, endpoint=False) | np.uint64(1)
    step = max(1, _CELLS // max(1, features))
    for start in range(0, rows, step):
        part = np.asarray(X[start : start + step]) + np.float32(0)  # -0 becomes 0
        low = np.fmin(low, np.fmin.reduce(part, axis=0))
        high = np.fmax(high, np.fmax.reduce(part, axis=0))
        absent = np.isnan(part)
        missing += absent.sum(axis=0)
        part[absent] = np.nan  # one bit pattern for all of them
        hashes[start : start + step] = part.view(np.uint32).astype(np.uint64) @ factors
    return low, high, missing, hashes


def _repeated(query: Ints, hashes: NDArray[np.uint64]) -> int:
    order = np.lexsort((hashes, query))
    same = (query[order][1:] == query[order][:-1]) & (hashes[order][1:] == hashes[order][:-1])
    return int(same.sum())


def _histogram(y: Singles) -> dict[str, int]:
    """Documents of each grade, or of ten ranges where there are more than twenty grades."""
    grades, counts = np.unique(y, return_counts=True)
    if len(grades) <= 20:
        return {f"{grade:g}": int(n) for grade, n in zip(grades, counts, strict=True)}
    counts, edges = np.histogram(y.astype(np.float64), bins=10)
    return {f"{edges[i]:.3g} to {edges[i + 1]:.3g}": int(n) for i, n in enumerate(counts)}


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"{len(names):,}" + (f" ({shown})" if names else "")
