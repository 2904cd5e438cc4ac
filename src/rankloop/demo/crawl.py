"""Every public object of the standard library with its documentation; run in a process of its own.

Importing every module has side effects, so this runs as `python -m rankloop.demo.crawl FILE`, muted, and
writes one JSON document a line.
"""

import importlib
import inspect
import json
import os
import pkgutil
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["documents_of"]

# Modules that act on import, need a screen, are internal, or are gone in later versions.
_SKIPPED = frozenset(
    [
        *("antigravity", "this", "idlelib", "lib2to3", "test", "turtledemo", "ensurepip", "pydoc_data"),
        *("distutils", "tkinter", "turtle", "msilib", "curses", "encodings", "crypt", "imp", "ntpath", "nt"),
        *("asyncore", "asynchat", "smtpd", "nturl2path", "sre_compile", "sre_constants", "sre_parse"),
    ]
)
# The module that documents an object comes before the one that implements it.
_FIRST = ("builtins", "os.path", "os", "io", "collections", "threading", "asyncio", "concurrent.futures")
_NESTED = frozenset({"concurrent", "xml", "multiprocessing", "json", "email", "http", "urllib"})


def documents_of() -> Iterator[dict[str, Any]]:
    """One document per object: the first name that reaches it is its name, the others are aliases."""
    seen: dict[int, dict[str, Any]] = {}
    alive: list[Any] = []  # ids are only unique among living objects
    modules = [(name, module) for name in _module_names() if (module := _imported(name)) is not None]
    own = [found for name, module in modules for found in _public(name, module)]
    classes = [(dotted, thing) for dotted, thing, kind in own if kind == "class"]
    inherited = [found for dotted, owner in classes for found in _methods(dotted, owner, dir(owner))]
    for dotted, thing, kind in [*own, *inherited]:
        alive.append(thing)
        known = seen.setdefault(id(thing), _document(dotted, thing, kind))
        _also(known, dotted)
    for name, module in modules:
        for public, thing in sorted(vars(module).items()):
            if id(thing) in seen and not public.startswith("_"):
                _also(seen[id(thing)], f"{name}.{public}")
    yield from seen.values()


def _also(document: dict[str, Any], dotted: str) -> None:
    if dotted != document["name"] and dotted not in document["aliases"]:
        document["aliases"].append(dotted)


def _module_names() -> list[str]:
    tops = sorted(
        name for name in sys.stdlib_module_names if not name.startswith("_") and name not in _SKIPPED
    )
    names = [*_FIRST, *(name for name in tops if name not in _FIRST)]
    for top in tops:
        module = _imported(top)
        if module is not None and hasattr(module, "__path__"):
            found = sorted(sub.name for sub in pkgutil.iter_modules(module.__path__))
            names += [
                f"{top}.{sub}" for sub in found if not sub.startswith("_") and sub not in ("test", "tests")
            ]
            for sub in found:
                package = _imported(f"{top}.{sub}") if top in _NESTED and f"{top}.{sub}" in names else None
                if package is not None and hasattr(package, "__path__"):
                    inner = sorted(s.name for s in pkgutil.iter_modules(package.__path__))
                    names += [f"{top}.{sub}.{s}" for s in inner if not s.startswith("_")]
    return list(dict.fromkeys(name for name in names if not name.startswith("multiprocessing.popen")))


def _imported(name: str) -> types.ModuleType | None:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit):  # a module of another platform, or with a missing dependency
        return None


def _public(name: str, module: types.ModuleType) -> Iterator[tuple[str, Any, str]]:
    prefix = "" if name == "builtins" else f"{name}."
    if name != "builtins":
        yield name, module, "module"
    listed = getattr(module, "__all__", None)
    names = sorted(vars(module)) if listed is None else [n for n in listed if isinstance(n, str)]
    if listed is not None:  # for example hashlib.scrypt, which is defined in _hashlib and not listed
        own = f"_{name.rpartition('.')[2]}"
        names += [n for n, v in sorted(vars(module).items()) if getattr(v, "__module__", None) == own]
    for public in dict.fromkeys(names):
        thing = getattr(module, public, None)
        if public.startswith("_") or thing is None or isinstance(thing, types.ModuleType):
            continue
        kind = _kind(thing)
        if kind is None or (listed is None and name != "builtins" and not _owns(name, thing)):
            continue
        yield prefix + public, thing, kind
        if kind == "class":
            yield from _methods(prefix + public, thing, vars(thing))


def _owns(name: str, thing: Any) -> bool:
    home = getattr(thing, "__module__", None) or ""
    return home in (name, f"_{name}", f"_{name.rpartition('.')[2]}")


def _kind(thing: Any) -> str | None:
    if isinstance(thing, type):
        return "class"
    return "function" if callable(thing) else None


def _methods(prefix: str, owner: type, names: Iterable[str]) -> Iterator[tuple[str, Any, str]]:
    if issubclass(owner, BaseException):
        return
    for name in sorted(names):
        thing = inspect.getattr_static(owner, name, None)
        inner = thing.__func__ if isinstance(thing, classmethod | staticmethod) else thing
        if not name.startswith("_") and callable(inner) and not isinstance(inner, type):
            yield f"{prefix}.{name}", inner, "method"


def _document(dotted: str, thing: Any, kind: str) -> dict[str, Any]:
    body = _documentation(thing, dotted.rpartition(".")[2])
    module, _, last = dotted.rpartition(".")
    return {
        "id": dotted,
        "name": dotted,
        "last": last or dotted,
        "module": module,
        "kind": "exception" if isinstance(thing, type) and issubclass(thing, BaseException) else kind,
        "signature": _signature(thing),
        "summary": body.split("\n\n", 1)[0].replace("\n", " "),
        "body": body,
        "aliases": [],
    }


def _documentation(thing: Any, last: str) -> str:
    """The object's own docstring; an inherited one describes something else."""
    text = thing.__dict__.get("__doc__") if isinstance(thing, type) else getattr(thing, "__doc__", None)
    if not isinstance(text, str):
        return ""
    lines = inspect.cleandoc(text).splitlines()
    while lines and lines[0].startswith(f"{last}("):  # C functions open with their signature
        lines = lines[1:]
    return "\n".join(lines).strip()


def _signature(thing: Any) -> str:
    try:
        return str(inspect.signature(thing))
    except (ValueError, TypeError, AttributeError):  # the last from defaults in C, as of Python 3.13's epoll
        return ""


def _main(target: str) -> None:
    warnings.simplefilter("ignore")
    muted = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(muted, stream)
    with Path(target).open("w", encoding="utf-8") as out:
        for document in documents_of():
            out.write(json.dumps(document) + "\n")


if __name__ == "__main__":
    _main(sys.argv[1])
