"""Optional dependencies: loaded when used, and the error says what to install."""

from importlib import import_module
from typing import Any

__all__ = ["require"]


def require(module: str, extra: str) -> Any:
    """Import an optional module, or say which extra brings it.

    >>> require("math", "neural").pi
    3.141592653589793
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise ModuleNotFoundError(
            f"this needs {error.name}; install it with: pip install 'rankloop[{extra}]'", name=error.name
        ) from None
