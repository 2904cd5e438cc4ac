"""The loop, served: a search page that logs what the estimators need, and learns from its clicks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankloop._extras import require

if TYPE_CHECKING:
    from rankloop.serve.config import Config as Config
    from rankloop.serve.events.store import Store as Store
    from rankloop.serve.http.app import create_app as create_app
    from rankloop.serve.models.registry import Registry as Registry
    from rankloop.serve.service import Service as Service

_HOME = {
    "Config": "config",
    "Registry": "models.registry",
    "Service": "service",
    "Store": "events.store",
    "create_app": "http.app",
}

__all__ = ["Config", "Registry", "Service", "Store", "create_app"]


def __getattr__(name: str) -> Any:
    """Names load when they are first used: the web and the database are an extra."""
    if name not in _HOME:
        raise AttributeError(f"module 'rankloop.serve' has no attribute {name!r}")
    for module in ("sqlalchemy", "fastapi"):
        require(module, "serve")
    return getattr(import_module(f"rankloop.serve.{_HOME[name]}"), name)
