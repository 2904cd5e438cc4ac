"""Optional dependencies: loaded when used, and the error says what to install."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["MODULES", "extra_of", "require", "require_modules"]

# The modules that each extra brings and that the code imports.
MODULES = {
    "cluster": ("ray", "fsspec", "cloudpickle"),
    "encoders": ("sentence_transformers", "wordllama"),
    "neural": ("torch",),
    "opensearch": ("opensearchpy",),
    "postgres": ("psycopg",),
    "report": ("matplotlib",),
    "search": ("usearch", "Stemmer"),
    "serve": ("fastapi", "uvicorn", "sqlalchemy", "jinja2", "prometheus_client"),
    "text": ("onnxruntime", "tokenizers"),
    "tracking": ("mlflow", "tensorboard"),
    "trees": ("xgboost", "catboost", "onnx", "onnxruntime"),
}


def require(module: str, extra: str) -> Any:
    """Import an optional module, or say which extra brings it.

    >>> require("math", "neural").pi
    3.141592653589793
    """
    loaded = sys.modules.get(module)
    if loaded is not None:  # many times faster than asking for it, in every call of a loss
        return loaded
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise _missing([error.name], [extra]) from None


def require_modules(*modules: str) -> None:
    """One error for all of these modules that are not installed: before the work, not within it.

    >>> require_modules("math")
    """
    missing = [one for one in modules if find_spec(one) is None]
    if missing:
        raise _missing(missing, list(dict.fromkeys(extra_of(one) or "all" for one in missing)))


def extra_of(module: str | None) -> str | None:
    """The extra that brings a module.

    >>> extra_of("sqlalchemy.orm"), extra_of("numpy")
    ('serve', None)
    """
    top = (module or "").split(".")[0]
    return next((extra for extra, modules in MODULES.items() if top in modules), None)


def _missing(modules: Sequence[str], extras: Sequence[str]) -> ModuleNotFoundError:
    named = modules[0] if len(modules) == 1 else f"{', '.join(modules[:-1])} and {modules[-1]}"
    what = "it" if len(modules) == 1 else "them"
    return ModuleNotFoundError(
        f"this needs {named}; install {what} with: pip install 'rankloop[{','.join(extras)}]'",
        name=modules[0],
    )
