"""A network for online learners."""

from collections.abc import Mapping
from copy import deepcopy

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import clone
from torch.func import functional_call
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from rankloop._arrays import Floats, Ints, Singles
from rankloop.data import RankingDataset
from rankloop.losses import loss
from rankloop.online.models.rows import checked_rows
from rankloop.rankers.neural.batches import rows_of
from rankloop.rankers.neural.input import FeatureTransform
from rankloop.rankers.neural.network import RankingNetwork, make_scorer
from rankloop.rankers.neural_ranker import NeuralRanker

__all__ = ["NeuralModel"]


class NeuralModel:
    """The weights of a `NeuralRanker`'s network as one vector, in double precision on the CPU."""

    def __init__(self, ranker: NeuralRanker, features: RankingDataset | None) -> None:
        self.ranker = ranker
        if ranker.__sklearn_is_fitted__():
            network = deepcopy(ranker.module_)
        elif features is not None:
            network = _untrained(ranker, features)
        else:
            raise ValueError("a network needs its features: fit the ranker first, or give features=")
        self.network = network.cpu().double().eval()
        self.features = len(self.network.transform.mean)

    @property
    def parameters(self) -> Floats:
        vector: Floats = parameters_to_vector(self.network.parameters()).detach().numpy()
        return vector

    @parameters.setter
    def parameters(self, values: Floats) -> None:
        vector_to_parameters(torch.from_numpy(np.array(values)), self.network.parameters())

    def rows(self, X: ArrayLike) -> Singles:
        return checked_rows(X, self.features)

    def scores(self, X: Singles, parameters: Floats | None = None) -> Floats:
        with torch.inference_mode():
            if parameters is None:
                made = self.network(torch.from_numpy(X).double())
            else:
                made = functional_call(self.network, self._named(parameters), (torch.from_numpy(X).double(),))
        scores: Floats = made.numpy()
        return scores

    def pull_back(self, X: Singles, shown: Ints, gradient: Floats) -> Floats:
        """The gradient on the weights, from one on the scores of shown rows; the whole list is scored."""
        self.network.zero_grad()
        scores = self.network(torch.from_numpy(X).double())
        (scores[torch.from_numpy(shown)] @ torch.from_numpy(gradient)).backward()
        parts = [
            torch.zeros_like(weight) if weight.grad is None else weight.grad
            for weight in self.network.parameters()
        ]
        vector: Floats = parameters_to_vector(parts).numpy()
        return vector

    def to_ranker(self) -> NeuralRanker:
        """A fitted ranker with the current weights."""
        made: NeuralRanker = clone(self.ranker)
        made.n_features_in_ = self.features
        made.fingerprint_ = ""
        made.metrics_ = {}
        made.propensity_ = None
        weights = {
            f"network/{name}": value.numpy()
            for name, value in deepcopy(self.network).float().state_dict().items()
        }
        made._restore({**weights, "training": '{"history": {}, "n_iter": 0}'})
        return made

    def state(self) -> dict[str, Floats]:
        return {name: value.numpy() for name, value in self.network.state_dict().items()}

    def restore(self, state: Mapping[str, Floats]) -> None:
        self.network.load_state_dict(
            {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
        )

    def _named(self, parameters: Floats) -> dict[str, torch.Tensor]:
        """The vector as the network's named tensors."""
        flat, at, named = torch.from_numpy(parameters), 0, {}
        for name, weight in self.network.named_parameters():
            named[name] = flat[at : at + weight.numel()].view_as(weight)
            at += weight.numel()
        return named


def _untrained(ranker: NeuralRanker, features: RankingDataset) -> RankingNetwork:
    transform = FeatureTransform.learned(
        ranker.feature_transform,
        rows_of(features.X),
        flags=ranker.missing == "flag",
        device=torch.device("cpu"),
    )
    return RankingNetwork(
        transform, make_scorer(ranker, transform.columns, level=loss(ranker.loss).pointwise)
    )
