"""What a label is worth."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_labels", "gains"]

_HIGHEST = 500.0  # 2^label stays far from the end of float64


def gains(labels: NDArray[np.float32], gain: str | tuple[float, ...]) -> NDArray[np.float64]:
    """`2^label - 1`, the label itself, or the entry of a table.

    >>> gains(np.array([0, 1, 3], np.float32), "exp2")
    array([0., 1., 7.])
    """
    check_labels(labels, gain)
    if isinstance(gain, tuple):
        return np.asarray(gain, np.float64)[labels.astype(np.int64)]
    wide = labels.astype(np.float64)
    return wide if gain == "linear" else np.exp2(wide) - 1.0


def check_labels(labels: NDArray[np.float32], gain: str | tuple[float, ...]) -> None:
    """Refuse labels that the gain cannot take."""
    if isinstance(gain, tuple):
        wrong = (labels != np.floor(labels)) | (labels >= len(gain))
        if wrong.any():
            raise ValueError(
                f"a gain table of {len(gain)} entries takes the labels 0 to {len(gain) - 1}, "
                f"got {labels[wrong.argmax()]:g}"
            )
    elif gain == "exp2" and labels.max(initial=0.0) > _HIGHEST:
        raise ValueError(f"2^label overflows for label {labels.max():g}; take gain='linear'")
