"""Groupwise scoring functions: documents are scored a few at a time."""

import torch
from torch import Tensor, nn

from rankloop.rankers.neural.layers import Shape, activate, hidden_layers

__all__ = ["Groupwise"]


class Groupwise(nn.Module):
    r"""One network scores `size` documents together; a document's score is the mean over its groups.

    .. math:: s_d = \frac{1}{|\Pi| m} \sum_{\pi \in \Pi} \sum_{j=1}^{m} g_j(\text{window, } d \text{ at } j)

    The groups (Ai et al., 2018) are the windows of `size` on a circle of the list's documents in random
    order, so each document is once at each place. Training draws one order per step. Scoring averages over
    `permutations` orders that depend on the features only, so the order of the rows does not matter.
    """

    direction: Tensor

    def __init__(self, shape: Shape, *, size: int, permutations: int) -> None:
        super().__init__()
        features, hidden, activation, dropout, level = shape
        self.size, self.permutations = size, permutations
        # A linear layer over a group is a sum of layers over its documents: computed once per document.
        self.parts = nn.Linear(features, size * hidden[0])
        self.first = nn.Sequential(activate(activation), nn.Dropout(dropout))
        self.rest = hidden_layers(hidden, activation, dropout)
        self.head = nn.Linear(hidden[-1], size, bias=level)
        self.register_buffer("direction", torch.randn(features))

    def forward(self, Z: Tensor, offsets: Tensor) -> Tensor:
        n, lengths = len(Z), offsets.diff()
        query = torch.repeat_interleave(lengths, output_size=n)
        start, length = offsets[query], lengths[query]
        place = torch.arange(n, device=Z.device) - start
        parts = self.parts(Z).unflatten(1, (self.size, -1))
        scores = torch.zeros(n, device=Z.device, dtype=torch.promote_types(parts.dtype, torch.float32))
        orders = 1 if self.training else self.permutations
        for order in self._orders(Z, query, place, orders):
            at = torch.empty_like(order)  # the place of each document on the circle
            at[order] = place
            windows = torch.stack([parts[order[start + (place + j) % length], j] for j in range(self.size)])
            made = self.head(self.rest(self.first(windows.sum(0))))
            for j in range(self.size):
                scores = scores + made[start + (at - j) % length, j]
        return scores / (self.size * orders)

    def _orders(self, Z: Tensor, query: Tensor, place: Tensor, number: int) -> list[Tensor]:
        """Orders of the documents within their lists: rows by place on the circle."""
        if self.training:
            return [_sorted(torch.rand(len(Z), device=Z.device), query) for _ in range(number)]
        known = _sorted(Z.to(self.direction.dtype) @ self.direction, query)
        return [known[_sorted(_mixed(place, turn), query)] for turn in range(number)]


def _sorted(key: Tensor, query: Tensor) -> Tensor:
    """Rows by key within their lists."""
    order = key.argsort(stable=True)
    return order[query[order].argsort(stable=True)]


def _mixed(place: Tensor, turn: int) -> Tensor:
    """A fixed pseudo-random number for each place: Knuth's multiplicative hash, twice."""
    mixed = (place + 1 + 7_919 * turn) * 2_654_435_761 % 4_294_967_296
    return (mixed ^ (mixed >> 15)) * 2_246_822_519 % 4_294_967_296
