"""The demo: the whole loop on the standard library of the machine it runs on.

Names load when they are first used: the crawl runs in a process of its own, which needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankloop.demo.story import Told as Told
    from rankloop.demo.story import tell as tell
    from rankloop.demo.story import tell_of as tell_of
    from rankloop.demo.telling import Story as Story

_HOME = {"Story": "telling", "Told": "story", "tell": "story", "tell_of": "story"}

__all__ = ["Story", "Told", "tell", "tell_of"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rankloop.demo' has no attribute {name!r}")
    return getattr(import_module(f"rankloop.demo.{_HOME[name]}"), name)
