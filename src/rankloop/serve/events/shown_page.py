"""Records of the store: pages as they were shown, and what people did on them."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop._names import one_of
from rankloop.search.field import FIRST, LAST

__all__ = ["KINDS", "POLICIES", "Event", "FollowingPage", "ShownPage", "check_text", "swap"]

POLICIES = ("plain", "swap", "interleave", "ab", "online")
KINDS = ("click", "dwell", "conversion", "viewport")
_PAGE_ID = re.compile(r"[0-9a-f]{32}")
LONGEST = 4096  # characters of a query or of a document id
_LONGEST_NAME = 128  # of an event id, a user key, a layout


@dataclass(frozen=True, eq=False, slots=True)
class _Results:
    """Results as they were shown, with the scores and features of the moment; `time` is in UTC seconds."""

    page_id: str
    time: float
    query: str
    documents: tuple[str, ...]
    scores: Floats
    features: Singles
    feature_names: tuple[str, ...]
    ranker: str

    def __post_init__(self) -> None:
        _page_id(self.page_id)
        shown = len(self.documents)
        scores = np.asarray(self.scores, np.float64)
        features = np.asarray(self.features, np.float32)
        if scores.shape != (shown,) or not np.isfinite(scores).all():
            raise ValueError(f"scores are finite, one per document ({shown}), got {scores!r}")
        if features.shape != (shown, len(self.feature_names)):
            raise ValueError(
                f"features have a row per document ({shown}) and a column per name "
                f"({len(self.feature_names)}), got shape {features.shape}"
            )
        if len(set(self.documents)) != shown:
            raise ValueError("a document is shown once on a page; drop the repetition")
        check_text("query", self.query)
        for document in self.documents:
            check_text("document", document)
        _check_names(self, "ranker", "user")
        _time(self.time)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "features", features)


@dataclass(frozen=True, eq=False, slots=True)
class ShownPage(_Results):
    """A page with everything that estimators need later, also of documents that were not clicked.

    `ranker` is the model version ("v1 + v2" if interleaved), `generation` and
    `fingerprint` identify the index and the scores. `randomness` is what was drawn at random: `swap(...)` for
    `policy="swap"`, the page of `rankloop.interleaving` for "interleave", anything otherwise; under
    "propensity" it may hold the probability of each document to be shown at its rank. `seconds` are those of
    the stages; `user` and `origin` are keyed hashes of a person and of an address range. `query` is what was
    ranked by, `typed` what the person typed where words were corrected or completed.

    >>> page = ShownPage("0" * 32, 0.0, "red shoes", ("a", "b"), [2.0, 1.0], [[1.0], [0.5]], ("bm25",), "v1")
    >>> page.features.dtype, page.policy
    (dtype('float32'), 'plain')
    """

    layout: str = "page"
    user: str | None = None
    policy: str = "plain"
    experiment: str | None = None
    randomness: Mapping[str, Any] = field(default_factory=dict)
    generation: int = 0
    fingerprint: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    found: int = 0
    bot: bool = False
    origin: str | None = None
    typed: str | None = None
    epoch: int | None = None  # the last forgetting that the service knew of, see `ForgottenPeople`

    def __post_init__(self) -> None:
        _Results.__post_init__(self)
        one_of("policy", self.policy, POLICIES)
        check_text("typed", self.typed or "")
        _check_names(self, "layout", "experiment", "fingerprint", "origin")
        _check_randomness(self.randomness, len(self.documents))


@dataclass(frozen=True, eq=False, slots=True)
class FollowingPage(_Results):
    """More results of a page that was shown before: ranks from `first` on of the same impression.

    They join the page if its query, user, ranker and features are the same; ranks that it has stay as they
    are.
    """

    first: int
    user: str | None = None

    def __post_init__(self) -> None:
        _Results.__post_init__(self)
        if self.first < 2:
            raise ValueError(f"a following page begins at rank 2 or below, got {self.first}")


@dataclass(frozen=True, slots=True)
class Event:
    """Something a person did on a page; `value` is the seconds of a dwell, the value of a conversion.

    `event_id` is the client's and makes sending twice harmless: it is unique within its page.

    >>> Event("e1", "0" * 32, "click", "a").kind
    'click'
    """

    event_id: str
    page_id: str
    kind: str
    document: str
    position: int | None = None
    value: float | None = None
    time: float = 0.0

    def __post_init__(self) -> None:
        _page_id(self.page_id)
        one_of("kind of event", self.kind, KINDS)
        check_text("event_id", self.event_id, _LONGEST_NAME)
        if not self.event_id:
            raise ValueError("event_id is empty; a random UUID makes a good one")
        check_text("document", self.document)
        if self.value is not None and not (math.isfinite(self.value) and self.value >= 0):
            raise ValueError(f"the value of an event is finite and at least 0, got {self.value}")
        if self.position is not None and not 1 <= self.position < 2**31:
            raise ValueError(f"a position is a whole number from 1, got {self.position}")
        _time(self.time)


def swap(low: int, high: int, *, swapped: bool) -> dict[str, Any]:
    """The randomness of a page on which a coin decided whether to exchange two ranks.

    >>> swap(1, 2, swapped=True)
    {'swap': [1, 2], 'swapped': True, 'chance': 0.5}
    """
    if not 1 <= low < high:
        raise ValueError(f"ranks to exchange are 1 <= low < high, got {low} and {high}")
    return {"swap": [low, high], "swapped": swapped, "chance": 0.5}


def _page_id(value: str) -> None:
    if not _PAGE_ID.fullmatch(value):
        raise ValueError(f"a page id is 32 hexadecimal digits, got {value[:40]!r}")


def _time(value: float) -> None:
    if not FIRST <= value <= LAST:
        raise ValueError(f"a time is in seconds since 1970, in the years 1 to 9999, got {value}")


def _check_randomness(drawn: Mapping[str, Any], shown: int) -> None:
    """Swapped ranks are on the page, and there is one propensity per document."""
    if "swap" in drawn:
        low, high = drawn["swap"]
        if not 1 <= low < high <= shown:
            raise ValueError(f"ranks {low} and {high} cannot be swapped on a page of {shown} documents")
    if "propensity" in drawn:
        chances = drawn["propensity"]
        if len(chances) != shown or not all(0 < chance <= 1 for chance in chances):
            raise ValueError(f"propensity is one chance in (0, 1] per document ({shown}), got {chances}")


def _check_names(shown: object, *names: str) -> None:
    for name in names:
        value = getattr(shown, name)
        if value is not None:
            check_text(name, value, _LONGEST_NAME)


def check_text(name: str, value: str, longest: int = LONGEST) -> None:
    """Refuse text that some databases cannot store."""
    if len(value) > longest:
        raise ValueError(f"{name} has at most {longest} characters, got {len(value)}")
    if "\0" in value or (not value.isascii() and value.encode("utf-8", "replace").decode() != value):
        raise ValueError(f"{name} holds a zero character or half a surrogate pair; send plain text")
