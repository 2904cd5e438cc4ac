"""What learns: every ranker has `fit`, `predict`, `save`, and `load` brings it back.

Members load when they are first used, so that a linear ranker never imports a tree library or torch.
`__all__` is the registry: `load` and the command line find rankers in it, and the shared tests walk it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankloop.rankers.base import Ranker as Ranker
    from rankloop.rankers.saving import load as load

_HOME = {
    "Ranker": "base",
    "load": "saving",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"rankloop.rankers.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'rankloop.rankers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
