"""The demo: index, retrieve, learn from clicks and compare, on the standard library of this machine.

Names load when they are first used: the crawl runs in a process of its own, which needs none of them.
"""

from typing import TYPE_CHECKING

from rankloop._lazy import lazy

if TYPE_CHECKING:
    from rankloop.demo.run_demo import run_demo as run_demo
    from rankloop.demo.run_loop import Demo as Demo
    from rankloop.demo.run_loop import run_loop as run_loop
    from rankloop.demo.steps import Steps as Steps

_HOME = {"Demo": "run_loop", "Steps": "steps", "run_demo": "run_demo", "run_loop": "run_loop"}

__all__ = ["Demo", "Steps", "run_demo", "run_loop"]


__getattr__ = lazy(__name__, _HOME)
