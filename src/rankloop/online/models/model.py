"""The interface of online learners to the ranker they update."""

from collections.abc import Mapping
from typing import Any, Protocol

from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints, Singles
from rankloop.data import RankingDataset
from rankloop.online.models.linear import LinearModel
from rankloop.rankers import Ranker
from rankloop.rankers.linear_ranker import LinearRanker

__all__ = ["Model", "model_of"]


class Model(Protocol):
    """Scores from one vector of parameters, and gradients on it."""

    @property
    def parameters(self) -> Floats: ...
    @parameters.setter
    def parameters(self, values: Floats) -> None: ...
    def rows(self, X: ArrayLike) -> Singles: ...
    def scores(self, X: Singles, parameters: Floats | None = None) -> Floats: ...
    def pull_back(self, X: Singles, shown: Ints, gradient: Floats) -> Floats: ...
    def to_ranker(self) -> Ranker: ...
    def state(self) -> dict[str, Floats]: ...
    def restore(self, state: Mapping[str, Floats]) -> None: ...


def model_of(ranker: Ranker, features: RankingDataset | None) -> Model:
    """The parameters of a ranker, for updates: linear, or a network (torch is loaded only then)."""
    if isinstance(ranker, LinearRanker):
        return LinearModel(ranker, features)
    if type(ranker).__name__ == "NeuralRanker":
        from rankloop.online.models.neural import NeuralModel

        network: Any = ranker
        return NeuralModel(network, features)
    raise ValueError(
        f"online learners update a LinearRanker or a NeuralRanker, got {type(ranker).__name__}; "
        "to choose between rankers use Thompson or EpsilonGreedy"
    )
