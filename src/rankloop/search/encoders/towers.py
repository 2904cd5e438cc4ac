"""What a `TwoTower` trains: word vectors in hashed buckets, or a pretrained BERT; and the loss of both."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Singles
from rankloop._extras import require
from rankloop.rankers.text.folder import model_folder
from rankloop.search.text.hashing import Bags

__all__ = ["BertTowers", "HashedTowers", "Towers", "contrastive"]


class Towers(Protocol):
    """Vectors of numbered queries and documents, as tensors that gradients flow through."""

    def parameters(self) -> Iterable[Any]: ...

    def queries(self, rows: ArrayLike) -> Any: ...

    def documents(self, rows: ArrayLike) -> Any: ...


class HashedTowers:
    """Each side has its own table: a text is the mean of the vectors of its words and letter trigrams."""

    def __init__(
        self, queries: Sequence[str], documents: Sequence[str], *, buckets: int, dimension: int
    ) -> None:
        self.torch = require("torch", "neural")
        bags = self.torch.nn.EmbeddingBag
        self.tables = [bags(buckets, dimension, mode="mean") for _ in range(2)]
        for table in self.tables:
            self.torch.nn.init.normal_(table.weight, std=dimension**-0.5)
        self.texts = [Bags(list(texts), buckets) for texts in (queries, documents)]

    def parameters(self) -> Iterable[Any]:
        return [weight for table in self.tables for weight in table.parameters()]

    def queries(self, rows: ArrayLike) -> Any:
        return self._means(0, rows)

    def documents(self, rows: ArrayLike) -> Any:
        return self._means(1, rows)

    def weights(self) -> tuple[Singles, ...]:
        return tuple(table.weight.detach().numpy().astype(np.float32) for table in self.tables)

    def _means(self, side: int, rows: ArrayLike) -> Any:
        numbers, starts = self.texts[side].select(rows)
        return self.tables[side](self.torch.from_numpy(numbers), self.torch.from_numpy(starts))


class BertTowers:
    """Both sides share one pretrained BERT."""

    def __init__(
        self,
        checkpoint: str | Path,
        queries: Sequence[str],
        documents: Sequence[str],
        *,
        tokens: int,
        device: str,
        seed: int,
    ) -> None:
        require("torch", "neural")
        model_folder(checkpoint)  # says what is missing before torch is loaded
        from rankloop.rankers.text.bi_encoder import BiEncoder

        self.encoder = BiEncoder.open(checkpoint, tokens=tokens, device=device, seed=seed)
        self.encoder.bert.train()
        self.texts = [self.encoder.texts(texts) for texts in (queries, documents)]

    def parameters(self) -> Iterable[Any]:
        return self.encoder.bert.parameters()

    def queries(self, rows: ArrayLike) -> Any:
        return self.encoder.vectors(self.texts[0], np.asarray(rows, np.int64))

    def documents(self, rows: ArrayLike) -> Any:
        return self.encoder.vectors(self.texts[1], np.asarray(rows, np.int64))


def contrastive(
    queries: Any,
    documents: Any,
    target: Any,
    hidden: Any,
    *,
    temperature: float,
    widths: Sequence[int],
    often: Floats | None,
) -> Any:
    """The InfoNCE loss of a batch: the document at `target` of each query against all that are shown.

    `hidden` (queries x documents) marks other relevant documents. `often` is how often each document is in a
    batch: its logarithm is subtracted, so that popular documents are not pushed away for being shown (Yi et
    al., 2019). `widths` are the leading parts of the vectors that should serve alone (Kusupati et al., 2022);
    the loss is the mean over them.
    """
    torch = require("torch", "neural")
    unit = torch.nn.functional.normalize
    shift = 0.0
    if often is not None:
        shift = torch.as_tensor(np.log(often), dtype=queries.dtype, device=queries.device)
    losses = []
    for width in widths:
        scores = unit(queries[:, :width], dim=1) @ unit(documents[:, :width], dim=1).T / temperature
        scores = (scores - shift).masked_fill(hidden, -1e9)
        losses.append(torch.nn.functional.cross_entropy(scores, target))
    return torch.stack(losses).mean()
