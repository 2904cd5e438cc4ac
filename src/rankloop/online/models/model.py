"""The interface of online learners to the ranker they update."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.data import RankingDataset
from rankloop.online.models.linear import LinearModel
from rankloop.rankers import Ranker
from rankloop.rankers.linear_ranker import LinearRanker

__all__ = ["Model", "model_of"]


class Model(Protocol):
    """Scores from one vector of parameters, and gradients on it."""

    @property
    def parameters(self) -> NDArray[np.float64]: ...
    @parameters.setter
    def parameters(self, values: NDArray[np.float64]) -> None: ...
    def rows(self, X: ArrayLike) -> NDArray[np.float32]: ...
    def scores(
        self, X: NDArray[np.float32], parameters: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]: ...
    def pull_back(
        self, X: NDArray[np.float32], shown: NDArray[np.int64], gradient: NDArray[np.float64]
    ) -> NDArray[np.float64]: ...
    def to_ranker(self) -> Ranker: ...
    def state(self) -> dict[str, NDArray[np.float64]]: ...
    def restore(self, state: Mapping[str, NDArray[np.float64]]) -> None: ...


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
