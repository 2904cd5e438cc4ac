"""Names of a package that load when they are first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["lazy"]


class _Package(ModuleType):
    """A package in which a member's name means the member, also once its module of the same name is loaded.

    The import system binds every loaded submodule as an attribute of its package; where a member has that
    name (`rankers.tune` in `rankers/tune.py`), the member takes its place.
    """

    __lazy_home__: Mapping[str, str]

    def __setattr__(self, name: str, value: Any) -> None:
        home = self.__dict__.get("__lazy_home__", {})
        if isinstance(value, ModuleType) and home.get(name) == name:
            value = getattr(value, name)
        super().__setattr__(name, value)


def lazy(package: str, home: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package; `home` gives the module of each public name. `dir` lists `__all__`.

    >>> find = lazy("rankloop", {"lazy": "_lazy"})
    >>> find("lazy") is lazy
    True
    """
    module = sys.modules[package]
    module.__class__ = _Package
    vars(module)["__lazy_home__"] = home
    vars(module)["__dir__"] = lambda: sorted(vars(module)["__all__"])

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home[name]}"), name)
        setattr(module, name, value)
        return value

    return find
