"""Lists of documents at rest.

Everything that reads gives a `RankingDataset` (rows with features), a `Qrels` (judgments) or a `Run`
(scores); everything that writes takes one.
"""

from rankloop.data.dataset import RankingDataset
from rankloop.data.pairs import Pairs

__all__ = ["Pairs", "RankingDataset"]
