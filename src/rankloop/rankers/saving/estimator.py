"""scikit-learn objects as plain data and back, without pickle.

Only estimators of scikit-learn and their parts are instantiated: a file cannot name another class, function
or module.
"""

import copyreg
import re
from importlib import import_module
from typing import Any

from rankloop.rankers.saving.sound import check_made, check_state, is_allowed

__all__ = ["Parts", "is_from_sklearn", "put_together", "take_apart"]

Parts = dict[str, Any]

_HOME = re.compile(r"sklearn(\.(?!externals|datasets)\w+)+")
_BLANK = copyreg.__dict__["__newobj__"]  # creates an object without calling its __init__


def is_from_sklearn(value: object) -> bool:
    return _HOME.fullmatch(type(value).__module__) is not None


def take_apart(value: object) -> Parts:
    """Its class, constructor arguments and state; these may contain scikit-learn objects again.

    >>> from sklearn.linear_model import Ridge
    >>> parts = take_apart(Ridge(alpha=2.0))
    >>> parts["class"], parts["state"]["alpha"]
    ('sklearn.linear_model._ridge.Ridge', 2.0)
    """
    kind = type(value)
    reduced: Any = value.__reduce_ex__(2)
    make, arguments, *rest = reduced
    blank = make is not kind
    if blank:
        made, *arguments = arguments
        if make.__name__.startswith("__pyx_unpickle") and arguments[1:] in ([None], [()]):
            arguments = []  # a compiled class whose only argument is a checksum of its layout
        elif make is not _BLANK and make.__name__ != "newObj":
            made = None
        if made is not kind:
            raise ValueError(f"a {kind.__name__} cannot be saved without pickle; choose another estimator")
    return {
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "blank": blank,
        "arguments": list(arguments),
        "state": rest[0] if rest else None,
    }


def put_together(parts: Parts) -> Any:
    """The object that `take_apart` was given."""
    kind = _class(parts["class"])
    arguments = parts["arguments"]
    check_state(kind, arguments, parts["state"])
    made = kind.__new__(kind, *arguments) if parts["blank"] else kind(*arguments)
    state = parts["state"]
    if state is not None:
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
        else:
            made.__dict__.update(state)
    check_made(made, kind)
    return made


def _class(path: str) -> Any:
    module, _, name = path.rpartition(".")
    if not _HOME.fullmatch(module):
        raise ValueError(
            f"a model file names the class {path!r}, which is not scikit-learn's; it is not loaded"
        )
    found = getattr(import_module(module), name, None)
    if not isinstance(found, type) or found.__module__ != module:
        raise ValueError(
            f"the installed scikit-learn has no {path}; install the version that the model's manifest names"
        )
    if not is_allowed(found):
        raise ValueError(f"a model file names {path}, which is not an estimator; it is not loaded")
    return found
