"""Signals from the links between documents; they depend on no query."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.search.pagerank import pagerank

__all__ = ["LinkSignals", "link_signals"]


class LinkSignals(NamedTuple):
    """Per document: incoming links, outgoing links, and its PageRank."""

    inlinks: Ints
    outlinks: Ints
    pagerank: Floats


def link_signals(
    ids: Sequence[Any], links: Mapping[Any, Iterable[Any]], *, damping: float = 0.85
) -> LinkSignals:
    """Signals of documents from their links, id -> ids; links to unknown documents count as outlinks only.

    Links from a document to itself are left out; repeated links count once.

    >>> link_signals(["a", "b", "c"], {"a": ["b", "c"], "b": ["c"]}).inlinks
    array([0, 1, 2])
    """
    number = {id: at for at, id in enumerate(ids)}
    source: list[int] = []
    target: list[int] = []
    outgoing = np.zeros(len(number), np.int64)
    for id, targets in links.items():
        if id not in number:
            continue
        others = set(targets) - {id}
        outgoing[number[id]] = len(others)
        inside = sorted(number[other] for other in others if other in number)
        source += [number[id]] * len(inside)
        target += inside
    incoming = np.bincount(np.array(target, np.int64), minlength=len(number))
    ranks = pagerank(source, target, len(number), damping=damping) if number else np.empty(0)
    return LinkSignals(incoming, outgoing, ranks)
