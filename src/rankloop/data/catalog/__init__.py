"""Named public sets: what they are, where they are on this machine, how to get and read them."""

from rankloop.data.catalog.entries import Entry
from rankloop.data.catalog.sets import entry, find, get, load, names, verify

__all__ = ["Entry", "entry", "find", "get", "load", "names", "verify"]
