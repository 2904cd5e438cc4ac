"""Several forests of LightGBM on the same rows: their features are put into bins once."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from rankloop.data import RankingDataset

__all__ = ["binned", "shared_bins"]

MOST = 1 << 30  # bytes of bins that are kept, about

_kept: ContextVar[dict[str, tuple[Any, int]] | None] = ContextVar("bins", default=None)


@contextmanager
def shared_bins() -> Iterator[None]:
    """Within this, bins are kept for further forests with the same features, lists and settings."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def binned(data: RankingDataset, settings: Mapping[str, Any], made: Callable[[], Any]) -> Any:
    """LightGBM's data set of these rows, kept or made now; it may have the labels of an earlier forest.

    LightGBM reads labels only for objectives of its own, so the derivatives must be ours.
    """
    kept = _kept.get()
    if kept is None:
        return made()
    name = _name(data, settings)
    found, size = kept.pop(name, (None, data.X.size * (5 if settings.get("linear_tree") else 1)))
    if found is None:
        found = made().construct()
        found.data = None  # the bins are enough; for linear leaves LightGBM has floats of its own
    if size <= MOST:
        kept[name] = found, size  # at the end: the one that was not used for longest is the first
        while sum(one for _, one in kept.values()) > MOST:
            del kept[next(iter(kept))]
    return found


def _name(data: RankingDataset, settings: Mapping[str, Any]) -> str:
    """A digest of all that the bins depend on."""
    given = sorted((name, value) for name, value in settings.items() if name != "objective")
    digest = hashlib.blake2b(repr((data.X.shape, given)).encode())
    for values in (data.X, data.offsets):
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()
