"""The footer of a Parquet file: how many values it says it has, before any of them is unpacked.

The footer is a struct in Thrift's compact protocol, here as dicts of values by field number.
"""

import os
import struct
from pathlib import Path
from typing import Any

__all__ = ["parquet_values"]

_MAGIC = b"PAR1"
_DEEPEST = 20  # structs and lists within each other; the format has five
_ROW_GROUPS, _COLUMNS, _ABOUT, _VALUES = 4, 1, 3, 5  # numbers of fields
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12


def parquet_values(path: Path) -> int:
    """The number of values in all columns; those of lists count one by one.

    0 where there is no footer that can be read: the reader of the file says what is wrong with it.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < 12:
            return 0
        file.seek(size - 8)
        length, magic = struct.unpack("<I4s", file.read(8))
        if magic != _MAGIC or length > size - 12:
            return 0
        file.seek(size - 8 - length)
        footer = _Compact(file.read(length))
    try:
        groups = footer.struct().get(_ROW_GROUPS, [])
        columns = [column for group in groups for column in group.get(_COLUMNS, [])]
        return sum(max(0, int(column.get(_ABOUT, {}).get(_VALUES, 0))) for column in columns)
    except (IndexError, AttributeError, TypeError, ValueError):
        return 0


class _Compact:
    """Reads values one after the other; an IndexError or a ValueError where there are none."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            kind = head & 15
            found[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth + 1)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind < _DOUBLE:
            return self._zigzag()
        if kind == _DOUBLE:
            return self._skip(8)
        if kind == _BINARY:
            return self._skip(self._varint())
        if kind in (_LIST, _SET):
            head = self._byte()
            size = self._varint() if head >> 4 == 15 else head >> 4
            if size > len(self.data) - self.at:  # each has a byte at least
                raise ValueError("a list is longer than the footer")
            return [self._value(head & 15, depth + 1) for _ in range(size)]
        if kind == _STRUCT:
            return self.struct(depth)
        raise ValueError(f"a footer has values of kind {kind}, which are unknown")

    def _skip(self, size: int) -> None:
        if size > len(self.data) - self.at:
            raise ValueError("a text is longer than the footer")
        self.at += size

    def _byte(self) -> int:
        found = self.data[self.at]
        self.at += 1
        return found

    def _varint(self) -> int:
        found = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
        raise ValueError("a number has more than ten bytes")

    def _zigzag(self) -> int:
        found = self._varint()
        return (found >> 1) ^ -(found & 1)
