"""How much memory a table may ask for: a few bytes of a packed file may stand for very many rows."""

from pathlib import Path

from rankloop.data.files.bound import LEAST, TIMES, check_bound
from rankloop.data.files.parquet_footer import parquet_values
from rankloop.data.files.text import TextSource

__all__ = ["check_table"]

CELL = 8  # bytes of a value in memory
TEXT = 5  # bytes in memory for each byte of a table in text
_BLOCK = 256 << 10


def check_table(path: str | Path, kind: str, largest: int | None = None) -> None:
    """Refuse a Parquet, CSV or JSONL file that asks for more than 1000 times its size; `largest` replaces it.

    Text that is not packed has no more rows than its size allows, and is not looked at.
    """
    size = Path(path).stat().st_size
    if kind == "parquet":
        check_bound(path, size, CELL * _values(Path(path)), largest, "its table")
        return
    bound = max(LEAST, TIMES * size) if largest is None else largest
    if _is_longer(path, bound // TEXT):
        raise ValueError(
            f"{path}: its table, unpacked, needs more than {bound:,} bytes of memory, from a file of "
            f"{size:,}; if that is right, read it with a higher largest"
        )


def _values(path: Path) -> int:
    """The values of a Parquet file, by its footer; those of lists are counted there one by one."""
    import polars

    frame = polars.scan_parquet(path)
    columns = frame.collect_schema().dtypes()
    if any(kind.is_nested() for kind in columns):
        return parquet_values(path)
    return len(columns) * int(frame.select(polars.len()).collect().item())


def _is_longer(path: str | Path, most: int) -> bool:
    """Whether a packed text has more than `most` bytes."""
    total, buffer = 0, bytearray(_BLOCK)
    with TextSource(path) as source:
        if not source.compressed:
            return False
        while total <= most:
            buffer, end = source.fill(buffer, beyond=1)
            if end == 0:
                return False
            total += end
    return True
