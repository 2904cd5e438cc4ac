"""How kernels are compiled (once per machine) and run (over spans of whole lists, in threads)."""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import update_wrapper
from itertools import pairwise
from threading import Lock
from typing import Any, TypeVar, cast

import numpy as np

from rankloop._arrays import Ints

__all__ = [
    "compiled",
    "has_compiler",
    "in_python",
    "inlined",
    "interpreted",
    "interpreted_by",
    "kernel",
    "over_lists",
    "part",
    "thread_count",
    "threads_at_most",
]

F = TypeVar("F", bound=Callable[..., Any])

_SMALL = 200_000  # documents below which threads cost more time than they save
_INTERPRETED: ContextVar[bool] = ContextVar("interpreted", default=False)
_MAKING = Lock()
_patience = 150_000  # documents that a process takes without machine code
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
    return cast(F, _Kernel(function, cached, {"nogil": True, "error_model": "numpy", **options}))


def interpreted_by(twin: F) -> Callable[[F], F]:
    """What runs in place of a kernel where kernels are `interpreted`: numpy, not loops of Python."""

    def given(function: F) -> F:
        cast(_Kernel, function).twin = twin
        return function

    return given


def in_python(function: F) -> F:
    """The loops of a kernel, for the part of its twin's work that numpy cannot do."""
    return cast(F, cast(_Kernel, function).py_func)


class _Kernel:
    """A function that numba compiles at its first call; until then numba, which is slow to load, is not."""

    def __init__(self, function: Callable[..., Any], cached: bool, options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self.cached, self.targetoptions = function, cached, options
        self.twin = function
        self._made: Any = None

    def __call__(self, *args: Any) -> Any:
        if _INTERPRETED.get():
            return self.twin(*args)
        return (self._made or self._make())(*args)

    def __getattr__(self, name: str) -> Any:
        """What numba's own object says: its `_cache`, or its type for a kernel that calls this one."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._made or self._make(), name)

    def __reduce__(self) -> str:
        return str(self.py_func.__qualname__)

    def _make(self) -> Any:
        import numba

        from rankloop._kernel_cache import KernelCache

        with _MAKING:
            if self._made is None:
                made: Any = numba.njit(**self.targetoptions)(self.py_func)
                if self.cached and hasattr(made, "enable_caching"):  # not where NUMBA_DISABLE_JIT is set
                    made._cache = KernelCache(self.py_func)
                self._made = made
        return self._made


def has_compiler() -> bool:
    """Whether numba is loaded; until then a small input takes less time without it."""
    return "numba" in sys.modules


@contextmanager
def interpreted(documents: int) -> Iterator[None]:
    """Run the kernels in this block as plain Python where that takes less time than to load the compiler.

    Loading takes half a second, compiling on a new machine some seconds. Only for kernels in which plain
    Python rounds as machine code does: with numbers of one precision.
    """
    global _patience
    if documents > _patience or has_compiler():
        yield
        return
    _patience -= documents
    before = _INTERPRETED.set(True)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _INTERPRETED.reset(before)


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
