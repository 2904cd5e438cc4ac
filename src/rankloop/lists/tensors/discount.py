"""The discount of DCG in torch."""

from __future__ import annotations

from typing import Any

from rankloop._extras import require

__all__ = ["discount"]


def discount(rank: Any) -> Any:
    """1 / log2(1 + rank) of a tensor of ranks, in its own precision."""
    torch = require("torch", "neural")
    return 1.0 / torch.log2(1.0 + rank)
