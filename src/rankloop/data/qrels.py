"""Judgments, in the TREC format: query, iteration, document, label."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._arrays import Array, Ints, Singles
from rankloop._atomic import replacing
from rankloop.data.files.whole import pack
from rankloop.data.ranking_dataset import RankingDataset
from rankloop.data.trec import by_query
from rankloop.data.trec.fields import read_fields

__all__ = ["Qrels", "read_qrels", "write_qrels"]

_FIELDS = ("query", "iteration", "document", "label")


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Qrels(by_query.ByQuery):
    """Judgments: one label per judged document, grouped by query.

    Ids are text, as in the files. Labels below 0 (spam and junk in the TREC web tracks) are kept,
    and count as 0 in every metric. A document judged twice is an error.

    >>> qrels = Qrels(qid=["q1", "q1", "q2"], docid=["a", "b", "a"], labels=[2, 0, 1])
    >>> qrels["q1"]
    {'a': 2.0, 'b': 0.0}
    """

    qid: NDArray[np.str_]
    offsets: Ints
    docid: NDArray[np.str_]
    labels: Singles

    def __init__(self, qid: ArrayLike, docid: ArrayLike, labels: ArrayLike) -> None:
        _fill(self, by_query.columns_of_rows(qid, docid, labels, "label", ranked=False))

    @classmethod
    def from_dict(cls, judgments: Mapping[Any, Mapping[Any, float]]) -> "Qrels":
        """From query to document to label.

        >>> Qrels.from_dict({"q1": {"a": 2}}).labels
        array([2.], dtype=float32)
        """
        return cls(*by_query.rows_of_dict(judgments))

    @classmethod
    def from_dataset(cls, data: RankingDataset) -> "Qrels":
        """The labels of a data set; without docids its documents are named by their rows."""
        return cls(data.row_qid, np.arange(data.n_documents) if data.docid is None else data.docid, data.y)

    @property
    def _values(self) -> Array:
        return self.labels


def read_qrels(
    path: str | Path, *, fields: Sequence[str] = _FIELDS, header: bool = False, largest: int | None = None
) -> Qrels:
    """Read judgments: `query iteration document label` on each line, plain, gzip or zstd.

    `fields` names the fields of a line in other layouts, such as `("query", "document", "label")`;
    `header` skips the first line. A file whose ids would take more than `largest` bytes is refused: 100 times
    its size, at least 256 MB.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "qrels.txt"
    >>> _ = path.write_text("q1 0 a 2\\nq1 0 b -1\\n")
    >>> read_qrels(path).to_dict()
    {'q1': {'a': 2.0, 'b': -1.0}}
    """
    wrong = {"query", "document", "label"} - set(fields)
    if wrong:
        raise ValueError(f"fields must name query, document and label, got {tuple(fields)}")
    read = read_fields(path, fields, "label", header=header, least=len(fields), largest=largest)
    if np.isinf(read.value).any():
        line = read.line[np.isinf(read.value).argmax()]
        raise ValueError(f"{path}, line {line}: the label must be finite; correct the line")
    return _fill(object.__new__(Qrels), by_query.columns_of_fields(read, path, ranked=False))


def write_qrels(qrels: Qrels, path: str | Path) -> None:
    """Write judgments in the TREC format; names in `.gz` and `.zst` are compressed."""
    rows = zip(by_query.ids_for_text(qrels), qrels.labels.tolist(), strict=True)
    text = "".join(f"{query} 0 {document} {_plain(label)}\n" for (query, document), label in rows)
    with replacing(path) as beside:
        beside.write_bytes(pack(text.encode(), path))


def _plain(label: float) -> str:
    return str(int(label)) if label == int(label) else repr(label)


def _fill(qrels: Qrels, columns: by_query.Columns) -> Qrels:
    if np.isinf(columns.value).any():
        raise ValueError("labels must be finite, got inf")
    return by_query.fill(qrels, columns, labels=columns.value.astype(np.float32))
