"""Requests and answers of the public routes: the schema that clients are generated from."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rankloop.serve.http.range_count import RangeCount

__all__ = [
    "Accepted",
    "Comparison",
    "EventIn",
    "EventsRequest",
    "Explanation",
    "FeatureShare",
    "Range",
    "RankCandidate",
    "RankRequest",
    "Refused",
    "Result",
    "SearchAnswer",
    "SearchRequest",
    "Side",
    "StrictModel",
    "Suggestions",
    "WordShare",
    "example",
]

MOST_RESULTS, LONGEST_QUERY, MOST_EVENTS, MOST_CANDIDATES = 100, 1000, 500, 2000

Number = Annotated[float, Field(allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Layout = Annotated[str, Field(min_length=1, max_length=50, pattern=r"^[A-Za-z0-9_.-]+$")]
FeatureValue = Annotated[float, Field(allow_inf_nan=False, ge=-1e30, le=1e30)]
Scalar = Annotated[str, Field(max_length=500)] | bool | int | Number


class StrictModel(BaseModel):
    """A request body: unknown names are errors."""

    model_config = ConfigDict(extra="forbid")


def example(**body: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [body]})


class Range(StrictModel):
    """Numbers, or dates as ISO text, from `min` to `max`; either end may be open."""

    min: Number | Annotated[str, Field(max_length=40)] | None = None
    max: Number | Annotated[str, Field(max_length=40)] | None = None


FilterValue = Scalar | Range | Annotated[list[Scalar], Field(min_length=1, max_length=100)]


class SearchRequest(StrictModel):
    """A query, and what is known of the person; an empty one with `filters` or `sort` browses.

    A following page (`offset`, or `page` from 1) takes the `impression` of the first one, so that its results
    are recorded as further positions of that page. `user` is any stable identifier; it is stored as a keyed
    hash only. `record=False` answers without logging the page, for previews: its clicks cannot be counted.
    """

    model_config = example(
        query="red running shoes",
        k=10,
        filters={"brand": ["Hare", "Tortoise"], "price": {"min": 10, "max": 90}},
        facets=["brand"],
        user="ann",
    )

    query: Annotated[str, Field(max_length=LONGEST_QUERY, examples=["red running shoes"])]
    k: Annotated[int | None, Field(ge=1, le=MOST_RESULTS, description="By default as configured.")] = None
    filters: Annotated[
        dict[str, FilterValue],
        Field(
            max_length=20,
            description="By field: a value, one of several, or a range.",
            examples=[{"brand": ["Hare", "Tortoise"], "price": {"min": 10, "max": 50}}],
        ),
    ] = {}
    facets: Annotated[
        list[Name],
        Field(max_length=10, description="Keyword fields to count; a field's own filter does not count."),
    ] = []
    facet_values: Annotated[
        int, Field(ge=1, le=1000, description="Values of each facet: the most frequent ones.")
    ] = 10
    ranges: Annotated[
        list[Name],
        Field(max_length=10, description="Number fields to count by range; their own filter does not count."),
    ] = []
    offset: Annotated[int, Field(ge=0, le=10**9, description="How many results to skip.")] = 0
    page: Annotated[int | None, Field(ge=1, le=10**9, description="In place of offset: k results each.")] = (
        None
    )
    sort: Annotated[
        str | None,
        Field(max_length=200, description="A number or date field, -field for the largest first, or score."),
    ] = None
    impression: Annotated[
        str | None, Field(max_length=300, description="Of the first page, with a following one.")
    ] = None
    user: Annotated[str | None, Field(max_length=200)] = None
    user_features: Annotated[
        dict[str, FeatureValue], Field(max_length=100, description="For features like user(age).")
    ] = {}
    fields: Annotated[
        list[Name] | None, Field(max_length=100, description="Stored fields to send; by default all.")
    ] = None
    layout: Layout = "page"
    user_agent: Annotated[
        str | None,
        Field(max_length=1000, description="The person's browser: pages of crawlers do not count."),
    ] = None
    unfinished: Annotated[bool, Field(description="The last word may be incomplete.")] = False
    record: bool = True


class Result(BaseModel):
    """One document on the page. `snippet` is HTML: everything escaped, matches in <mark>."""

    position: int
    id: str
    score: float
    title: str
    url: str | None = None
    snippet: str = ""
    document: dict[str, Any] = {}


class SearchAnswer(BaseModel):
    """The page. Send `impression` back with every event on it; it is None where nothing was recorded."""

    impression: str | None
    query: str
    found: int
    results: list[Result]
    facets: dict[str, dict[str, int]] = {}
    ranges: dict[str, list[RangeCount]] = {}
    ranker: str | None  # the version; None without the token
    generation: int
    seconds: dict[str, float]  # of each stage; without the token in total
    cut: list[str] = []  # which parts of the query were ignored, in sentences
    understood: str | None = None  # the query as it was searched, if words were corrected or completed
    offset: int = 0
    last: int | None = None  # the lowest position that can be asked for
    mixed: Annotated[bool, Field(exclude=True)] = False  # two versions ranked the page

    def public(self) -> "SearchAnswer":
        """The same without what differs between versions: the name, the stages, scores of two on one page."""
        total = {name: took for name, took in self.seconds.items() if name == "total"}
        update: dict[str, Any] = {"ranker": None, "seconds": total}
        if self.mixed:  # in order they do not say which version chose a document
            scores = sorted(one.score for one in self.results)
            update["results"] = [one.model_copy(update={"score": scores.pop()}) for one in self.results]
        return self.model_copy(update=update)


class EventIn(StrictModel):
    """One thing a person did; with the same `id` it counts once, however often it is sent."""

    id: Annotated[
        str,
        Field(
            min_length=1, max_length=64, pattern=r"^[\w.:-]+$", examples=["6f1d8b1e-2c0f-4f9e-9d50-8a4a5c"]
        ),
    ]
    impression: Annotated[str, Field(min_length=1, max_length=300)]
    kind: Literal["click", "dwell", "conversion", "viewport"]
    document: Annotated[str, Field(min_length=1, max_length=500)]
    position: Annotated[int | None, Field(ge=1, le=MOST_CANDIDATES)] = None
    value: Annotated[
        float | None,
        Field(ge=0, le=1e12, allow_inf_nan=False, description="Seconds of dwell, value of a conversion."),
    ] = None


class EventsRequest(StrictModel):
    """A batch of events."""

    model_config = example(
        events=[
            {"id": "6f1d8b1e", "impression": "0f3a.1794828415.Zm9v", "kind": "click", "document": "17"},
            {
                "id": "6f1d8b1f",
                "impression": "0f3a.1794828415.Zm9v",
                "kind": "dwell",
                "document": "17",
                "value": 42,
            },
        ]
    )

    events: Annotated[list[EventIn], Field(min_length=1, max_length=MOST_EVENTS)]


class Refused(BaseModel):
    id: str
    reason: str


class Accepted(BaseModel):
    """How many events are on disk, and which were refused."""

    accepted: int
    refused: list[Refused] = []


class RankCandidate(StrictModel):
    """A document of the caller, with its own features or those of the index."""

    id: Annotated[str, Field(min_length=1, max_length=500)]
    features: Annotated[dict[str, FeatureValue | None] | None, Field(max_length=2000)] = None


class RankRequest(StrictModel):
    """Candidates of the caller's own engine, to be put in order.

    Either every candidate has `features` by name (missing ones are unknown), or none has, and those of the
    index are used.
    """

    model_config = example(
        query="red running shoes",
        candidates=[
            {"id": "17", "features": {"bm25(title)": 3.2, "value(price)": 80}},
            {"id": "4", "features": {"bm25(title)": 2.9, "value(price)": None}},
        ],
    )

    query: Annotated[str, Field(max_length=LONGEST_QUERY)]
    candidates: Annotated[list[RankCandidate], Field(min_length=1, max_length=MOST_CANDIDATES)]
    k: Annotated[int, Field(ge=1, le=MOST_CANDIDATES)] = 10
    user: Annotated[str | None, Field(max_length=200)] = None
    layout: Layout = "rank"
    record: bool = True


class FeatureShare(BaseModel):
    """A feature of a document: its value, and what it adds to the score."""

    name: str
    value: float | None
    share: float
    meaning: str = ""


class WordShare(BaseModel):
    """What a word in a field adds to the BM25 score."""

    term: str
    field: str
    score: float
    tf: float
    df: int
    length: float
    average_length: float


class Explanation(BaseModel):
    """Why a document is where it is: features by the size of their share, words by field.

    `base + sum of shares` is the score. `against` says why the upper of two documents is above the lower.
    """

    query: str
    document: str
    ranker: str | None
    rank: int | None
    score: float
    base: float
    exact: bool
    features: list[FeatureShare]
    words: list[WordShare]
    understood: str | None = None  # the query as it was searched, if words were corrected or completed
    against: dict[str, Any] | None = None


class Side(BaseModel):
    """The page of one version."""

    ranker: str | None
    results: list[Result]
    seconds: dict[str, float]


class Comparison(BaseModel):
    """The same query answered by several versions; nothing is recorded."""

    query: str
    found: int
    sides: list[Side]


class Suggestions(BaseModel):
    suggestions: list[str]
