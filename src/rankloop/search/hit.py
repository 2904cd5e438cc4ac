"""One result as people see it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Hit"]


@dataclass(frozen=True)
class Hit:
    """One result: its document, and the passage that matches, escaped for HTML with its matches marked."""

    id: Any
    rank: int
    score: float
    document: Mapping[str, Any]
    snippet: str
