"""The error for what an engine cannot do."""

__all__ = ["Unsupported"]


class Unsupported(ValueError):  # noqa: N818 - what is the case
    """Something that this engine cannot do; the message says what, why, and what to do instead."""
