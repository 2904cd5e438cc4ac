"""How deep an address is."""

from urllib.parse import urlsplit

__all__ = ["url_depth"]


def url_depth(url: str) -> int:
    """The number of path segments of a URL; a home page has depth 0.

    >>> url_depth("https://example.org/docs/search/index.html?page=2"), url_depth("https://example.org/")
    (3, 0)
    """
    return len([part for part in urlsplit(url).path.split("/") if part])
