"""How long an address is."""

from urllib.parse import unquote, urlsplit

__all__ = ["url_length"]


def url_length(url: str) -> int:
    """The number of characters of a URL, without its scheme and with escapes decoded.

    >>> url_length("https://example.org/caf%C3%A9")
    16
    """
    parts = urlsplit(url)
    return len(unquote(parts.netloc + parts.path + (f"?{parts.query}" if parts.query else "")))
