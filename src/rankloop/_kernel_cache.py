"""Machine code on disk that is never stale: its key covers every function and constant a kernel reaches."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core import caching as _caching

__all__ = ["KernelCache", "fingerprint"]

caching: Any = _caching  # numba types only parts of itself


class KernelCache(caching.FunctionCache):  # type: ignore[misc]  # its base is Any
    """Numba's cache with another key: numba's own looks at the file of the kernel alone.

    The key is found at the first call, when all functions that the kernel calls are defined, and is a part
    of the files' names: an index never leads to machine code of other sources, also when processes that run
    different versions share a folder.
    """

    @cached_property
    def name(self) -> str:
        """What the names of this kernel's files begin with."""
        return f"{self._impl.filename_base}.{fingerprint(self._py_func)[:16]}"

    @property
    def on_disk(self) -> bool:
        """Whether machine code of the present sources is there."""
        return Path(self._cache_path, f"{self.name}.nbi").exists()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        self._cache_file = caching.IndexDataCacheFile(
            cache_path=self._cache_path, filename_base=self.name, source_stamp=self.name
        )
        return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save it, and remove what was compiled from earlier sources of this kernel."""
        super().save_overload(sig, data)
        if self._py_func.__closure__ is not None:  # kernels that one factory makes share the base of the name
            return
        for path in Path(self._cache_path).glob(f"{self._impl.filename_base}.*.nb[ic]"):
            if not path.name.startswith(f"{self.name}."):
                with suppress(OSError):  # another process was first
                    path.unlink()


def fingerprint(function: Callable[..., Any]) -> str:
    """A digest of the code of `function`, of what it calls in its package, and of the constants they use.

    Computed from code in memory, not from files: these may have been edited since they were imported.

    >>> def double(x): return 2 * x
    >>> def triple(x): return 3 * x
    >>> fingerprint(double) == fingerprint(triple)
    False
    """
    package = _package(function)
    digest = hashlib.sha256()
    waiting, seen = [function], {id(function)}
    while waiting:
        own, callees = _described(waiting.pop(), package)
        digest.update(own)
        for callee in callees:
            if id(callee) not in seen:
                seen.add(id(callee))
                waiting.append(callee)
    return digest.hexdigest()


@lru_cache(maxsize=4096)
def _described(function: Any, package: str) -> tuple[bytes, tuple[Any, ...]]:
    """What `function` is by itself, and the functions of `package` that it refers to."""
    parts = [_text(function.__defaults__), _text(function.__kwdefaults__)]
    callees = []
    for code in _codes(function.__code__):
        parts += [code.co_code.hex(), *map(_text, code.co_consts), *code.co_names, *code.co_varnames]
    for name, value in _referred(function, package):
        python = _python(value)
        if python is not None and _package(python) == package:
            callees.append(python)
            value = getattr(value, "targetoptions", None)
        parts.append(f"{name}={_text(value)}")
    return "\n".join(parts).encode(), tuple(callees)


def _referred(function: Any, package: str) -> Iterator[tuple[str, Any]]:
    """The globals and closure variables that the code names, also through modules of the package."""
    names = [name for code in _codes(function.__code__) for name in code.co_names]
    for name in names:
        if name in function.__globals__:
            value = function.__globals__[name]
            yield name, value
            if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == package:
                yield from ((inner, vars(value)[inner]) for inner in names if inner in vars(value))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code itself and the code of the functions and comprehensions inside it."""
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _codes(value)


def _python(value: Any) -> Any:
    """The Python function behind a compiled function or an intrinsic, or the function itself."""
    found = getattr(value, "py_func", None) or getattr(value, "_defn", None) or value
    return found if isinstance(found, FunctionType) else None


def _package(function: Any) -> str:
    """The top package of a function; `python -m` renames the module, not its package."""
    home = function.__globals__.get("__package__") or function.__globals__.get("__name__", "")
    return str(home).partition(".")[0]


def _text(value: Any) -> str:
    """A constant as text that is the same in every process."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, (set, frozenset)):
        return f"{{{','.join(sorted(map(_text, value)))}}}"
    if isinstance(value, (tuple, list)):
        return f"({','.join(map(_text, value))})"
    if isinstance(value, dict):
        return _text([(key, _text(item)) for key, item in value.items()])
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic, np.dtype)):
        return f"{type(value).__name__}:{value!r}"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}{getattr(value, '_fields', '')}"
    return f"{type(value).__module__}.{type(value).__qualname__}:{getattr(value, '__name__', '')}"
