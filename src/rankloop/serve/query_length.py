"""How long a query may be, also with ligatures written out."""

import unicodedata

__all__ = ["beginning", "check_length"]

WRITTEN_OUT = 2  # times the longest query that one may have with ligatures written out
LIGATURE = 18  # letters that one character stands for at most


def check_length(query: str, longest: int) -> None:
    """Refuse a query that is too long, as it is or as it is searched for.

    >>> check_length("ﷺ" * 500, 500)
    Traceback (most recent call last):
    ValueError: a query has at most 1000 characters with ligatures written out, got 9000
    """
    if len(query) > longest:
        raise ValueError(f"a query has at most {longest} characters, got {len(query)}")
    if (found := _written_out(query)) > (most := WRITTEN_OUT * longest):
        raise ValueError(f"a query has at most {most} characters with ligatures written out, got {found}")


def beginning(text: str, longest: int) -> str:
    """The beginning of a text, as long as a query may be.

    >>> len(beginning("a" * 600, 500)), len(beginning("ﷺ" * 600, 500))
    (500, 55)
    """
    cut = text[:longest]
    fits = _written_out(cut) <= WRITTEN_OUT * longest
    return cut if fits else cut[: WRITTEN_OUT * longest // LIGATURE]


def _written_out(text: str) -> int:
    return len(text) if text.isascii() else len(unicodedata.normalize("NFKC", text))
