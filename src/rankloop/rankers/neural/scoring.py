"""A trained network: scores, contributions, and its members in a file."""

import json
from collections.abc import Mapping
from copy import deepcopy
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from rankloop._arrays import Floats, Ints, Singles
from rankloop.rankers.base.ranker import Member
from rankloop.rankers.neural.batches import at_once, cuts, rows_of
from rankloop.rankers.neural.gam import GAM
from rankloop.rankers.neural.input import FeatureTransform
from rankloop.rankers.neural.network import LEVELS, RankingNetwork, make_scorer
from rankloop.rankers.neural.processes import own_device

if TYPE_CHECKING:
    from rankloop.rankers.neural_ranker import NeuralRanker

__all__ = ["contributions", "exact", "members", "restore", "scores"]

_LEVELS = frozenset(f"scorer.{name}" for name in LEVELS)


def exact(network: RankingNetwork) -> RankingNetwork:
    """The network used for scoring: on a CPU in double precision.

    In single precision a score would depend, in its last digits, on which rows are scored together.
    """
    on_cpu = network.transform.mean.device.type == "cpu"
    return deepcopy(network).double() if on_cpu else network


def scores(network: RankingNetwork, X: Singles, offsets: Ints, *, alone: bool) -> Floats:
    """One score per row; if documents are scored `alone`, chunks may cut lists."""
    mean, rows = network.transform.mean, rows_of(X)
    edges = np.arange(len(X) + 1) if alone else offsets
    made = [np.zeros(0)]
    with torch.inference_mode():
        for first, last in pairwise(cuts(edges, at_once(mean.device))):
            start, stop = int(edges[first]), int(edges[last])
            lists = torch.as_tensor(edges[first : last + 1] - start, device=mean.device)
            part = network(rows[start:stop].to(mean.device, mean.dtype), lists)
            made.append(part.double().cpu().numpy())
    return np.concatenate(made)


def contributions(network: RankingNetwork, X: Singles) -> Floats:
    """The part of each feature in each score; its missing flag counts as part of it."""
    transform, scorer, rows = network.transform, network.scorer, rows_of(X)
    assert isinstance(scorer, GAM)
    made, size = np.zeros(X.shape), at_once(transform.mean.device)
    flagged = transform.flagged.cpu().numpy()
    with torch.inference_mode():
        for start in range(0, len(X), size):
            chunk = slice(start, start + size)
            Z = transform(rows[chunk].to(transform.mean.device, transform.mean.dtype))
            parts = scorer.contributions(Z).double().cpu().numpy()
            made[chunk] = parts[:, : X.shape[1]]
            made[chunk, flagged] += parts[:, X.shape[1] :]
    return made


def members(ranker: "NeuralRanker") -> dict[str, Member]:
    """Weights as arrays by name, and the history of the training."""
    weights: dict[str, Member] = {
        f"network/{name}": value.cpu().numpy() for name, value in ranker.module_.state_dict().items()
    }
    learned = {"history": ranker.history_, "n_iter": ranker.n_iter_}
    return weights | {"training": json.dumps(learned)}


def restore(ranker: "NeuralRanker", state: Mapping[str, Member]) -> RankingNetwork:
    """The network of these `members`."""
    weights = {
        name.removeprefix("network/"): torch.from_numpy(np.asarray(value))
        for name, value in state.items()
        if name.startswith("network/")
    }
    flagged = len(weights["transform.flagged"])
    transform = FeatureTransform(ranker.feature_transform, ranker.n_features_in_, flagged)
    level = not _LEVELS.isdisjoint(weights)
    network = RankingNetwork(transform, make_scorer(ranker, transform.columns, level=level))
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise KeyError(str(error).splitlines()[-1].strip()) from error
    return network.to(own_device(ranker.device)).eval()
