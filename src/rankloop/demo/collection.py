"""What the story is told on: an index, searches with graded answers, and how documents are described."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rankloop.data import RankingDataset
from rankloop.rankers import FeatureSum
from rankloop.search import BM25, Features, Index, Pipeline, first

__all__ = ["CANDIDATES", "PAGE", "Collection"]

CANDIDATES = 100  # that BM25 finds, for rankers to put in order
PAGE = 10  # documents people see


@dataclass(frozen=True)
class Collection:
    """Searches over an index.

    `weights` are those of the text fields for BM25, `prior` is the feature that says how much a document is
    used, `searches` map a text to graded documents, `mined` are lists with labels from 0 to 1 that are good
    for training only, `examples` are searches to try.
    """

    name: str
    title: str
    index: Index
    weights: Mapping[str, float]
    features: tuple[str, ...]
    prior: str
    searches: Mapping[str, Mapping[str, int]]
    max_grade: int
    examples: tuple[str, ...] = ()
    shown_as: str = "id"
    mined: RankingDataset | None = None

    @cached_property
    def described(self) -> Features:
        return Features(self.features)

    @cached_property
    def bm25(self) -> dict[str, float]:
        """BM25 of the fields, as a sum of features."""
        return {f"bm25({field})": weight for field, weight in self.weights.items()}

    def by(self, weights: Mapping[str, float]) -> FeatureSum:
        """A ranker with given weights, ready to serve."""
        return FeatureSum(dict(weights), features=self.features)

    def search(self, ranker: Any, *, k: int = PAGE) -> Pipeline:
        """The pipeline that a ranker serves in."""
        found = self.index.retriever(k=CANDIDATES, model=BM25(fields=dict(self.weights)), typos="missing")
        joined: Pipeline = found >> self.described >> ranker >> first(k)
        return joined

    def candidates(self, searches: Mapping[str, Mapping[str, float]]) -> RankingDataset:
        """What BM25 finds for the searches, with features; what nobody graded counts as 0."""
        asked = {text: text for text in searches}
        return self.search(self.by(self.bm25)).dataset(asked, searches, among="retrieved")
