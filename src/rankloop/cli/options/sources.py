"""What a SOURCE is: a data set, an index, or the configuration of a service."""

from pathlib import Path

__all__ = ["is_index", "is_searched", "is_service"]


def is_index(path: str | Path) -> bool:
    """Whether a path is an index; everything else is a data set, or refused when it is opened."""
    from rankloop.data import kind_of

    return Path(path).is_dir() and kind_of(path) == "index"


def is_searched(source: str | Path) -> bool:
    """Whether a source is an index, or the address of an engine."""
    from rankloop.engines.remote.address import is_address

    return is_address(source) or is_index(source)


def is_service(source: str | Path) -> bool:
    """Whether a source has a log of its own: an index, an engine, or the TOML file of a service."""
    return Path(source).suffix.lower() == ".toml" or is_searched(source)
