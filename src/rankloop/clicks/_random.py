"""Random numbers by counter: each page has its own stream, whichever thread draws it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel

__all__ = ["key_of", "stream", "thresholds", "uniform", "whole_number"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_27, _30, _31, _11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
_UNIT = 1.0 / 9007199254740992.0


def key_of(seed: int | np.random.Generator) -> int:
    """A 64-bit key from a seed or from a generator (which moves on)."""
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> np.uint64(1))


def thresholds(p: NDArray[np.float64]) -> NDArray[np.uint64]:
    """The numbers t with `whole_number(...) < t` exactly where the uniform number is below p."""
    return np.ceil(p / _UNIT).astype(np.uint64)


@kernel
def _mix(z: Any) -> Any:
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@kernel
def stream(key: Any, page: Any) -> Any:
    """The state with which a page begins: splitmix64, twice mixed so that near pages are far apart."""
    return _mix(key + _GOLDEN * _mix(page * _GOLDEN + _FIRST))


@kernel
def uniform(state: Any) -> Any:
    """The next state and a number in [0, 1)."""
    state = state + _GOLDEN
    return state, np.float64(_mix(state) >> _11) * _UNIT


@kernel
def whole_number(state: Any, n: Any) -> Any:
    """What the n-th call of `uniform` from here draws, times 2^53: loops over n can run in parallel."""
    return _mix(state + n * _GOLDEN) >> _11
