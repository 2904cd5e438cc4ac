"""How kernels are compiled (once per machine) and run (over spans of whole lists, in threads)."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any, TypeVar, cast

import numba
import numpy as np

from rankloop._arrays import Ints
from rankloop._kernel_cache import KernelCache

__all__ = ["compiled", "inlined", "kernel", "over_lists", "part", "thread_count", "threads_at_most"]

F = TypeVar("F", bound=Callable[..., Any])

_SMALL = 200_000  # documents below which threads cost more time than they save
_MOST: ContextVar[int | None] = ContextVar("most threads", default=None)


def kernel(function: F) -> F:
    """Compile on first use and keep the machine code on disk.

    It is kept beside the source, or in the user's cache folder where the package is read-only, and compiled
    again when the kernel or anything it calls has changed.
    Call a kernel with one fixed set of dtypes: every further set costs a compilation.
    """
    return compiled(function, cached=True, no_cfunc_wrapper=True)  # nobody calls it from C


def part(function: F) -> F:
    """Compile as a part of the kernels that call it, without the costly wrapper for calls from Python."""
    return compiled(function, cached=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def inlined(function: F) -> F:
    """A `part` that is always inlined into its caller."""
    return compiled(function, cached=False, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)


def compiled(function: F, *, cached: bool, **options: Any) -> F:
    """Compile to code without the interpreter lock; `options` are numba's, `cached` keeps it on disk."""
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if cached and hasattr(dispatcher, "enable_caching"):  # a plain function where NUMBA_DISABLE_JIT is set
        dispatcher._cache = KernelCache(function)
    return cast(F, dispatcher)


def over_lists(work: Callable[[int, int], None], offsets: Ints, *, threads: int | None = None) -> None:
    """Run `work(first_list, last_list)` over spans of lists with about the same number of documents.

    The spans run in threads (kernels release the interpreter lock); small inputs run in place.
    """
    lists = len(offsets) - 1
    workers = 1 if threads is None and offsets[-1] < _SMALL else thread_count(threads)
    if workers <= 1 or lists < 2 * workers:
        work(0, lists)
        return
    spans = 4 * workers
    cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], spans + 1)[1:-1])
    edges = np.unique(np.concatenate(([0], cuts, [lists])))
    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(work, a, b) for a, b in pairwise(edges.tolist())]:
            done.result()


@contextmanager
def threads_at_most(threads: int | None) -> Iterator[None]:
    """Limit the kernels that run in this block to `threads` threads; None changes nothing.

    >>> with threads_at_most(1):
    ...     thread_count()
    1
    """
    before = _MOST.set(_MOST.get() if threads is None else max(1, threads))
    try:
        yield
    finally:
        _MOST.reset(before)


def thread_count(threads: int | None = None) -> int:
    """The threads to use: `threads`, or what `threads_at_most`, OMP_NUM_THREADS and the cores allow."""
    if threads is not None:
        return max(1, threads)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    allowed = min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores
    return min(allowed, _MOST.get() or allowed)
