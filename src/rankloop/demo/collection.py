"""What the demo runs on: an index, searches with graded answers, and the features of documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankloop.data import RankingDataset
from rankloop.rankers import FeatureSum
from rankloop.search import BM25, Features, Index, Pipeline, first

__all__ = ["CANDIDATES", "PAGE", "Collection"]

CANDIDATES = 100  # documents that BM25 retrieves and rankers reorder
PAGE = 10  # documents people see


@dataclass(frozen=True)
class Collection:
    """Searches over an index.

    `weights` are BM25's weights of the text fields, `prior` is the feature that holds a document's
    popularity, `searches` map a text to graded documents, and `title_field` is the
    field that heads a result.
    """

    name: str
    title: str
    index: Index
    weights: Mapping[str, float]
    features: tuple[str, ...]
    prior: str
    searches: Mapping[str, Mapping[str, int]]
    max_label: int
    title_field: str = "id"

    @property
    def bm25(self) -> dict[str, float]:
        """BM25 over the fields, as weights of features."""
        return {f"bm25({field})": weight for field, weight in self.weights.items()}

    def feature_sum(self, weights: Mapping[str, float]) -> FeatureSum:
        """A ranker with given weights of features, ready to serve."""
        return FeatureSum(dict(weights), features=self.features)

    def pipeline(self, ranker: Any) -> Pipeline:
        """The pipeline that a ranker serves in."""
        retriever = self.index.retriever(k=CANDIDATES, model=BM25(fields=dict(self.weights)), typos="missing")
        joined: Pipeline = retriever >> Features.over(self.index, self.features) >> ranker >> first(PAGE)
        return joined

    def candidates(self, searches: Mapping[str, Mapping[str, float]]) -> RankingDataset:
        """What BM25 retrieves for the searches, with features; ungraded documents get label 0."""
        queries = {text: text for text in searches}
        return self.pipeline(self.feature_sum(self.bm25)).dataset(queries, searches, among="retrieved")
