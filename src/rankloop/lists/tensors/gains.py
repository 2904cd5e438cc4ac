"""The gains of labels in torch."""

from __future__ import annotations

from typing import Any

from rankloop._extras import require
from rankloop.lists.gain import GainOption

__all__ = ["gains"]


def gains(labels: Any, option: GainOption) -> Any:
    """`2^label - 1`, the label itself, or the entry of a table, in the precision of the labels.

    Labels are not checked: one outside the table gets the gain of its end.
    """
    torch = require("torch", "neural")
    if not isinstance(option, str):
        table = torch.tensor(tuple(option), dtype=labels.dtype, device=labels.device)
        return table[labels.long().clamp(0, len(table) - 1)]
    return labels if option == "linear" else torch.exp2(labels) - 1.0
