"""The error for what an engine cannot do."""

from collections.abc import Sequence

__all__ = ["Unsupported"]


class Unsupported(ValueError):  # noqa: N818 - what is the case
    """Something that this engine cannot do; the message says what, why, and what to do instead."""

    @classmethod
    def features(cls, names: Sequence[str]) -> "Unsupported":
        """The error for features of a model that the engine does not compute."""
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        return cls(
            f"{', '.join(names[:5])}{more}: only rankloop computes this; train on features that "
            "engine.computes(names) gives, or leave the model in rankloop (rankloop serve, POST /rank)"
        )
