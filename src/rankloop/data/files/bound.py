"""How much memory a file may ask for: a small file must not ask for gigabytes."""

from pathlib import Path

__all__ = ["check_bound"]

LEAST = 256 << 20  # bytes that every file may ask for
TIMES = 1000  # times its own size that a bigger one may ask for


def check_bound(
    path: str | Path, size: int, needed: int, largest: int | None, why: str, *, times: int = TIMES
) -> None:
    """Refuse a file of `size` bytes that asks for too much; `largest` replaces the bound.

    >>> check_bound("a.txt", 100, 10**6, None, "feature 7")
    >>> check_bound("a.txt", 9, 10**9, None, "feature 999")
    Traceback (most recent call last):
    ValueError: a.txt: feature 999 needs 1,000,000,000 bytes of memory, from a file of 9; if that is right,
    read it with largest=1000000000
    """
    bound = max(LEAST, times * size) if largest is None else largest
    if needed > bound:
        raise ValueError(
            f"{path}: {why} needs {needed:,} bytes of memory, from a file of {size:,}; if that is right, "
            f"read it with largest={needed}"
        )
