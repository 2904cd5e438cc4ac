"""Reading SVMLight ranking files, the format of LETOR, MSLR, Yahoo and Istella."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Singles
from rankloop._names import one_of
from rankloop.data.columns.check import warn_of_empty
from rankloop.data.columns.text_ids import text_ids
from rankloop.data.files.bound import check_bound
from rankloop.data.files.records import Faults
from rankloop.data.files.text import long_work
from rankloop.data.ranking_dataset import RankingDataset
from rankloop.data.svmlight.block import Block, Layout
from rankloop.data.svmlight.blocks import parsed_blocks
from rankloop.data.svmlight.queries import FileQueries

__all__ = ["blocks_of_files", "read_svmlight", "text_files"]


def read_svmlight(
    path: str | Path | Sequence[str | Path],
    *,
    n_features: int | None = None,
    missing: float = 0.0,
    zero_based: bool = False,
    side_files: bool = True,
    weights: str = "item",
    shared_queries: bool = False,
    threads: int | None = None,
    largest: int | None = None,
    on_error: str = "raise",
    skipped: Counter[str] | None = None,
) -> RankingDataset:
    """Documents from lines such as `2 qid:17 1:0.5 2:3 # docid = GX001`, plain, gzip or zstd.

    Several paths make one data set; a query in two of them is an error unless `shared_queries`. A feature
    that a line leaves out is `missing`: 0 as in SVMLight, or nan; `NULL` is always nan. Values are the
    float32 nearest to Python's float of the text. Features are numbered from 1, or from 0 if `zero_based`.

    A comment `# GX001<TAB>red shoes` (Elasticsearch's and OpenSearch's plugins, RankLib) names the document
    and the text of the query, as lines `# qid:17: red shoes*1` at the top do.

    With `side_files`, `path.query` or `path.group` (rows of each query) replace query ids, and
    `path.weight` gives weights: one per query, or one per row: of documents (`weights="item"`) or, as in
    LightGBM's metrics, of their lists (`weights="query"`).

    A file whose table would take more than `largest` bytes is refused; by default that is 1000 times the size
    of the file, and at least 256 MB. A line that cannot be read is an error that names it, or with
    `on_error="skip"` is left out and counted in `skipped`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("2 qid:a 1:0.5 3:1 # docid = x\\n0 qid:b 2:-1e-3 # docid = y\\n")
    >>> data = read_svmlight(path)
    >>> data.X, data.docid
    (array([[ 0.5  ,  0.   ,  1.   ],
           [ 0.   , -0.001,  0.   ]], dtype=float32), array(['x', 'y'], dtype='<U1'))
    """
    paths, layout, queries = text_files(
        path,
        n_features=n_features,
        missing=missing,
        zero_based=zero_based,
        side_files=side_files,
        weights=weights,
        shared_queries=shared_queries,
    )
    table = _Table(missing, n_features or 0)
    documents = _Documents()
    total = sum(item.stat().st_size for item in paths)
    for block, read in blocks_of_files(paths, layout, queries, threads, on_error, skipped):
        rows, width = table.rows + len(block.y), max(table.width, block.X.shape[1])
        check_bound(paths[0], total, 4 * rows * width, largest, f"a table of {width:,} features")
        table.add(block, total / max(1, read))
        documents.add(block)
    X, y = table.finish()
    warn_of_empty(X, None, f"{paths[0]}: ")
    docid = documents.finish()
    grouping = queries.grouping()
    return RankingDataset._trusted(
        X=grouping.apply(X),
        y=grouping.apply(y),
        offsets=grouping.offsets,
        qid=grouping.qid,
        docid=None if docid is None else grouping.apply(text_ids(docid)),
        **queries.text_column(grouping),
        **queries.weight_columns(grouping),
    )


def text_files(
    path: str | Path | Sequence[str | Path], **options: Any
) -> tuple[list[Path], Layout, FileQueries]:
    """The files to read, their columns and their queries, from the options of `read_svmlight`."""
    one_of("weights", options["weights"], ("item", "query"))
    width = options["n_features"]
    if width is not None and width < 1:
        raise ValueError(f"n_features is 1 or more, got {width}; leave it out to use those of the file")
    paths = [Path(path)] if isinstance(path, str | Path) else [Path(item) for item in path]
    if not paths:
        raise ValueError("read_svmlight needs one path or more, got an empty list")
    for item in paths:
        if not item.exists():
            raise FileNotFoundError(f"there is no file {item}")
    queries = FileQueries(**{name: options[name] for name in ("side_files", "shared_queries", "weights")})
    return paths, Layout(width, options["zero_based"], options["missing"]), queries


def blocks_of_files(
    paths: list[Path],
    layout: Layout,
    queries: FileQueries,
    threads: int | None,
    on_error: str = "raise",
    skipped: Counter[str] | None = None,
) -> Iterator[tuple[Block, int]]:
    """The blocks of all files in turn, with the bytes read so far."""
    total, read = sum(path.stat().st_size for path in paths), 0
    with long_work(f"reading {paths[0].name}", total) as advance:
        for path in paths:
            queries.begin(path)
            with Faults(path, on_error, skipped).summed_up() as faults:
                named = True if queries.sizes is None else None
                for block in parsed_blocks(path, layout, threads=threads, faults=faults, named=named):
                    queries.add(block)
                    read += block.advance
                    advance(block.advance)
                    yield block, read
            queries.finish()


class _Table:
    """Rows that grow in place: memory is allocated once, from the size of the file, and trimmed at the end.

    Memory that is allocated and not written costs nothing, and `resize` remaps pages instead of copying.
    """

    def __init__(self, missing: float, width: int) -> None:
        self.missing = missing
        self.rows, self.room, self.width = 0, 0, width
        self.values = np.empty(0, np.float32)
        self.y: list[Singles] = []

    def add(self, block: Block, expected: float) -> None:
        """Append a block; the whole is `expected` times what was read with this one."""
        rows, width = block.X.shape
        if width > self.width:
            self._widen(width)
        end = self.rows + rows
        if end > self.room:
            self.room = max(int(1.02 * end * expected), end + end // 4) + 64
            if self.rows == 0:
                self.values = np.empty(self.room * self.width, np.float32)
            else:
                self.values.resize(self.room * self.width, refcheck=False)
        target = self.values[self.rows * self.width : end * self.width].reshape(rows, self.width)
        target[:, :width] = block.X
        target[:, width:] = self.missing
        self.y.append(block.y.copy())
        self.rows = end

    def finish(self) -> tuple[Singles, Singles]:
        self.values.resize(self.rows * self.width, refcheck=False)
        return self.values.reshape(self.rows, self.width), np.concatenate(self.y)

    def _widen(self, width: int) -> None:
        """More columns, in place, the last rows first."""
        self.values.resize(self.room * width, refcheck=False)
        old = self.values[: self.rows * self.width].reshape(self.rows, self.width)
        new = self.values[: self.rows * width].reshape(self.rows, width)
        for start in reversed(range(0, self.rows, 1024)):
            part = old[start : start + 1024].copy()
            new[start : start + 1024, : self.width] = part
            new[start : start + 1024, self.width :] = self.missing
        self.width = width


class _Documents:
    """The docids of the rows; rows without one have an empty id, and a file without any has none."""

    def __init__(self) -> None:
        self.parts: list[NDArray[np.bytes_]] = []
        self.any = False

    def add(self, block: Block) -> None:
        self.any = self.any or block.docid is not None
        self.parts.append(np.zeros(len(block.y), "S1") if block.docid is None else block.docid)

    def finish(self) -> NDArray[np.bytes_] | None:
        return np.concatenate(self.parts) if self.any else None
