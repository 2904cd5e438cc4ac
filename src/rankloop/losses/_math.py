"""Arithmetic for loss kernels that LLVM can spread over vector lanes: no library calls, no branches."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["exp_negative", "fast", "inline", "inner", "log1p_unit", "workspace"]

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be added in another order (lanes), products fused into sums; inputs were checked to be finite.
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "nsz", "nnan"},
}


def fast(function: F) -> F:
    """A kernel whose sums may be reordered: the same order on every run, whatever the threads."""
    return cast(F, numba.njit(**_OPTIONS)(function))


def inner(function: F) -> F:
    """The same for what only kernels call: no wrapper for Python, which would double its compile time."""
    options = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, numba.njit(**options)(function))


def inline(function: F) -> F:
    """The same, always inlined into its caller: a loop that calls it still becomes a vector loop."""
    options = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}
    return cast(F, numba.njit(**options)(function))


@inner
def workspace(rows: int, length: int) -> NDArray[np.float64]:
    """Rows to write to, far from each other and from all other memory.

    A vector loop falls back to one element at a time where what it writes lies close to what it reads, and
    then adds in another order. Here it never does: no bit depends on where memory happens to lie.
    """
    return np.empty((rows + 2, length + 64))[1:-1]


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
def log1p_unit(t: float) -> float:
    """log(1 + t) for t in [0, 1] with a relative error below 1e-12: t times a polynomial through the
    Chebyshev nodes, without the division that the usual series needs."""
    p = -0.00020933151245117188
    p = p * t + 0.0019035432487726212
    p = p * t - 0.008154504932463169
    p = p * t + 0.022128426877316087
    p = p * t - 0.043445840739877895
    p = p * t + 0.06743676457699621
    p = p * t - 0.08914190772156871
    p = p * t + 0.10725213478372098
    p = p * t - 0.12397056628879
    p = p * t + 0.14265674577106324
    p = p * t - 0.16663925727256057
    p = p * t + 0.19999750557311446
    p = p * t - 0.24999986107326344
    p = p * t + 0.3333333292211813
    p = p * t - 0.49999999995119815
    p = p * t + 0.9999999999999016
    return p * t
