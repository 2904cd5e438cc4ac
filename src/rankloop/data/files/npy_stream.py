"""Arrays on disk that grow row by row, for data larger than memory."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from rankloop._arrays import Array, Ints

__all__ = ["NpyStream", "gather_rows", "mapped"]

_HEADER = 128  # bytes of a .npy file before its values
_CHUNK = 8 << 20


class NpyStream:
    """A `.npy` file of rows; `width` None makes a column, a number makes a table that may grow wider.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.npy"
    >>> with NpyStream(path, np.float32, width=1) as stream:
    ...     stream.append(np.ones((2, 1), np.float32))
    ...     stream.append(np.full((1, 2), 3, np.float32))
    >>> np.load(path)
    array([[1., 0.],
           [1., 0.],
           [3., 3.]], dtype=float32)
    """

    def __init__(self, path: Path, dtype: DTypeLike, width: int | None = None, *, missing: float = 0) -> None:
        self.path, self.dtype, self.width, self.missing = path, np.dtype(dtype), width, missing
        self.rows = 0
        self.file = open(path, "wb+")  # noqa: SIM115 (closed by __exit__)
        self.file.write(bytes(_HEADER))

    def __enter__(self) -> "NpyStream":
        return self

    def __exit__(self, *error: object) -> None:
        self.file.seek(0)
        shape = (self.rows,) if self.width is None else (self.rows, self.width)
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self.file, header)
        assert self.file.tell() == _HEADER
        self.file.close()

    def append(self, values: Array) -> None:
        if self.width is not None:
            if values.shape[1] > self.width:
                self._widen(values.shape[1])
            values = self._wide(values)
        self.file.write(np.ascontiguousarray(values, self.dtype).data)
        self.rows += len(values)

    def _wide(self, values: Array) -> Array:
        if values.shape[1] == self.width:
            return values
        wide = np.full((len(values), self.width or 0), self.missing, self.dtype)
        wide[:, : values.shape[1]] = values
        return wide

    def _widen(self, width: int) -> None:
        """Rewrite the rows with more columns, in place, the last ones first."""
        old, self.width = self.width or 0, width
        row, wide_row = old * self.dtype.itemsize, width * self.dtype.itemsize
        step = max(1, _CHUNK // wide_row)
        for start in reversed(range(0, self.rows, step)):
            stop = min(start + step, self.rows)
            self.file.seek(_HEADER + start * row)
            values = np.frombuffer(self.file.read((stop - start) * row), self.dtype)
            self.file.seek(_HEADER + start * wide_row)
            self.file.write(self._wide(values.reshape(stop - start, old)).data)
        self.file.seek(0, 2)


def mapped(path: Path) -> Array:
    """The array of a `.npy` file as a memory map; an empty array cannot be mapped and is read."""
    values: Array = np.load(path, mmap_mode="r" if path.stat().st_size > _HEADER else None)
    return values


def gather_rows(path: Path, order: Ints) -> None:
    """Put the rows of a `.npy` file in another order, in bounded memory."""
    values = mapped(path)
    beside = path.with_suffix(".part")
    width = None if values.ndim == 1 else values.shape[1]
    with NpyStream(beside, values.dtype, width) as stream:
        for rows in _steps(order, values[:1].nbytes):
            stream.append(values[rows])
    beside.replace(path)


def _steps(order: Ints, row_bytes: int) -> Iterator[Ints]:
    step = max(1, _CHUNK // max(1, row_bytes))
    for start in range(0, len(order), step):
        yield order[start : start + step]
