"""Names of a package that load when they are first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy"]


def lazy(package: str, home: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose public names live in the modules that `home` says.

    >>> find = lazy("rankloop", {"lazy": "_lazy"})
    >>> find("lazy") is lazy
    True
    """

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
