"""Rankings as of TREC (query, Q0, document, rank, score, tag) or of MS MARCO (query, document, rank)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._arrays import Array, Floats, Ints
from rankloop._atomic import replacing
from rankloop._names import one_of
from rankloop.data.files.text import TextSource
from rankloop.data.files.whole import pack
from rankloop.data.ranking_dataset import RankingDataset
from rankloop.data.trec import by_query
from rankloop.data.trec.fields import read_fields

__all__ = ["Run", "read_run", "write_run"]

_FIELDS = ("query", "Q0", "document", "rank", "score", "tag")
_MSMARCO = ("query", "document", "rank")
_HEAD = 1 << 16  # bytes among which the first line is looked for


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Run(by_query.ByQuery):
    """Retrieved documents: one score each, grouped by query and sorted by falling score.

    Ids are text, as in the files. Documents with the same score keep their order; how
    ties count is decided by the metric. A document retrieved twice for one query is an error.

    >>> run = Run(qid=["q1", "q1"], docid=["a", "b"], scores=[0.5, 1.5])
    >>> run["q1"]
    {'b': 1.5, 'a': 0.5}
    """

    qid: NDArray[np.str_]
    offsets: Ints
    docid: NDArray[np.str_]
    scores: Floats
    tag: str

    def __init__(self, qid: ArrayLike, docid: ArrayLike, scores: ArrayLike, *, tag: str = "rankloop") -> None:
        columns = by_query.columns_of_rows(qid, docid, scores, "score", ranked=True)
        by_query.fill(self, columns, scores=columns.value, tag=tag)

    @classmethod
    def from_dict(cls, ranking: Mapping[Any, Mapping[Any, float]], *, tag: str = "rankloop") -> "Run":
        """From query to document to score.

        >>> Run.from_dict({"q1": {"a": 1, "b": 2}}).docid
        array(['b', 'a'], dtype='<U1')
        """
        return cls(*by_query.rows_of_dict(ranking), tag=tag)

    @classmethod
    def from_dataset(cls, data: RankingDataset, scores: ArrayLike, *, tag: str = "rankloop") -> "Run":
        """One score per row of a data set; without docids its documents are named by their rows."""
        documents = np.arange(data.n_documents) if data.docid is None else data.docid
        if np.size(scores) != data.n_documents:
            raise ValueError(f"a run needs one score per row ({data.n_documents}), got {np.size(scores)}")
        return cls(data.row_qid, documents, scores, tag=tag)

    @property
    def _values(self) -> Array:
        return self.scores


def read_run(path: str | Path, *, largest: int | None = None) -> Run:
    """Read a run: `query Q0 document rank score tag` on each line, plain, gzip or zstd.

    As in trec_eval, documents are sorted by score and the rank column is ignored; the tag may be missing.
    A run of MS MARCO has `query document rank` on each line: there the score is the rank with a minus sign.
    A file whose ids would take more than `largest` bytes is refused: 100 times its size, at least 256 MB.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "run.txt"
    >>> _ = path.write_text("q1 Q0 a 1 0.5 mine\\nq1 Q0 b 2 1.5 mine\\n")
    >>> read_run(path)["q1"], read_run(path).tag
    ({'b': 1.5, 'a': 0.5}, 'mine')
    """
    if _width(path) == len(_MSMARCO):
        ranks = read_fields(path, _MSMARCO, "rank", header=False, least=len(_MSMARCO), largest=largest)
        read = replace(ranks, value=-ranks.value, last="")
    else:
        read = read_fields(path, _FIELDS, "score", header=False, least=5, largest=largest)
    columns = by_query.columns_of_fields(read, path, ranked=True)
    return by_query.fill(object.__new__(Run), columns, scores=columns.value, tag=read.last or "rankloop")


def write_run(run: Run, path: str | Path, *, format: str = "trec") -> None:
    """Write a run as trec_eval reads it, ranks from 1; names in `.gz` and `.zst` are compressed.

    With `format="msmarco"` a line is `query<TAB>document<TAB>rank`, as MS MARCO's own evaluation reads it.
    """
    one_of("format", format, ("trec", "msmarco"))
    rank = np.arange(len(run.docid)) - np.repeat(run.offsets[:-1], np.diff(run.offsets)) + 1
    rows = zip(by_query.ids_for_text(run), rank.tolist(), run.scores.tolist(), strict=True)
    tag = "".join(run.tag.split()) or "rankloop"
    if format == "msmarco":
        text = "".join(f"{query}\t{document}\t{r}\n" for (query, document), r, _ in rows)
    else:
        text = "".join(f"{query} Q0 {document} {r} {score!r} {tag}\n" for (query, document), r, score in rows)
    with replacing(path) as beside:
        beside.write_bytes(pack(text.encode(), path))


def _width(path: str | Path) -> int:
    """The number of fields of the first line."""
    with TextSource(path) as source:
        buffer, end = source.fill(bytearray(_HEAD), beyond=1)
    return next((len(line.split()) for line in bytes(buffer[:end]).splitlines() if line.strip()), 0)
