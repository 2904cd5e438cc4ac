"""The event stores of the tests of the service."""

from serve.conftest import database, postgres, store

__all__ = ["database", "postgres", "store"]
