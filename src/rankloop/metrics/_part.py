"""Functions that only kernels call."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["part"]

F = TypeVar("F", bound=Callable[..., Any])


def part(function: F) -> F:
    """Compile as a part of the kernels that call it, without the costly way in from Python."""
    options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # numba's stubs leave them out
    return cast(F, numba.njit(nogil=True, error_model="numpy", **options)(function))
