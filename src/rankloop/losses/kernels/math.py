"""Arithmetic for loss kernels that LLVM can spread over vector lanes: no library calls, no branches."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop._jit import compiled

__all__ = ["exp_negative", "fast", "inline", "inner", "log1p_of", "single_workspace", "workspace"]

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be added in another order (lanes), products fused into sums; inputs were checked to be finite.
_FAST: dict[str, Any] = {"cached": True, "fastmath": {"contract", "reassoc", "nsz", "nnan"}}
_INNER: dict[str, Any] = {**_FAST, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def fast(function: F) -> F:
    """A kernel whose sums may be reordered: the same order on every run, whatever the threads."""
    return compiled(function, **_FAST)


def inner(function: F) -> F:
    """The same for what only kernels call: no wrapper for Python, which would double its compile time."""
    return compiled(function, **_INNER)


def inline(function: F) -> F:
    """The same, always inlined into its caller: a loop that calls it still becomes a vector loop."""
    return compiled(function, **_INNER, forceinline=True)


@inner
def workspace(rows: int, length: int) -> Floats:
    """Rows to write to, far from each other and from all other memory.

    A vector loop falls back to one element at a time where what it writes lies close to what it reads, and
    then adds in another order. Here it never does: no bit depends on where memory happens to lie.
    """
    return np.empty((rows + 2, length + 64))[1:-1]


@inner
def single_workspace(rows: int, length: int) -> Singles:
    """The same in single precision."""
    return np.empty((rows + 2, length + 128), np.float32)[1:-1]


@inline
def exp_negative(x: float) -> float:
    """exp(-x) for x >= 0 with a relative error below 1e-14; 0 from x = 708 on.

    -x = k ln 2 + r with |r| <= ln 2 / 2, and the first twelve terms of the series of exp(r).
    """
    k = np.floor(0.5 - min(x, 709.0) * 1.4426950408889634)
    r = (-min(x, 709.0) - k * 0.6931471803691238) - k * 1.9082149292705877e-10
    p = 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 0.0001984126984126984
    p = p * r + 0.001388888888888889
    p = p * r + 0.008333333333333333
    p = p * r + 0.041666666666666664
    p = p * r + 0.16666666666666666
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = np.int64((np.int64(k) + np.int64(1023)) << np.int64(52))
    scaled: float = p * power.view(np.float64)
    return scaled if x < 708.0 else 0.0


@inline
def log1p_of(v: float) -> float:
    """log(1 + t) from v = t / (2 + t), for t in [0, 1], with a relative error below 1e-13.

    It is 2 atanh(v): v times a polynomial of v^2 through the Chebyshev nodes of [0, 1/9].
    """
    w = v * v
    p = 0.2006822930771151
    p = p * w + 0.14070724332548487
    p = p * w + 0.18310050515159804
    p = p * w + 0.22215399473216527
    p = p * w + 0.28571624066856655
    p = p * w + 0.3999999726314069
    p = p * w + 0.6666666668121171
    p = p * w + 1.9999999999998734
    return p * v
