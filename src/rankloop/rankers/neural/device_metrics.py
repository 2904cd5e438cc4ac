"""The validation metric on the device, with the conventions of `rankloop.metrics`."""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from rankloop.data import RankingDataset
from rankloop.lists import gains as gains_of
from rankloop.lists.tensors.discount import discount
from rankloop.metrics import Metric
from rankloop.rankers.base.objective import Objective

__all__ = ["device_ndcg", "quality_on"]


class Lists(Protocol):
    """A data set, with what the metric needs of it on a device."""

    @property
    def data(self) -> RankingDataset: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def offsets(self) -> Tensor: ...

    @property
    def weight(self) -> Tensor | None: ...


def quality_on(lists: Lists, name: str | Metric) -> Callable[[Tensor], float]:
    """The mean of a metric over the lists as a function of their scores, signed so that higher is better.

    On CUDA the default form of NDCG is computed on the device; other metrics by the CPU kernels.
    """
    objective = Objective.of(name, lists.data)
    if lists.device.type != "cuda" or not _known(objective.metric):
        return lambda scores: objective(scores.cpu().numpy())
    gains = torch.as_tensor(gains_of(lists.data.y, objective.metric.options["gain"]))
    gains = gains.to(lists.device)
    if lists.weight is not None:
        gains = gains * lists.weight

    def quality(scores: Tensor) -> float:
        values = device_ndcg(scores, gains, lists.offsets, objective.metric.k)
        return objective.metric.mean(values.cpu().numpy(), lists.data.query_weight)

    return quality


def device_ndcg(scores: Tensor, gains: Tensor, offsets: Tensor, k: int | None) -> Tensor:
    """NDCG of each list: ties count as their expected value, a list without gain is nan."""
    lengths = offsets.diff()
    query = torch.repeat_interleave(lengths, output_size=len(scores))
    place = torch.arange(len(scores), device=scores.device) - offsets[query]
    at_rank = discount(place.double() + 1)
    if k is not None:
        at_rank = at_rank * (place < k)
    order = _falling(scores, query)
    ranked = scores[order]
    new = torch.ones(len(scores), dtype=torch.bool, device=scores.device)
    new[1:] = (ranked[1:] != ranked[:-1]) | (query[1:] != query[:-1])
    ties = torch.diff(new.nonzero().ravel(), append=offsets[-1:])
    tied = torch.repeat_interleave(ties, output_size=len(scores))
    mean_gain = torch.segment_reduce(gains[order], "sum", lengths=ties) / ties
    made = torch.segment_reduce(mean_gain[tied] * at_rank, "sum", lengths=lengths)
    best = torch.segment_reduce(gains[_falling(gains, query)] * at_rank, "sum", lengths=lengths)
    return torch.where(best > 0, made / best, torch.nan)


def _falling(key: Tensor, query: Tensor) -> Tensor:
    """Rows by falling key within their lists."""
    order = key.argsort(descending=True, stable=True)
    return order[query[order].argsort(stable=True)]


def _known(chosen: Metric) -> bool:
    """Whether it is NDCG with ties averaged and lists without gain left out."""
    options = chosen.options
    return (
        chosen.measure.names[0] == "ndcg"
        and chosen.convention is None
        and options["ties"] == "average"
        and options["empty"] == "nan"
    )
