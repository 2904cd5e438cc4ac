"""BLAKE2b of many short texts at once: the hash that says in which shard a query lies."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel, part

if TYPE_CHECKING:
    import polars

__all__ = ["MANY", "digests"]

MANY = 10_000  # ids for which it pays to load a kernel

# The fractions of the square roots of the first eight primes, and the order of words in each round.
_START = np.array(
    [
        0x6A09E667F3BCC908,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
    ],
    np.uint64,
)
_ORDERS = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    ],
    np.uint8,
)
_SETTING = np.uint64(0x01010000 ^ 8)  # no key, one message, a digest of 8 bytes
_BLOCK = 128


def digests(ids: "Iterable[Any] | polars.Series") -> NDArray[np.uint64]:
    """The 8 bytes of BLAKE2b (RFC 7693) of each id as text, as a little-endian number.

    A long column of whole numbers or texts is hashed by a kernel, other ids one by one.

    >>> [f"{one:x}" for one in digests([7, "7", "red shoes"])]
    ['828f78ceca1750e7', '828f78ceca1750e7', 'ac54c07eb8dd9aea']
    """
    import polars

    if isinstance(ids, polars.Series):
        if len(ids) >= MANY and (ids.dtype.is_integer() or ids.dtype == polars.String):
            texts = ids.cast(polars.String)
            ends = np.cumsum(texts.str.len_bytes().to_numpy(), dtype=np.int64)
            return _of_texts(np.frombuffer(texts.str.join().item().encode(), np.uint8), ends)
        ids = ids.to_list()
    each = (blake2b(str(one).encode("utf-8", "surrogatepass"), digest_size=8).digest() for one in ids)
    return np.frombuffer(b"".join(each), "<u8")


@kernel
def _of_texts(content: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    found, words, state = np.empty(len(ends), np.uint64), np.empty(16, np.uint64), np.empty(8, np.uint64)
    begin = 0
    for i in range(len(ends)):
        found[i] = _digest(content, begin, ends[i], words, state)
        begin = ends[i]
    return found


@part
def _digest(
    content: NDArray[np.uint8], begin: int, end: int, words: NDArray[np.uint64], state: NDArray[np.uint64]
) -> Any:
    """Of the bytes from `begin` to `end`, a block at a time; `words` and `state` are scratch."""
    state[:] = _START
    state[0] ^= _SETTING
    at = begin
    while True:
        stop = min(at + _BLOCK, end)
        words[:] = np.uint64(0)
        for i in range(stop - at):
            words[i >> 3] |= np.uint64(content[at + i]) << np.uint64(8 * (i & 7))
        at = stop
        _compress(state, words, np.uint64(at - begin), at == end)
        if at == end:
            return state[0]


@part
def _compress(h: NDArray[np.uint64], words: NDArray[np.uint64], count: Any, last: bool) -> None:
    """The function F of the RFC; its sixteen words v stay in registers, a row of four by each letter."""
    a0, a1, a2, a3, b0, b1, b2, b3 = h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
    c0, c1, c2, c3 = _START[0], _START[1], _START[2], _START[3]
    d0, d1, d2, d3 = _START[4] ^ count, _START[5], _START[6], _START[7]
    if last:
        d2 = ~d2
    for m in _ORDERS:
        a0, b0, c0, d0 = _mixed(a0, b0, c0, d0, words[m[0]], words[m[1]])
        a1, b1, c1, d1 = _mixed(a1, b1, c1, d1, words[m[2]], words[m[3]])
        a2, b2, c2, d2 = _mixed(a2, b2, c2, d2, words[m[4]], words[m[5]])
        a3, b3, c3, d3 = _mixed(a3, b3, c3, d3, words[m[6]], words[m[7]])
        a0, b1, c2, d3 = _mixed(a0, b1, c2, d3, words[m[8]], words[m[9]])
        a1, b2, c3, d0 = _mixed(a1, b2, c3, d0, words[m[10]], words[m[11]])
        a2, b3, c0, d1 = _mixed(a2, b3, c0, d1, words[m[12]], words[m[13]])
        a3, b0, c1, d2 = _mixed(a3, b0, c1, d2, words[m[14]], words[m[15]])
    h[0], h[1], h[2], h[3] = h[0] ^ a0 ^ c0, h[1] ^ a1 ^ c1, h[2] ^ a2 ^ c2, h[3] ^ a3 ^ c3
    h[4], h[5], h[6], h[7] = h[4] ^ b0 ^ d0, h[5] ^ b1 ^ d1, h[6] ^ b2 ^ d2, h[7] ^ b3 ^ d3


@part
def _mixed(a: Any, b: Any, c: Any, d: Any, x: Any, y: Any) -> Any:
    """The function G of the RFC."""
    a = a + b + x
    d = _turned(d ^ a, 32)
    c = c + d
    b = _turned(b ^ c, 24)
    a = a + b + y
    d = _turned(d ^ a, 16)
    c = c + d
    b = _turned(b ^ c, 63)
    return a, b, c, d


@part
def _turned(word: Any, by: int) -> Any:
    return (word >> np.uint64(by)) | (word << np.uint64(64 - by))
