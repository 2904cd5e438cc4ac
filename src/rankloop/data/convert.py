"""From one form to another; text is streamed to a saved folder in bounded memory."""

from collections.abc import Iterator, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._atomic import replacing_folder
from rankloop.data.columns.text_ids import decoded, text_ids
from rankloop.data.files.bound import check_bound
from rankloop.data.files.npy_stream import NpyStream, gather_rows, mapped
from rankloop.data.load_dataset import check_target, write_manifest
from rankloop.data.open_dataset import kind_of_dataset, open_dataset
from rankloop.data.ranking_dataset import RankingDataset
from rankloop.data.svmlight.read_svmlight import blocks_of_files, read_svmlight, text_files
from rankloop.data.write_dataset import form_of, write_dataset

__all__ = ["convert"]


def convert(source: str | Path | Sequence[str | Path], target: str | Path, **options: Any) -> None:
    """Write `source` in the form that the name of `target` asks for; `options` are those of its reader.

    `source` is anything that `open_dataset` reads. A `target` named `.txt`, `.svm` and the like is SVMLight
    text (also `.gz`, `.zst`), `.parquet` is Parquet, and any other name a saved folder. Text to a folder is
    streamed in bounded memory, and a query whose rows are apart is gathered on disk, so the result equals
    that of `read_svmlight` and has the same fingerprint.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "set.txt").write_text("1 qid:7 1:0.5\\n")
    >>> convert(folder / "set.txt", folder / "set")
    >>> open_dataset(folder / "set")
    RankingDataset(1 queries, 1 documents, 1 features)
    """
    if kind_of_dataset(source) == "svmlight" and form_of(target) == "saved":
        _stream(source, Path(target), **options)
    else:
        write_dataset(open_dataset(source, **options), target)


def _stream(source: str | Path | Sequence[str | Path], target: Path, **options: Any) -> None:
    given = signature(read_svmlight).bind(source, **options)
    given.apply_defaults()
    n_features, missing = given.arguments["n_features"], given.arguments["missing"]
    paths, layout, queries = text_files(**given.arguments)
    check_target(target)
    size = sum(path.stat().st_size for path in paths)
    with replacing_folder(target) as folder:
        with (
            NpyStream(folder / "X.npy", np.float32, n_features or 0, missing=missing) as X,
            NpyStream(folder / "y.npy", np.float32) as y,
            _SpilledIds(folder / "docid.spill") as documents,
        ):
            reading = [given.arguments[name] for name in ("threads", "on_error", "skipped")]
            for block, _ in blocks_of_files(paths, layout, queries, *reading):
                width = max(X.width or 0, block.X.shape[1])
                why = f"a table of {width:,} features"
                check_bound(
                    paths[0], size, 4 * (X.rows + len(block.y)) * width, given.arguments["largest"], why
                )
                X.append(block.X)
                y.append(block.y)
                documents.append(block.docid, len(block.y))
            documents.finish(folder / "docid.npy")
        grouping = queries.grouping()
        columns = queries.text_column(grouping) | queries.weight_columns(grouping)
        columns |= {"offsets": grouping.offsets, "qid": grouping.qid}
        for name, values in columns.items():
            np.save(folder / f"{name}.npy", values, allow_pickle=False)
        files = [folder / f"{name}.npy" for name in ("X", "y", "docid")]
        for path in files:
            if path.exists() and grouping.order is not None:
                gather_rows(path, grouping.order)
        columns |= {path.stem: mapped(path) for path in files if path.exists()}
        write_manifest(folder, RankingDataset._trusted(**columns))


class _SpilledIds:
    """Docids kept on disk until all are read: only then is known whether they are numbers, and how long."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = open(path, "wb+")  # noqa: SIM115 (closed by __exit__)
        self.parts: list[tuple[int, int]] = []
        self.any = False

    def __enter__(self) -> "_SpilledIds":
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()
        self.path.unlink()

    def append(self, ids: NDArray[np.bytes_] | None, rows: int) -> None:
        self.any = self.any or ids is not None
        raw = np.zeros(rows, "S1") if ids is None else ids
        self.parts.append((rows, raw.dtype.itemsize))
        self.file.write(raw.tobytes())

    def finish(self, target: Path) -> None:
        """Write the column as `read_svmlight` gives it."""
        if not self.any:
            return
        numbers, width = True, 1
        for raw in self._read():
            numbers = numbers and text_ids(raw).dtype.kind == "i"
            width = max(width, decoded(raw).dtype.itemsize // 4)
        with NpyStream(target, np.int64 if numbers else f"<U{width}") as stream:
            for raw in self._read():
                stream.append(text_ids(raw) if numbers else decoded(raw))

    def _read(self) -> Iterator[NDArray[np.bytes_]]:
        self.file.seek(0)
        for rows, size in self.parts:
            yield np.frombuffer(self.file.read(rows * size), f"S{size}")
