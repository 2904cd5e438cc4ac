"""The service: a search page that logs what the estimators need, and learns from its clicks."""

from typing import TYPE_CHECKING, Any

from rankloop._extras import require
from rankloop._lazy import lazy

if TYPE_CHECKING:
    from rankloop.serve.config import Config as Config
    from rankloop.serve.events.store import Store as Store
    from rankloop.serve.http.create_app import create_app as create_app
    from rankloop.serve.models.registry import Registry as Registry
    from rankloop.serve.service import Service as Service

__all__ = ["Config", "Registry", "Service", "Store", "create_app"]

_find = lazy(
    __name__,
    {
        "Config": "config",
        "Registry": "models.registry",
        "Service": "service",
        "Store": "events.store",
        "create_app": "http.create_app",
    },
)


def __getattr__(name: str) -> Any:
    """Names load when they are first used; without the extra `serve` the error says what to install."""
    if name in __all__:
        for module in ("sqlalchemy", "fastapi"):
            require(module, "serve")
    return _find(name)
