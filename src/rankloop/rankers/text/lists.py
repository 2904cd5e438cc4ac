"""Lists of text pairs on their way to a device, in packed chunks."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from rankloop._arrays import Ints
from rankloop.data import RankingDataset
from rankloop.rankers.neural.batches import DeviceLists
from rankloop.rankers.text.packed import Packed, sent
from rankloop.rankers.text.tokens import Pairs, Texts, ranges

__all__ = ["Chunk", "PairBatch", "TextLists", "pair_batch"]

_SCORED = 512  # pairs between two looks at the clock of a progress bar


class Chunk(NamedTuple):
    """Packed pairs on a device."""

    tokens: Tensor
    types: Tensor
    places: Tensor
    packed: Packed


class PairBatch(NamedTuple):
    """Pairs in chunks, sorted by length; `back` puts their scores in the order of the rows."""

    chunks: list[Chunk]
    back: Tensor


class TextLists(DeviceLists):
    """The lists of a data set whose rows are pairs of texts."""

    def __init__(self, data: RankingDataset, pairs: Pairs, device: torch.device, at_once: int) -> None:
        none = data.replace(X=np.zeros((data.n_documents, 0), np.float32), feature_names=None)
        super().__init__(none, lambda rows: rows, device)
        self.texts, self.at_once = pairs, at_once

    def _taken(self, rows: Tensor, edges: Sequence[tuple[int, int]]) -> Iterator[PairBatch]:  # type: ignore[override] # pairs in place of features
        there = rows.cpu().numpy()
        for low, high in edges:
            yield pair_batch(self.texts, there[low:high], self.device, self.at_once)

    def captured_by(self, scorer: nn.Module, precision: str) -> Callable[..., Any] | None:
        """Steps of a BERT in half precision."""
        from rankloop.rankers.text.captured import CapturedPairs
        from rankloop.rankers.text.cross_encoder import CrossEncoder
        from rankloop.rankers.text.cuda.layers import takes

        fused = isinstance(scorer, CrossEncoder) and takes(scorer.bert, self.device)
        return CapturedPairs if fused and precision == "bf16" else None

    def in_order(self) -> Iterator[tuple[PairBatch, Tensor]]:  # type: ignore[override] # likewise
        """All rows in order, some at a time: a pair is scored by itself."""
        for start in range(0, len(self.texts), _SCORED):
            rows = np.arange(start, min(start + _SCORED, len(self.texts)))
            yield pair_batch(self.texts, rows, self.device, self.at_once), self.offsets


def pair_batch(pairs: Pairs | Texts, rows: Ints, device: torch.device, at_once: int) -> PairBatch:
    """The pairs (or texts) of these rows, in chunks of about `at_once` tokens."""
    order = np.argsort(pairs.lengths[rows], kind="stable")
    ends = np.cumsum(pairs.lengths[rows[order]])
    number = -(-int(ends[-1]) // at_once) if len(ends) else 0
    cuts: list[int] = []
    if number:
        cuts = np.searchsorted(ends, np.linspace(0, int(ends[-1]), number + 1)[1:-1]).tolist()
    chunks = [
        _chunk(pairs, rows[order[first:last]], device)
        for first, last in pairwise([0, *dict.fromkeys(cuts), len(rows)])
        if last > first
    ]
    back = np.empty(len(rows), np.int64)
    back[order] = np.arange(len(rows))
    return PairBatch(chunks, sent(back, device))


def _chunk(pairs: Pairs | Texts, rows: Ints, device: torch.device) -> Chunk:
    tokens, types, lengths = pairs.packed(rows)
    places = ranges(np.zeros(len(rows), np.int64), lengths)
    there = sent(np.stack((tokens, types, places)), device)
    return Chunk(there[0], there[1], there[2], Packed(lengths, device))
