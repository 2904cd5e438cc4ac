"""A small encoder that maps queries and documents into one space."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from rankloop import _archive
from rankloop._arrays import Ints, Singles
from rankloop._extras import require
from rankloop._progress import progress
from rankloop.search.index.index import Index
from rankloop.search.text.hashing import Bags, hashed
from rankloop.search.text.query import Query

__all__ = ["TwoTower"]

_KIND = "TwoTower"
_SAVED = ("dimension", "buckets", "temperature", "negatives", "epochs", "batch", "learning_rate", "seed")
_LEARNED = ("queries_", "documents_")


class TwoTower:
    r"""Learns vectors of queries and documents whose cosine says how well they match (contrastive learning).

    A text is the mean of the learned vectors of its words and letter trigrams, hashed into `buckets`; each
    side has its own. Training maximises, over pairs of a query and a relevant document,

    .. math:: \log \frac{e^{\cos(q, d^+)/\tau}}{\sum_{d \in D} e^{\cos(q, d)/\tau}}

    where D holds the documents of the whole batch and `negatives` documents per query that BM25 ranks high
    but that are not judged relevant (Karpukhin et al., 2020). Other relevant documents are left out
    of D. Once fitted, calling it encodes a query: it is an encoder for retrievers and features.

    >>> TwoTower(dimension=32)
    TwoTower(dimension=32)
    """

    def __init__(
        self,
        *,
        fields: Sequence[str] | None = None,
        dimension: int = 64,
        buckets: int = 50_000,
        temperature: float = 0.05,
        negatives: int = 3,
        epochs: int = 5,
        batch: int = 256,
        learning_rate: float = 0.01,
        seed: int = 0,
    ) -> None:
        self.fields = fields
        self.dimension = dimension
        self.buckets = buckets
        self.temperature = temperature
        self.negatives = negatives
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.seed = seed

    def __repr__(self) -> str:
        return f"TwoTower(dimension={self.dimension})"

    def fit(
        self, index: Index, queries: Mapping[Any, str | Query], judgments: Mapping[Any, Mapping[Any, float]]
    ) -> Self:
        """Learn from judged (or clicked) documents of an index: query id -> document -> grade."""
        torch = require("torch", "neural")
        pairs = self._pairs(index, queries, judgments)
        torch.manual_seed(self.seed)
        towers = [torch.nn.EmbeddingBag(self.buckets, self.dimension, mode="mean") for _ in range(2)]
        for tower in towers:
            torch.nn.init.normal_(tower.weight, std=self.dimension**-0.5)
        texts = Bags([text for text, _, _, _ in pairs], self.buckets)
        rows = sorted({row for _, positive, hard, _ in pairs for row in (positive, *hard)})
        number = {row: at for at, row in enumerate(rows)}
        documents = Bags([self._text(index.snapshot.document(row)) for row in rows], self.buckets)
        optimiser = torch.optim.Adam([p for t in towers for p in t.parameters()], lr=self.learning_rate)
        rng = np.random.default_rng(self.seed)
        self.losses_: list[float] = []
        with progress("two towers", self.epochs) as advance:
            for _ in range(self.epochs):
                total, order = 0.0, rng.permutation(len(pairs))
                for start in range(0, len(order), self.batch):
                    chosen = [pairs[i] for i in order[start : start + self.batch]]
                    shown = list(dict.fromkeys(r for _, p, hard, _ in chosen for r in (p, *hard)))
                    place = {row: at for at, row in enumerate(shown)}
                    queried = _encode(torch, towers[0], texts.select(order[start : start + self.batch]))
                    found = _encode(torch, towers[1], documents.select([number[row] for row in shown]))
                    scores = queried @ found.T / self.temperature
                    target = torch.tensor([place[positive] for _, positive, _, _ in chosen])
                    mask = torch.zeros_like(scores)
                    for at, (_, positive, _, relevant) in enumerate(chosen):
                        for row in relevant:
                            if row != positive and row in place:
                                mask[at, place[row]] = -1e9
                    loss = torch.nn.functional.cross_entropy(scores + mask, target)
                    optimiser.zero_grad()
                    loss.backward()
                    optimiser.step()
                    total += float(loss.detach()) * len(chosen)
                self.losses_.append(total / len(pairs))
                advance(1, f"loss {self.losses_[-1]:.3f}")
        self.queries_, self.documents_ = (t.weight.detach().numpy().astype(np.float32) for t in towers)
        self.read_ = self._read(index)
        return self

    def __call__(self, text: str) -> Singles:
        """The vector of a query."""
        vector: Singles = self.encode_queries([text])[0]
        return vector

    def encode_queries(self, texts: Sequence[str]) -> Singles:
        """One vector of length 1 per query."""
        self._check_fitted()
        return _means(self.queries_, texts)

    def encode_documents(self, documents: Sequence[Mapping[str, Any]]) -> Singles:
        """One vector of length 1 per document."""
        self._check_fitted()
        return _means(self.documents_, [self._text(document) for document in documents])

    @property
    def fingerprint(self) -> str:
        """A hash of what was learned."""
        self._check_fitted()
        whole = hashlib.blake2b(self.queries_.tobytes(), digest_size=8)
        whole.update(self.documents_.tobytes())
        return whole.hexdigest()

    def save(self, path: str | Path) -> None:
        """Write one file that `TwoTower.load` reads."""
        self._check_fitted()
        parameters = {name: getattr(self, name) for name in _SAVED} | {"fields": list(self.read_)}
        _archive.write(path, _KIND, parameters, {name: getattr(self, name) for name in _LEARNED})

    @classmethod
    def load(cls, path: str | Path, *, largest: int | None = None) -> "TwoTower":
        """The encoder that `save` wrote; it needs no torch.

        A file that unpacks to more than `largest` bytes is refused, by default 200 times its size or 64 MB.
        """
        again = "fit and save the TwoTower again"
        parameters, learned = _archive.read(path, _KIND, again=again, largest=largest)
        tower = cls(**parameters)
        for name in _LEARNED:
            setattr(tower, name, learned[name])
        tower.read_ = tuple(parameters["fields"])
        return tower

    def _pairs(
        self, index: Index, queries: Mapping[Any, str | Query], judgments: Mapping[Any, Mapping[Any, float]]
    ) -> list[tuple[str, int, tuple[int, ...], frozenset[int]]]:
        """Per relevant document: the query, its row, hard negatives, and all relevant rows."""
        self.read_ = self._read(index)
        snapshot = index.snapshot
        near = index.retriever(k=4 * max(self.negatives, 1) + 20, vectors={}) if self.negatives else None
        rng = np.random.default_rng(self.seed)
        pairs = []
        for qid, query in queries.items():
            parsed = query if isinstance(query, Query) else Query.of_words(query)
            rows = {snapshot.row(str(id)) for id, grade in judgments.get(qid, {}).items() if grade > 0}
            relevant = frozenset(row for row in rows if row >= 0)
            if not relevant:
                continue
            hard = [] if near is None else [r for r in near(parsed).rows.tolist() if r not in relevant]
            for row in sorted(relevant):
                some = rng.permutation(len(hard))[: self.negatives].tolist()
                pairs.append((parsed.plain, row, tuple(hard[i] for i in some), relevant))
        if not pairs:
            raise ValueError("a TwoTower learns from queries with relevant documents in the index; got none")
        return pairs

    def _read(self, index: Index) -> tuple[str, ...]:
        snapshot = index.snapshot
        own = [name for name in snapshot.text_fields if snapshot.fields[name].source is None]
        return tuple(self.fields if self.fields is not None else own)

    def _text(self, document: Mapping[str, Any]) -> str:
        values = [document.get(name) or "" for name in self.read_]
        return " ".join(" ".join(value) if isinstance(value, list) else str(value) for value in values)

    def _check_fitted(self) -> None:
        if not hasattr(self, "queries_"):
            raise ValueError("this TwoTower is not fitted; call fit first")


def _encode(torch: Any, tower: Any, bags: tuple[Ints, Ints]) -> Any:
    numbers, starts = bags
    means = tower(torch.from_numpy(numbers), torch.from_numpy(starts))
    return torch.nn.functional.normalize(means, dim=1)


def _means(table: Singles, texts: Sequence[str]) -> Singles:
    found = np.zeros((len(texts), table.shape[1]), np.float32)
    for at, text in enumerate(texts):
        numbers = hashed(text, len(table))
        if len(numbers):
            mean = table[numbers].mean(0)
            found[at] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return found
