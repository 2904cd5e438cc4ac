"""Contrastive pretraining of a network on lists without labels."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from rankloop._arrays import Ints
from rankloop._progress import progress

__all__ = ["Views", "contrast", "pretrained"]


class Views(NamedTuple):
    """How two views of a document differ: the share of features that are hidden, and noise on the rest."""

    hidden: float
    noise: float
    temperature: float
    documents: int  # of a list that are compared in one step, at most


def pretrained(
    body: nn.Module,
    Z: Tensor,
    offsets: Ints,
    views: Views,
    *,
    epochs: int,
    lists: int,
    learning_rate: float,
    seed: int,
) -> list[float]:
    """Train `body` so that it tells the documents of a list apart under noise; the loss of each epoch."""
    with torch.random.fork_rng([Z.device] if Z.is_cuda else []):
        torch.manual_seed(seed)
        with torch.no_grad():
            width = body(Z[:1]).shape[1]
        projection = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)).to(Z.device)
        weights = [*body.parameters(), *projection.parameters()]
        optimizer = torch.optim.AdamW(weights, lr=learning_rate)
        rng = np.random.default_rng(seed)
        usable = np.flatnonzero(np.diff(offsets) > 1)  # a document alone has nothing to differ from
        if not len(usable):
            raise ValueError("pretraining compares the documents of a list; no list has two")
        made: list[float] = []
        body.train()
        with progress("pretraining", epochs) as advance:
            for _ in range(epochs):
                total, order = 0.0, rng.permutation(usable)
                for start in range(0, len(order), lists):
                    rows, edges = _drawn(offsets, order[start : start + lists], views.documents, rng)
                    some = Z[torch.from_numpy(rows).to(Z.device)]
                    one, two = (projection(body(_view(some, views))) for _ in range(2))
                    loss = contrast(one, two, edges, views.temperature)
                    optimizer.zero_grad(set_to_none=True)
                    torch.autograd.backward(loss)
                    optimizer.step()
                    total += float(loss.detach()) * len(edges[1:])
                made.append(total / len(usable))
                advance(1, f"loss {made[-1]:.3f}")
    return made


def contrast(one: Tensor, two: Tensor, edges: Ints, temperature: float) -> Tensor:
    r"""The mean over lists of how well each document of one view finds itself in the other (SimCLR-Rank).

    .. math:: -\frac{1}{n} \sum_i \log \frac{e^{\cos(a_i, b_i)/\tau}}{\sum_{j \in \text{list}} e^{\cos(a_i,
        b_j)/\tau}}

    >>> eye = torch.eye(2)
    >>> round(contrast(eye, eye, np.array([0, 2]), 1.0).item(), 4)
    0.3133
    """
    one, two = nn.functional.normalize(one, dim=1), nn.functional.normalize(two, dim=1)
    lengths = np.diff(edges)
    longest = int(lengths.max())
    # Rows of a list side by side: list x place x width, with a mask where a list is shorter.
    place = np.arange(longest) < lengths[:, None]
    there = torch.from_numpy(place).to(one.device)
    empty = one.new_zeros(len(lengths), longest, one.shape[1])
    first, second = (empty.masked_scatter(there[:, :, None], rows) for rows in (one, two))
    scores = first @ second.transpose(1, 2) / temperature
    scores = scores.masked_fill(~there[:, None, :], -1e9)
    own = scores.diagonal(dim1=1, dim2=2) - scores.logsumexp(2)
    per_list = -(own * there).sum(1) / torch.from_numpy(lengths).to(one.device)
    return per_list.mean()


def _view(rows: Tensor, views: Views) -> Tensor:
    """A copy with some features at their mean, and noise on all."""
    kept = torch.rand_like(rows) >= views.hidden
    return rows * kept + views.noise * torch.randn_like(rows)


def _drawn(offsets: Ints, lists: Ints, most: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Rows of these lists, at most `most` of each at random, and where each list starts."""
    rows = []
    for one in lists.tolist():
        low, high = int(offsets[one]), int(offsets[one + 1])
        some = np.arange(low, high)
        rows.append(some if high - low <= most else np.sort(rng.choice(some, most, replace=False)))
    edges = np.concatenate(([0], np.cumsum([len(one) for one in rows])))
    return np.concatenate(rows), edges
