"""Workers with other versions could give other numbers: they are refused before the work starts."""

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import rankloop

__all__ = ["here", "refuse_others"]

_LIBRARIES = ("numpy", "numba", "polars", "scikit-learn", "lightgbm", "torch")


@cache
def here() -> Mapping[str, str]:
    """The versions in this process, and the name of its machine."""
    found = {"rankloop": rankloop.__version__, "python": ".".join(platform.python_version_tuple()[:2])}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "none"
    return found


def refuse_others(theirs: Mapping[str, str], where: str) -> None:
    """An error unless a worker has the versions of this process.

    >>> refuse_others(here(), "this machine")
    >>> refuse_others({**here(), "numpy": "0.1"}, "node 7")
    Traceback (most recent call last):
    ValueError: node 7 has numpy 0.1 where this process has ...; install the same versions everywhere
    """
    for name, mine in here().items():
        if theirs.get(name) != mine:
            raise ValueError(
                f"{where} has {name} {theirs.get(name)} where this process has {mine}; "
                "install the same versions everywhere"
            )
