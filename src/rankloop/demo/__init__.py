"""The demo: the whole loop on the standard library of the machine it runs on.

Names load when they are first used: the crawl runs in a process of its own, which needs none of them.
"""

from typing import TYPE_CHECKING

from rankloop._lazy import lazy

if TYPE_CHECKING:
    from rankloop.demo.loop import Told as Told
    from rankloop.demo.loop import tell as tell
    from rankloop.demo.loop import tell_of as tell_of
    from rankloop.demo.story import Story as Story

_HOME = {"Story": "story", "Told": "loop", "tell": "loop", "tell_of": "loop"}

__all__ = ["Story", "Told", "tell", "tell_of"]


__getattr__ = lazy(__name__, _HOME)
