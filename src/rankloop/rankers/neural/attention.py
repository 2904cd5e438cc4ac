"""Self-attention over the documents of a list, without padding."""

from collections.abc import Callable
from itertools import groupby

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from rankloop.rankers.neural.layers import Shape, activate, hidden_layers

__all__ = ["Attention"]

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


class Attention(nn.Module):
    r"""Every document attends to its whole list (Pobrotyn et al., 2020): attention and feed-forward blocks.

    With `cross` the scores are those of DASALC (Qin et al., 2021): a latent cross of the attention output a
    of a document with a tower h over its own features.

    .. math:: s = w \cdot ((1 + a) \odot h)

    There are no positions: permuting a list permutes its scores.
    """

    def __init__(self, shape: Shape, *, blocks: int, heads: int, cross: bool) -> None:
        super().__init__()
        features, hidden, activation, dropout, level = shape
        width = hidden[-1]
        if width % heads:
            raise ValueError(
                f"the last hidden width must be a multiple of heads, got {width} for {heads} heads"
            )
        self.entry = nn.Sequential(
            hidden_layers((features, *hidden[:-1]), activation, dropout),
            nn.Linear(hidden[-2] if len(hidden) > 1 else features, width),
        )
        self.blocks = nn.ModuleList(Block(width, heads, activation, dropout) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.tower = hidden_layers((features, *hidden), activation, dropout) if cross else None
        self.head = nn.Linear(width, 1, bias=level)

    def forward(self, Z: Tensor, offsets: Tensor) -> Tensor:
        if len(Z) == 0:
            return Z.sum(1)
        order, attend = _in_one_kernel(offsets) if Z.is_cuda else _by_length(offsets)
        if order is not None:
            Z = Z.index_select(0, order)
        context = self.entry(Z)
        for block in self.blocks:
            context = block(context, attend)
        context = self.norm(context)
        if self.tower is not None:
            context = (1 + context) * self.tower(Z)
        scores: Tensor = self.head(context).squeeze(-1)
        return scores if order is None else scores.index_select(0, order.argsort())


class Block(nn.Module):
    """Attention, then two layers; both on normalised input, with residual connections."""

    def __init__(self, width: int, heads: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width)
        self.split = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)
        self.between = nn.LayerNorm(width)
        self.feed = nn.Sequential(
            nn.Linear(width, 2 * width),
            activate(activation),
            nn.Dropout(dropout),
            nn.Linear(2 * width, width),
        )
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor, attend: Attend) -> Tensor:
        query, key, value = self.split(self.before(x)).view(len(x), 3, self.heads, -1).unbind(1)
        x = x + self.drop(self.join(attend(query, key, value).reshape(len(x), -1)))
        added: Tensor = x + self.drop(self.feed(self.between(x)))
        return added


def _by_length(offsets: Tensor) -> tuple[Tensor, Attend]:
    """The order of rows by list length, and attention over all lists of one length at once."""
    lengths = offsets.diff()
    by_length = lengths.argsort(stable=True)
    sizes = lengths[by_length]
    ends = sizes.cumsum(0)
    total = int(ends[-1])
    order = torch.repeat_interleave(offsets[by_length] - ends + sizes, sizes) + torch.arange(total)
    runs = [(size, len(list(same))) for size, same in groupby(sizes.tolist()) if size]

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        parts, start = [], 0
        for size, count in runs:
            rows = slice(start, start + size * count)
            q, k, v = (
                part[rows].view(count, size, *part.shape[1:]).transpose(1, 2) for part in (query, key, value)
            )
            parts.append(scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(0, 1))
            start = rows.stop
        return torch.cat(parts)

    return order, attend


def _in_one_kernel(offsets: Tensor) -> tuple[None, Attend]:
    """Attention over lists of any length on CUDA: torch's memory-efficient kernel with the list offsets.

    Through nested tensors the same kernel takes twenty times as long, nearly all of it in Python.
    """
    longest = int(offsets.diff().max())
    edges = offsets.int()

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        found: Tensor = torch.ops.aten._efficient_attention_forward(
            query[None], key[None], value[None], None, edges, edges, longest, longest, 0.0, 0, True
        )[0]
        return found[0]

    return None, attend
