"""The lists of documents that everything else works on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Array, Ints, Ints32, Singles
from rankloop.data.columns import check
from rankloop.data.columns.group import group_rows
from rankloop.data.pairs import Pairs

if TYPE_CHECKING:
    import polars

    from rankloop.data.describe import Description

__all__ = ["RankingDataset"]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class RankingDataset:
    """Judged or logged documents, grouped by query; rows may come in any order.

    Queries keep the order of their first row and documents the order of their rows. Missing features
    are nan. `query_text` is what people typed, one text per query (by row, by query, or a mapping from query
    ids). `query_weight` (given alike) says how much a list counts in every mean
    and every loss; `item_weight` multiplies what a document's relevance contributes: its gain in a metric,
    its term in a pointwise loss, the pairs in which it is preferred, its mass in a listwise loss.

    >>> data = RankingDataset(X=[[1.0], [2.0], [3.0]], y=[0, 2, 1], qid=["b", "a", "b"])
    >>> data.qid, data.offsets, data.y
    (array(['b', 'a'], dtype='<U1'), array([0, 2, 3]), array([0., 1., 2.], dtype=float32))
    """

    X: Singles
    y: Singles
    offsets: Ints
    qid: Array
    docid: Array | None
    query_text: Array | None
    query_weight: Singles | None
    item_weight: Singles | None
    position: Ints32 | None
    pairs: Pairs | None
    feature_names: tuple[str, ...] | None

    regrouped: ClassVar[bool] = False
    """Whether the rows came in another order than that of their queries, and were put in order."""

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike,
        *,
        docid: ArrayLike | None = None,
        query_text: ArrayLike | Mapping[Any, str] | None = None,
        query_weight: ArrayLike | Mapping[Any, float] | None = None,
        item_weight: ArrayLike | None = None,
        position: ArrayLike | None = None,
        pairs: Pairs | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        features = check.features(X)
        rows = len(features)
        grouping = group_rows(check.ids(qid, rows, "qid"))
        names = check.names(feature_names, features.shape[1])
        self._fill(
            grouping.order,
            X=grouping.apply(features),
            y=grouping.apply(check.column(y, rows, "y", np.float32)),
            offsets=grouping.offsets,
            qid=grouping.qid,
            docid=None if docid is None else grouping.apply(check.ids(docid, rows, "docid")),
            query_text=check.query_text(query_text, grouping, rows),
            query_weight=check.query_weight(query_weight, grouping, rows),
            item_weight=check.optional_column(item_weight, grouping, rows, "item_weight", np.float32),
            position=check.optional_column(position, grouping, rows, "position", np.int32),
            pairs=None if pairs is None else check.pairs(pairs, grouping),
            feature_names=names,
        )

    @classmethod
    def from_groups(cls, X: ArrayLike, y: ArrayLike, sizes: ArrayLike, **columns: Any) -> "RankingDataset":
        """From rows that already follow their queries, and the number of rows of each query.

        Without `qid` (one per query) the queries are numbered from 1.

        >>> RankingDataset.from_groups([[1.0], [2.0], [3.0]], [0, 1, 0], [2, 1]).offsets
        array([0, 2, 3])
        """
        features = check.features(X)
        counts = check.sizes(sizes, len(features))
        per_query = columns.pop("qid", None)
        ids = np.arange(1, len(counts) + 1) if per_query is None else np.asarray(per_query)
        if len(ids) != len(counts):
            raise ValueError(f"qid needs one id per query ({len(counts)}), got {len(ids)}")
        if len(np.unique(ids)) != len(ids):
            values, seen = np.unique(ids, return_counts=True)
            raise ValueError(f"query {values[seen.argmax()]} appears {seen.max()} times; ids are unique")
        return cls(features, y, np.repeat(ids, counts), **columns)

    @classmethod
    def from_frame(cls, frame: Any, **columns: Any) -> "RankingDataset":
        """From a polars, pandas or Arrow table: see `rankloop.data.from_frame`."""
        from rankloop.data.from_frame import from_frame

        return from_frame(frame, **columns)

    @classmethod
    def _trusted(cls, **columns: Any) -> "RankingDataset":
        """From columns that need no checks: parts of a data set, or a verified file."""
        made = object.__new__(cls)
        optional = dict.fromkeys(field.name for field in fields(cls))
        for name, value in {**optional, **columns}.items():
            object.__setattr__(made, name, value)
        return made

    def _fill(self, order: Ints | None, **columns: Any) -> None:
        check.labels(columns["y"], columns["offsets"], columns["qid"], order)
        object.__setattr__(self, "regrouped", order is not None)
        for name, value in columns.items():
            object.__setattr__(self, name, value)

    @property
    def n_queries(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_documents(self) -> int:
        return len(self.y)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def lengths(self) -> Ints:
        """The number of documents of each query."""
        return np.diff(self.offsets)

    @cached_property
    def row_query(self) -> Ints:
        """For each row the index of its query."""
        return np.repeat(np.arange(self.n_queries), self.lengths)

    @cached_property
    def row_qid(self) -> Array:
        """For each row the id of its query: `groups` for scikit-learn."""
        return self.qid[self.row_query]

    def __len__(self) -> int:
        return self.n_queries

    def __repr__(self) -> str:
        return (
            f"RankingDataset({self.n_queries:,} queries, {self.n_documents:,} documents, "
            f"{self.n_features:,} features)"
        )

    def _repr_html_(self) -> str:
        return self.describe().table().html()

    def to_frame(self) -> "polars.DataFrame":
        """As a polars table: see `rankloop.data.to_frame`."""
        from rankloop.data.from_frame import to_frame

        return to_frame(self)

    def describe(self) -> "Description":
        """Counts of queries, documents, grades, lengths and oddities, printed as a table."""
        from rankloop.data.describe import describe

        return describe(self)

    def replace(self, **columns: Any) -> "RankingDataset":
        """The same data set with other columns, in the order of its rows: new labels, weights, features.

        >>> data = RankingDataset([[1.0], [2.0]], [0, 1], ["a", "a"])
        >>> data.replace(y=[1, 0]).y
        array([1., 0.], dtype=float32)
        """
        for name in columns:
            if name in ("offsets", "qid") or name not in {field.name for field in fields(self)}:
                raise ValueError(f"replace() takes columns of rows, got {name!r}")
        if set(columns) == {"feature_names"}:  # nothing is copied
            same = {field.name: getattr(self, field.name) for field in fields(self)}
            named = check.names(columns["feature_names"], self.n_features)
            return RankingDataset._trusted(**{**same, "feature_names": named})
        now = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "offsets"}
        return RankingDataset(**{**now, "qid": self.row_qid, **columns})

    def select(self, queries: ArrayLike) -> "RankingDataset":
        """Whole queries, by index or by a mask over queries, in the order given.

        >>> data = RankingDataset([[1.0], [2.0], [3.0]], [0, 1, 0], ["a", "b", "c"])
        >>> data.select([2, 0]).qid
        array(['c', 'a'], dtype='<U1')
        """
        chosen = check.query_indices(queries, self.n_queries)
        lengths = self.lengths[chosen]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        rows = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        pairs = self.pairs
        if pairs is not None:
            new_row = np.full(self.n_documents, -1, np.int64)
            new_row[rows] = np.arange(len(rows))
            pairs = pairs.moved(new_row)
        return RankingDataset._trusted(
            X=self.X[rows],
            y=self.y[rows],
            offsets=offsets,
            qid=self.qid[chosen],
            docid=None if self.docid is None else self.docid[rows],
            query_text=None if self.query_text is None else self.query_text[chosen],
            query_weight=None if self.query_weight is None else self.query_weight[chosen],
            item_weight=None if self.item_weight is None else self.item_weight[rows],
            position=None if self.position is None else self.position[rows],
            pairs=pairs,
            feature_names=self.feature_names,
        )

    def sample(self, n: int, *, seed: int = 0) -> "RankingDataset":
        """`n` queries at random, without repetition, in their order here."""
        if not 1 <= n <= self.n_queries:
            raise ValueError(f"sample takes 1 to {self.n_queries} queries, got {n}")
        chosen = np.random.default_rng(seed).choice(self.n_queries, n, replace=False)
        return self.select(np.sort(chosen))

    def split(self, *fractions: float, seed: int = 0) -> tuple["RankingDataset", ...]:
        """Parts of whole queries at random; fractions that sum to less than 1 leave a last part.

        >>> data = RankingDataset.from_groups([[1.0]] * 10, [1] * 10, [1] * 10)
        >>> [len(part) for part in data.split(0.8, seed=0)]
        [8, 2]
        >>> [len(part) for part in data.split(0.6, 0.2, 0.2, seed=0)]
        [6, 2, 2]
        """
        right = all(isinstance(one, (int, float, np.number)) and one > 0 for one in fractions)
        if not fractions or not right or sum(fractions) > 1 + 1e-9:
            raise ValueError(
                f"split takes fractions above 0 that sum to at most 1, as in split(0.8), got {fractions}"
            )
        shares = np.asarray(fractions)
        if shares.sum() < 1 - 1e-9:
            shares = np.append(shares, 1 - shares.sum())
        cuts = np.round(np.cumsum(shares) * self.n_queries).astype(int)[:-1]
        parts = np.split(np.random.default_rng(seed).permutation(self.n_queries), cuts)
        if min(len(part) for part in parts) == 0:
            found = "1 query is" if self.n_queries == 1 else f"{self.n_queries} queries are"
            shown = ", ".join(f"{one:g}" for one in shares)
            raise ValueError(f"{found} too few for parts of {shown}: queries stay whole")
        return tuple(self.select(np.sort(part)) for part in parts)

    def folds(
        self, n: int = 5, *, seed: int = 0, stratify: str | None = None
    ) -> Iterator[tuple["RankingDataset", "RankingDataset"]]:
        """`n` pairs (train, test) of whole queries; each query is tested once.

        `stratify="length"` gives every fold short and long lists alike.
        """
        if not 2 <= n <= self.n_queries:
            raise ValueError(f"folds takes 2 to {self.n_queries} (one per query), got {n}")
        if stratify not in (None, "length"):
            raise ValueError(f"stratify is None or 'length', got {stratify!r}")
        rng = np.random.default_rng(seed)
        order = rng.permutation(self.n_queries)
        if stratify == "length":
            order = order[np.argsort(self.lengths[order], kind="stable")]
        fold = np.empty(self.n_queries, np.int64)
        for start in range(0, self.n_queries, n):
            block = order[start : start + n]
            fold[block] = rng.permutation(n)[: len(block)]
        return ((self.select(fold != i), self.select(fold == i)) for i in range(n))

    def save(self, path: str | Path) -> None:
        """Write a folder that `RankingDataset.load` opens at once: see `rankloop.data.save_dataset`."""
        from rankloop.data.load_dataset import save_dataset

        save_dataset(self, path)

    @classmethod
    def load(cls, path: str | Path, *, mmap: bool = True, verify: bool = False) -> "RankingDataset":
        """Open what `save` wrote, memory-mapped: see `rankloop.data.load_dataset`."""
        from rankloop.data.load_dataset import load_dataset

        return load_dataset(path, mmap=mmap, verify=verify)

    def fingerprint(self) -> str:
        """A digest of every column: see `rankloop.data.fingerprint`."""
        from rankloop.data.fingerprint import fingerprint

        return fingerprint(self)
