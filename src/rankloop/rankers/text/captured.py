"""Training steps of a cross-encoder without waits for the host, and those of small batches as CUDA graphs."""

from collections.abc import Callable
from functools import partial
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor

from rankloop._arrays import Ints
from rankloop.rankers.neural.batches import Batch, cuts
from rankloop.rankers.neural.captured import CapturedSteps, Replayed, Work, rounded
from rankloop.rankers.text.lists import Chunk, PairBatch, TextLists
from rankloop.rankers.text.packed import Packed, sent
from rankloop.rankers.text.tokens import ranges

__all__ = ["CapturedPairs"]

_MOST = 131_072  # tokens of a batch that becomes a graph
_SPARE, _ROUND_TOKENS = 32, 512


class CapturedPairs(CapturedSteps):
    """Epochs over pairs of texts.

    The launches of a small batch take longer than its work, so that it becomes a graph: spare pairs, which
    belong to no list and have no gradient, bring all batches to one number of pairs and few numbers of
    tokens. All graphs share one piece of memory. Larger batches run as they are.
    """

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        assert isinstance(work.lists, TextLists)
        self.texts = work.lists
        self.pool = torch.cuda.graph_pool_handle()
        self.by_tokens: dict[tuple[int, int], _Size] = {}

    def _prepared(
        self, order: Tensor, documents: int | None, per_batch: int | None
    ) -> Callable[[Callable[[float], None]], None]:
        order.record_stream(self.stream)
        return partial(self._batches, order, documents, per_batch)

    def _batches(
        self, order: Tensor, documents: int | None, per_batch: int | None, before: Callable[[float], None]
    ) -> None:
        lengths, longest_list = self.texts.texts.lengths, int(self.texts.data.lengths.max())
        most = longest_list + (documents or 0) if per_batch is None else longest_list * per_batch
        if most * int(lengths.max()) > min(_MOST, self.texts.at_once):
            self._plain_pass(order, documents, per_batch, before)
            return
        rows, _, edges = self.texts.rows_of_lists(order)
        there, chosen = rows.cpu().numpy(), order.cpu().numpy()
        pairs = rounded(most + _SPARE, _SPARE)
        step = rounded(int(lengths.mean() * pairs) // 16, _ROUND_TOKENS)
        longest = max(int(lengths.max()), step // _SPARE + 2)
        for first, last in pairwise(cuts(edges, documents, per_batch)):
            own = there[edges[first] : edges[last]]
            tokens, spare = int(lengths[own].sum()), pairs - len(own)
            key = rounded(tokens + spare, step), longest
            if key not in self.by_tokens:
                self.by_tokens[key] = _Size(key[0], pairs, longest, self)
            padding = np.full(spare, (key[0] - tokens) // spare)
            padding[: (key[0] - tokens) % spare] += 1
            before((first + last) / 2)
            self.by_tokens[key].step(own, padding, edges[first : last + 1] - edges[first], chosen[first:last])

    def _plain_pass(
        self, order: Tensor, documents: int | None, per_batch: int | None, before: Callable[[float], None]
    ) -> None:
        seen = 0
        for batch in self.texts.epoch(order, documents, per_batch):
            before(seen + batch.lists / 2)
            self.optimizer.zero_grad(set_to_none=True)
            self.learn(batch, batch.lists)
            seen += batch.lists


class _Size:
    """The graph of one number of tokens; what a batch needs comes in one transfer."""

    def __init__(self, tokens: int, pairs: int, longest: int, steps: CapturedPairs) -> None:
        self.steps, self.pairs, self.longest = steps, pairs, longest
        device = steps.texts.device
        # Tokens, their types and places; edges, rows and offsets; the chosen lists and their number.
        self.ends = list(accumulate((tokens, tokens, tokens, pairs + 1, pairs, pairs + 1, pairs, 1)))
        self.given = torch.zeros(self.ends[-1], dtype=torch.int64, device=device)
        self.back = torch.arange(pairs, device=device)
        self.run = Replayed(self._work, steps, steps.pool)

    def step(self, rows: Ints, padding: Ints, offsets: Ints, chosen: Ints) -> None:
        """One step on these rows and on spare pairs of so many tokens."""
        tokens, types, lengths = self.steps.texts.texts.packed(rows)
        made = np.zeros(self.ends[-1], np.int64)
        parts = np.split(made, self.ends[:-1])
        parts[0][: len(tokens)], parts[1][: len(tokens)] = tokens, types
        parts[2][: len(tokens)] = ranges(np.zeros(len(rows), np.int64), lengths)
        np.cumsum(np.concatenate((lengths, padding)), out=parts[3][1:])
        parts[4][: len(rows)] = rows
        parts[5][:], parts[5][: len(offsets)] = len(rows), offsets
        parts[6][: len(chosen)] = chosen
        parts[7][0] = len(chosen)
        self.given.copy_(sent(made, self.given.device))
        self.run()

    def _work(self) -> None:
        lists = self.steps.texts
        tokens, types, places, edges, rows, offsets, chosen, count = torch.tensor_split(
            self.given, self.ends[:-1]
        )
        packed = Packed(np.full(self.pairs, self.longest), lists.device, edges.int())
        batch = Batch(
            Z=PairBatch([Chunk(tokens, types, places, packed)], self.back),  # type: ignore[arg-type] # in place of features
            labels=lists.labels[rows],
            offsets=offsets,
            weight=None if lists.weight is None else lists.weight[rows],
            query_weight=None if lists.query_weight is None else lists.query_weight[chosen],
            pairs=None,
            lists=self.pairs,
        )
        self.steps.learn(batch, count)
