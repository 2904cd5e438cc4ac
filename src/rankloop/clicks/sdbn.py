"""The simplified DBN, whose users do not get tired."""

from dataclasses import dataclass
from typing import Any

from rankloop.clicks.dbn import DBN

__all__ = ["SDBN"]


@dataclass(eq=False, kw_only=True, repr=False)
class SDBN(DBN):
    """DBN with continuation 1 (Chapelle & Zhang, 2009): reading ends only by satisfaction.

    Fitted to the exact likelihood; the paper's counting estimator takes every last click as satisfied.

    >>> SDBN(attraction=0.5, satisfaction=0.5).click_probability([0, 0])
    array([0.5  , 0.375])
    """

    continuation: Any = 1.0
