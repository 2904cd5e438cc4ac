"""One judgment of one document."""

from collections.abc import Mapping
from math import isnan, nan
from types import MappingProxyType
from typing import Any, NamedTuple

__all__ = ["Judgment"]


class Judgment(NamedTuple):
    """The judgment of one rater on one document for one query.

    `rating` is nan for a document that is not rated (an empty `docid` stands for a query without any).
    `qid` is the id of the query where a tool has one, `query` its text. `low` and `high` are the ends of an
    interval, where the rating is an estimate. `details` holds what else the tool keeps.

    >>> Judgment("red shoes", "17", 3.0, rater="ann", reason="exact match").rated
    True
    """

    query: str
    docid: str
    rating: float = nan
    qid: str = ""
    rater: str = ""
    reason: str = ""
    low: float = nan
    high: float = nan
    position: int = 0
    title: str = ""
    details: Mapping[str, Any] = MappingProxyType({})

    @property
    def rated(self) -> bool:
        return bool(self.docid) and not isnan(self.rating)
