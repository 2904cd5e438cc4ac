"""What a service searches, opened."""

from rankloop.engines import open as open_engine
from rankloop.engines.remote.address import is_address
from rankloop.search import Index, Searchable
from rankloop.serve.config import Config

__all__ = ["open_searchable"]


def open_searchable(config: Config) -> Searchable:
    """The index in the folder that a config names, or the engine at its address."""
    return open_engine(str(config.index)) if is_address(config.index) else Index.open(config.index)
