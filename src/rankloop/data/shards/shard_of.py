"""The hash that places a query in a shard."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Ints

if TYPE_CHECKING:
    import polars

__all__ = ["digests", "shard_of"]


def shard_of(queries: "Iterable[Any] | polars.Series", shards: int) -> Ints:
    """The shard of each query: BLAKE2b of the id as text, so that 7 and "7" go to the same one.

    >>> shard_of([7, "7", "red shoes"], 8)
    array([7, 7, 2])
    """
    return (digests(queries) % np.uint64(shards)).astype(np.int64)


def digests(ids: "Iterable[Any] | polars.Series") -> NDArray[np.uint64]:
    """The 8 bytes of BLAKE2b (RFC 7693) of each id as text, as a little-endian number.

    >>> [f"{one:x}" for one in digests([7, "7", "red shoes"])]
    ['828f78ceca1750e7', '828f78ceca1750e7', 'ac54c07eb8dd9aea']
    """
    empty = blake2b(digest_size=8)
    found = []
    for text in _texts(ids):
        one = empty.copy()  # two thirds of the time of a new one
        one.update(text)
        found.append(one.digest())
    return np.frombuffer(b"".join(found), "<u8")


def _texts(ids: "Iterable[Any] | polars.Series") -> Iterable[bytes]:
    """The ids as bytes; a column of texts or whole numbers is encoded at once."""
    import polars

    if isinstance(ids, polars.Series):
        if ids.dtype.is_integer() or ids.dtype == polars.String:
            return ids.cast(polars.String).cast(polars.Binary).to_list()
        ids = ids.to_list()
    return (str(one).encode("utf-8", "surrogatepass") for one in ids)
