"""The demo: the whole loop on the standard library of the machine it runs on."""

from rankloop.demo.story import Story, tell

__all__ = ["Story", "tell"]
