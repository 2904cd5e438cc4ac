"""The demo: the whole loop on the standard library of the machine it runs on."""

from rankloop.demo.story import Told, tell, tell_of
from rankloop.demo.telling import Story

__all__ = ["Story", "Told", "tell", "tell_of"]
