"""What links and addresses say of a document before anyone asks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from rankloop.search.pagerank import pagerank

__all__ = ["LinkSignals", "link_signals", "url_depth", "url_length"]


class LinkSignals(NamedTuple):
    """Per document: links that come in, links that go out, and its PageRank."""

    inlinks: NDArray[np.int64]
    outlinks: NDArray[np.int64]
    pagerank: NDArray[np.float64]


def link_signals(
    ids: Sequence[Any], links: Mapping[Any, Iterable[Any]], *, damping: float = 0.85
) -> LinkSignals:
    """The signals of documents by their links, id -> ids; links to unknown documents count as outlinks only.

    A link from a document to itself says nothing and is left out; repeated ones count once.

    >>> link_signals(["a", "b", "c"], {"a": ["b", "c"], "b": ["c"]}).inlinks
    array([0, 1, 2])
    """
    number = {id: at for at, id in enumerate(ids)}
    source: list[int] = []
    target: list[int] = []
    outgoing = np.zeros(len(number), np.int64)
    for id, aims in links.items():
        if id not in number:
            continue
        others = set(aims) - {id}
        outgoing[number[id]] = len(others)
        inside = sorted(number[aim] for aim in others if aim in number)
        source += [number[id]] * len(inside)
        target += inside
    incoming = np.bincount(np.array(target, np.int64), minlength=len(number))
    ranks = pagerank(source, target, len(number), damping=damping) if number else np.empty(0)
    return LinkSignals(incoming, outgoing, ranks)


def url_depth(url: str) -> int:
    """How many folders deep an address is; the home page has depth 0.

    >>> url_depth("https://example.org/docs/search/index.html?page=2"), url_depth("https://example.org/")
    (3, 0)
    """
    return len([part for part in urlsplit(url).path.split("/") if part])


def url_length(url: str) -> int:
    """How many letters an address has, without scheme and escapes.

    >>> url_length("https://example.org/caf%C3%A9")
    16
    """
    parts = urlsplit(url)
    return len(unquote(parts.netloc + parts.path + (f"?{parts.query}" if parts.query else "")))
