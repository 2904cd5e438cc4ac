"""Counter-based random numbers: each page has its own stream, independent of threads."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Floats
from rankloop._jit import kernel

__all__ = ["exponential", "key_of", "skip", "stream", "thresholds", "uniform", "uniform_at", "whole_number"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_27, _30, _31, _11, _12 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11), np.uint64(12)
_UNIT = 1.0 / 9007199254740992.0
_ONE = np.uint64(0x3FF0000000000000)  # the bits of 1.0
_ROOT = np.int64(0x3FE6A09E667F3BCD)  # the bits of the square root of 1/2
_52 = np.int64(52)


def key_of(seed: int | np.random.Generator) -> int:
    """A 64-bit key from a seed or from a generator (which moves on)."""
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> np.uint64(1))


def thresholds(p: Floats) -> NDArray[np.uint64]:
    """The integers t with `whole_number(...) < t` exactly where the uniform number is below p."""
    return np.ceil(p / _UNIT).astype(np.uint64)


@kernel
def _mix(z: Any) -> Any:
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@kernel
def stream(key: Any, page: Any) -> Any:
    """The first state of a page: splitmix64, mixed twice to separate the streams of neighbouring pages."""
    return _mix(key + _GOLDEN * _mix(page * _GOLDEN + _FIRST))


@kernel
def uniform(state: Any) -> Any:
    """The next state and a number in [0, 1)."""
    state = state + _GOLDEN
    return state, np.float64(_mix(state) >> _11) * _UNIT


@kernel
def whole_number(state: Any, n: Any) -> Any:
    """The result of the n-th call of `uniform` from here, times 2^53; loops over n can be vectorised."""
    return _mix(state + n * _GOLDEN) >> _11


@kernel
def uniform_at(state: Any, n: Any) -> Any:
    """The result of the n-th call of `uniform` from here."""
    return np.float64(np.int64(whole_number(state, n))) * _UNIT


@kernel
def skip(state: Any, n: Any) -> Any:
    """The state after n calls of `uniform`."""
    return state + n * _GOLDEN


@kernel
def exponential(state: Any, n: Any) -> Any:
    """Minus the logarithm of the n-th number in (0, 1) from here.

    The logarithm is that of fdlibm (Sun, 1993) without its special cases; loops over n can be vectorised.
    """
    u = np.uint64((_mix(state + n * _GOLDEN) >> _12) | _ONE).view(np.float64) - (1.0 - _UNIT)
    bits = np.float64(u).view(np.int64)
    power = (bits - _ROOT) >> _52  # u is 2 ** power times a number about 1
    f = np.int64(bits - (power << _52)).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    r = 1.531383769920937332e-01 + z * 1.479819860511658591e-01
    r = 2.222219843214978396e-01 + z * (1.818357216161805012e-01 + z * r)
    r = 6.666666666666735130e-01 + z * (3.999999999940941908e-01 + z * (2.857142874366239149e-01 + z * r))
    return s * (f - z * r) - f - power * 0.6931471805599453
