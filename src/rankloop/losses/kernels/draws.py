"""Random numbers by counter (Philox 4 x 32, ten rounds; Salmon et al., 2011): the same on every device.

The number of a row follows from seed, sample and row alone, so that a GPU draws all of them at once.
"""

from functools import lru_cache

import numpy as np

from rankloop._arrays import Floats
from rankloop._jit import kernel, part

__all__ = ["TIE_BITS", "draw_key", "gumbel_draws", "uniform_draws"]

TIE_BITS = 29  # of a draw that decides between equal labels: what a float32 leaves free in a float64

_STEP = 2.0**-52


@lru_cache(maxsize=256)
def draw_key(seed: int) -> int:
    """The key of a seed: odd, and below 2^63, so that every key has the same type in a kernel of a GPU."""
    state = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    return state >> 1 | 1


def uniform_draws(seed: int, count: int, sample: int = 0) -> Floats:
    """One number between 0 and 1, both excluded, for each of `count` rows.

    >>> uniform_draws(0, 3).round(4)
    array([0.2714, 0.8092, 0.5893])
    >>> np.array_equal(uniform_draws(0, 9)[:3], uniform_draws(0, 3))
    True
    """
    made = np.empty(count)
    _fill(np.uint64(draw_key(seed)), np.uint64(sample), False, made)
    return made


def gumbel_draws(seed: int, count: int, sample: int = 0) -> Floats:
    """Gumbel noise, -log(-log U), of the same numbers."""
    made = np.empty(count)
    _fill(np.uint64(draw_key(seed)), np.uint64(sample), True, made)
    return made


@kernel
def _fill(key: np.uint64, sample: np.uint64, gumbel: bool, made: Floats) -> None:
    for row in range(made.size):
        high, low = philox(np.uint64(row), sample, key)
        u = (np.float64(high << np.uint64(20) | low >> np.uint64(12)) + 0.5) * _STEP
        made[row] = -np.log(-np.log(u)) if gumbel else u


@part
def philox(counter: np.uint64, sample: np.uint64, key: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The first two of the four words of 32 bits, for the counter (row, row >> 32, sample, 0)."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a, b, c, d = counter & mask, counter >> half, sample & mask, np.uint64(0)
    k, m = key & mask, key >> half
    for _ in range(10):
        one, two = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
        a, b, c, d = (two >> half) ^ b ^ k, two & mask, (one >> half) ^ d ^ m, one & mask
        k = (k + np.uint64(0x9E3779B9)) & mask
        m = (m + np.uint64(0xBB67AE85)) & mask
    return a, b
