"""A training that several workers do together."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from rankloop.data import RankingDataset
from rankloop.data.shards.shards import Shards
from rankloop.rankers import Ranker

__all__ = ["TrainingJob"]

R = TypeVar("R", bound=Ranker)


@dataclass(frozen=True)
class TrainingJob(Generic[R]):
    """What every member of a team gets."""

    ranker: R
    train: Shards
    valid: Shards | RankingDataset | None
    checkpoint: str | None

    def valid_data(self) -> RankingDataset | None:
        """The validation set, whole."""
        return self.valid.whole() if isinstance(self.valid, Shards) else self.valid
