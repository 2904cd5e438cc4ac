"""What a SOURCE is: a data set, an index, or the configuration of a service."""

import json
from pathlib import Path

__all__ = ["is_index", "is_service"]


def is_index(path: Path) -> bool:
    """Whether a folder is an index; its manifest lists segments."""
    try:
        return "segments" in json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def is_service(path: Path) -> bool:
    """Whether a path has a log of its own: an index, or the TOML file of a service."""
    return path.suffix.lower() == ".toml" or is_index(path)
