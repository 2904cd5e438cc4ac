"""Warnings that point at the user's line, however deep in the package they are found."""

import contextlib
import sys
import warnings
from pathlib import Path

__all__ = ["warn"]

_PASSED = (str(Path(__file__).parent), contextlib.__file__)  # a reader may warn when its context ends


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest line that is not of the package.

    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     warn("the log is short")
    >>> seen[0].category.__name__, seen[0].filename.endswith("_warn.py")
    ('UserWarning', False)
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PASSED):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
