"""One bin of a histogram in an answer."""

from pydantic import BaseModel

__all__ = ["RangeCount"]


class RangeCount(BaseModel):
    """How many results have a number from `min` to `max`; None is open."""

    min: float
    max: float | None
    count: int
