"""Triton where it is installed: modules with kernels import everywhere, kernels run only on CUDA.

Triton gives the parameters of a kernel their types, so that kernels have no annotations (`no-untyped-def`).
With TRITON_INTERPRET=1 in the environment the kernels run on the CPU, slowly: that is how they are tested.
"""

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any

__all__ = ["INTERPRETED", "jit", "runs_on", "tl"]

_INSTALLED = find_spec("triton") is not None
# They change with each call; for a single list, as a constant, Triton 3.6 fails to compile searches.
_ANY = ("first", "low", "n_lists", "n_rows")

tl: Any = import_module("triton.language") if _INSTALLED else None

# For kernels: whether they are interpreted, and have no instructions of the device.
INTERPRETED: Any = os.environ.get("TRITON_INTERPRET") == "1"
if _INSTALLED:
    INTERPRETED = tl.constexpr(INTERPRETED)


def jit(function: Callable[..., Any]) -> Any:
    """A kernel, or a part of one; it is compiled once for all values of the arguments in `_ANY`."""
    if not _INSTALLED:
        return function
    general = [name for name in _ANY if name in signature(function).parameters]
    return import_module("triton").jit(function, do_not_specialize=general)


def runs_on(device: Any) -> bool:
    """Whether the kernels can run where these tensors are."""
    return _INSTALLED and (device.type == "cuda" or bool(INTERPRETED))
