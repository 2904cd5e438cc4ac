"""The error for an engine that does not answer."""

__all__ = ["EngineAway"]


class EngineAway(OSError):  # noqa: N818 - what is the case, as StoreAway
    """The engine does not answer, is overloaded, or refuses the credentials; a service answers 503.

    The message names the engine's address, never a user, a password or a key.
    """
