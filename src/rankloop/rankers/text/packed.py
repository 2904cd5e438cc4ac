"""Sequences of different lengths one after the other, without padding; attention stays within each."""

from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from rankloop._arrays import Ints, Ints32

__all__ = ["Packed", "attention", "sent"]


class Packed:
    """The lengths of packed sequences, on the host and on the device; they are sorted by length.

    With `edges` on the device, the lengths on the host are upper bounds, in any order.
    """

    def __init__(self, lengths: Ints, device: torch.device, edges: Tensor | None = None) -> None:
        self.lengths, self.device = lengths, device
        self.longest = int(lengths.max())
        if edges is not None:
            self.edges = edges

    @cached_property
    def edges(self) -> Tensor:
        """Where each sequence starts, and where the last one ends."""
        return sent(np.concatenate(([0], np.cumsum(self.lengths))).astype(np.int32), self.device)

    @cached_property
    def groups(self) -> list[tuple[int, int, int]]:
        """First token, number and length of the sequences of one length."""
        changes = [0, *((self.lengths[1:] != self.lengths[:-1]).nonzero()[0] + 1).tolist(), len(self.lengths)]
        made, start = [], 0
        for first, last in pairwise(changes):
            length = int(self.lengths[first])
            made.append((start, last - first, length))
            start += (last - first) * length
        return made


def sent(values: Ints | Ints32, device: torch.device) -> Tensor:
    """On the device, without waiting for it."""
    made = torch.from_numpy(values)
    return made.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else made


def attention(qkv: Tensor, packed: Packed) -> Tensor:
    """Each token looks at the tokens of its sequence: `qkv` is tokens x 3 x heads x width.

    In half precision on CUDA one flash kernel takes all lengths; elsewhere the sequences of one length
    are computed together. No sequence is padded.
    """
    if qkv.is_cuda and qkv.dtype in (torch.bfloat16, torch.float16):
        from torch.nn.attention.varlen import varlen_attn

        query, key, value = qkv.unbind(1)
        made = varlen_attn(query, key, value, packed.edges, packed.edges, packed.longest, packed.longest)
        assert isinstance(made, Tensor)
        return made.flatten(1)
    parts = []
    for start, number, length in packed.groups:
        one = qkv[start : start + number * length].view(number, length, *qkv.shape[1:])
        query, key, value = one.permute(2, 0, 3, 1, 4)
        seen = scaled_dot_product_attention(query, key, value)
        parts.append(seen.transpose(1, 2).reshape(number * length, -1))
    return torch.cat(parts)
