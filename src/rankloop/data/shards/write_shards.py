"""A data set or a click log as a folder of shards, written in one pass and in bounded memory."""

import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._names import unknown
from rankloop._progress import progress
from rankloop.data.convert import convert
from rankloop.data.from_frame import as_polars, from_frame, to_frame
from rankloop.data.kind_of import kind_of
from rankloop.data.load_dataset import load_dataset
from rankloop.data.open_dataset import kind_of_dataset
from rankloop.data.ranking_dataset import RankingDataset
from rankloop.data.shards.folder import ShardFolder
from rankloop.data.shards.shard_of import shard_of
from rankloop.data.shards.shards import Shards, open_shards
from rankloop.data.shards.spill import Spill

if TYPE_CHECKING:
    import polars

__all__ = ["write_shards"]

_SCANS = {"parquet": "scan_parquet", "csv": "scan_csv", "jsonl": "scan_ndjson"}
_ROWS = 500_000  # of a table, in memory at a time
_BYTES = 64 << 20  # of a file on disk, for each shard where no number is given
_USUAL = 16
_LOG = ("session", "query", "document", "click")

Source = RankingDataset | str | Path | Sequence[str | Path] | Iterable[Any]


def write_shards(
    source: Source,
    target: str | Path,
    *,
    shards: int | None = None,
    qid: str = "qid",
    label: str = "label",
    docid: str = "docid",
    memory: int = 256 << 20,
    spill: str | Path | None = None,
) -> Shards:
    """Write a data set or a click log as shards of whole queries; the source is read once.

    `source` is a data set, SVMLight text, a saved folder, other shards, one or several Parquet, CSV or JSONL
    files, or an iterable of frames or data sets, in any order of rows. Frames with the columns session,
    query, document and click are a log; others hold documents, with `qid`, `label` and `docid` by these
    names. Rows of more than `memory` bytes wait in files under `spill` (a temporary folder by default); then
    each shard is sorted, so at most one shard and `memory` are held at a time.

    `target` is new or empty, on local disk or an `fsspec` address. Its manifest is written last: a folder
    without one is not complete. By default there is one shard for every 64 MB of files, or 16.

    >>> log = {"session": [1, 1, 2], "query": ["a", "a", "b"], "document": [7, 8, 7],
    ...        "position": [1, 2, 1], "click": [0, 1, 0]}
    >>> import polars
    >>> write_shards([polars.DataFrame(log)], tempfile.mkdtemp() + "/log", shards=2)
    Shards(clicks, 2 shards, 2 queries, 3 rows)
    """
    if shards is not None and shards < 1:
        raise ValueError(f"shards is 1 or more, got {shards}")
    paths = _paths(source)
    number = shards or _number(paths)
    with ShardFolder(target) as folder, tempfile.TemporaryDirectory(dir=spill) as scratch:
        if isinstance(source, RankingDataset):
            _of_dataset(source, folder, number)
        elif paths is not None and (kind := _kind(paths)) in ("svmlight", "saved"):
            _of_dataset(_mapped(paths, kind, Path(scratch)), folder, number)
        else:
            frames = (
                map(_frame, source)  # type: ignore[arg-type]  # no paths: it is tables
                if paths is None
                else _tables(paths, kind)
            )
            names = {qid: "qid", label: "label", docid: "docid"}
            _of_frames(frames, folder, number, Spill(Path(scratch), number, memory), names)
    return open_shards(target)


def _of_dataset(data: RankingDataset, folder: ShardFolder, number: int) -> None:
    """Each shard is gathered from the rows of its queries: a mapped data set is read once, in order."""
    place = shard_of(data.qid.tolist(), number)
    by_id = np.argsort(data.qid, kind="stable")
    with progress("writing shards", number) as advance:
        for i in range(number):
            part = data.select(by_id[place[by_id] == i])
            folder.write(to_frame(_without_pairs(part)), "qid", i)
            advance()
    folder.finish("documents", "qid", number)


def _of_frames(
    frames: Iterator["polars.DataFrame"],
    folder: ShardFolder,
    number: int,
    spill: Spill,
    names: dict[str, str],
) -> None:
    log = None
    with progress("reading", None) as advance:
        for frame in frames:
            if log is None:
                log = all(name in frame.columns for name in _LOG)
                _refuse_lists(frame)
            if not log:
                for old, new in names.items():
                    if old != new and old not in frame.columns:
                        raise unknown("column", old, frame.columns)
                frame = frame.rename({old: new for old, new in names.items() if old in frame.columns})
            spill.add(frame, "query" if log else "qid")
            advance(note=f"{spill.rows:,} rows")
    if spill.rows == 0:
        raise ValueError("the source gave no rows; there is nothing to write")
    query = "query" if log else "qid"
    with progress("writing shards", number) as advance:
        for i in range(number):
            frame = spill.frame(i).sort(query, maintain_order=True)
            if frame.height:
                folder.write(frame if log else to_frame(_documents(frame)), query, i)
            advance()
    folder.finish("clicks" if log else "documents", query, number)


def _refuse_lists(frame: "polars.DataFrame") -> None:
    listed = [name for name, kind in frame.schema.items() if kind.is_nested()]
    if listed:
        raise ValueError(
            f"column {listed[0]!r} holds lists; shards hold one document or impression a row: explode them"
        )


def _documents(frame: "polars.DataFrame") -> RankingDataset:
    with warnings.catch_warnings():  # a feature may be empty in one shard only
        warnings.filterwarnings("ignore", message=".*has no value in any of the")
        return from_frame(frame)


def _without_pairs(part: RankingDataset) -> RankingDataset:
    if part.pairs is not None:
        raise ValueError(
            "a shard holds one row per document and cannot hold pairs; drop them with replace(pairs=None)"
        )
    return part


def _paths(source: Any) -> list[Path] | None:
    """The files of a source that is made of files."""
    if isinstance(source, str | Path):
        paths = [Path(source)]
    elif isinstance(source, Sequence) and source and all(isinstance(one, str | Path) for one in source):
        paths = [Path(one) for one in source]
    else:
        return None
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"there is no file {path}")
    return paths


def _kind(paths: list[Path]) -> str:
    """The kind of all files; tables may be of several forms, and hold documents or clicks."""
    kinds = [kind_of(path) for path in paths]
    tables = [kind.rpartition(".")[2] in _SCANS for kind in kinds]
    if all(tables):
        return "table"
    if any(tables):
        raise ValueError("several sources must be all tables (Parquet, CSV, JSONL) or all SVMLight text")
    return kind_of_dataset(paths[0] if len(paths) == 1 else paths)


def _number(paths: list[Path] | None) -> int:
    if paths is None:
        return _USUAL
    files = [one for path in paths for one in (path.rglob("*") if path.is_dir() else [path])]
    return max(1, -(-sum(one.stat().st_size for one in files) // _BYTES))


def _mapped(paths: list[Path], kind: str, scratch: Path) -> RankingDataset:
    """SVMLight text as a saved folder that is mapped, so that it is never in memory as a whole."""
    if kind == "saved":
        return load_dataset(paths[0])
    convert(paths, scratch / "rows")
    return load_dataset(scratch / "rows")


def _tables(paths: list[Path], kind: str) -> Iterator["polars.DataFrame"]:
    import polars

    if kind == "shards":
        shards = open_shards(paths[0])
        yield from (shards.frame(i) for i in range(len(shards)))
        return
    for path in paths:
        scan: Callable[..., Any] = getattr(polars, _SCANS[kind_of(path).rpartition(".")[2]])
        yield from scan(path).collect_batches(chunk_size=_ROWS, maintain_order=True)


def _frame(given: Any) -> "polars.DataFrame":
    if isinstance(given, RankingDataset):
        return to_frame(_without_pairs(given))
    return as_polars(given)
