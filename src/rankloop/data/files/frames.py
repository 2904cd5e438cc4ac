"""Tables that polars reads: whatever is wrong with a file is one kind of error."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["read_by_polars"]


@contextmanager
def read_by_polars(what: str) -> Iterator[None]:
    """Turn errors of polars, and its panics at crafted files, into a `ValueError` that begins with `what`.

    An error of the system, such as a file that may not be read, stays what it is.

    >>> import polars
    >>> with read_by_polars("t.parquet is damaged"):
    ...     polars.read_parquet(b"PAR1")
    Traceback (most recent call last):
    ValueError: t.parquet is damaged: parquet: File out of specification: ...
    """
    from polars.exceptions import PanicException, PolarsError

    try:
        yield
    except (PolarsError, PanicException, OSError) as error:
        if isinstance(error, OSError) and (type(error) is not OSError or "os error" in str(error)):
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ValueError(f"{what}: {lines[0]}") from None
