"""rankloop: learning to rank, end to end. Public names load when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankloop.data import (
        Pairs as Pairs,
    )
    from rankloop.data import (
        RankingDataset as RankingDataset,
    )

__version__ = "0.1.0"

_FAMILIES = ("data", "metrics")

_HOME = {
    "Pairs": "data",
    "RankingDataset": "data",
}

__all__ = ["__version__", *_FAMILIES, *_HOME]


def __getattr__(name: str) -> Any:
    if name in _FAMILIES:
        return import_module(f"rankloop.{name}")
    if name in _HOME:
        value = getattr(import_module(f"rankloop.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'rankloop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
