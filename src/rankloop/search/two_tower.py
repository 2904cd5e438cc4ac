"""Encoders that map queries and documents into one space, trained on judged pairs."""

import hashlib
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Self

import numpy as np

from rankloop import _archive
from rankloop._arrays import Singles
from rankloop._extras import require
from rankloop._progress import progress
from rankloop.search.encoders.towers import BertTowers, HashedTowers, Towers, contrastive
from rankloop.search.index.index import Index
from rankloop.search.text.hashing import hashed
from rankloop.search.text.query import Query

__all__ = ["TwoTower"]

_KIND = "TwoTower"
_SAVED = (
    *("checkpoint", "dimension", "buckets", "tokens", "temperature", "negatives", "popularity", "widths"),
    *("epochs", "batch", "learning_rate", "seed"),
)
_LEARNED = ("queries_", "documents_")
_RATES = {"words": 0.01, "bert": 5e-5}

Pair = tuple[str, int, tuple[int, ...], frozenset[int]]


class TwoTower:
    r"""Learns vectors of queries and documents whose cosine says how well they match (contrastive learning).

    By default a text is the mean of the learned vectors of its words and letter trigrams, hashed into
    `buckets`; each side has its own. With a `checkpoint` (a folder, or a name such as `"minilm"`; see
    `TextRanker`) both sides are that BERT, trained further. Training maximises, over pairs of a query and a
    relevant document,

    .. math:: \log \frac{e^{\cos(q, d^+)/\tau}}{\sum_{d \in D} e^{\cos(q, d)/\tau}}

    where D holds the documents of the whole batch and `negatives` documents per query that the index ranks
    high but that are not judged relevant (Karpukhin et al., 2020). Other relevant documents are left out
    of D. `popularity` corrects for documents that are in many batches (log q; Yi et al., 2019). `widths` are
    lengths to which vectors can be cut afterwards, with `cut` (Matryoshka; Kusupati et al., 2022). Once
    fitted, calling it encodes a query: it is an encoder for retrievers and features.

    >>> TwoTower(dimension=32)
    TwoTower(dimension=32)
    """

    def __init__(
        self,
        checkpoint: str | Path | None = None,
        *,
        fields: Sequence[str] | None = None,
        dimension: int = 64,
        buckets: int = 50_000,
        tokens: int = 128,
        temperature: float = 0.05,
        negatives: int = 3,
        popularity: bool = False,
        widths: Sequence[int] = (),
        epochs: int = 5,
        batch: int = 256,
        learning_rate: float | None = None,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        self.checkpoint = checkpoint
        self.fields = fields
        self.dimension = dimension
        self.buckets = buckets
        self.tokens = tokens
        self.temperature = temperature
        self.negatives = negatives
        self.popularity = popularity
        self.widths = widths
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.device = device
        self.seed = seed
        self._width: int | None = None

    def __repr__(self) -> str:
        if self.checkpoint is not None:
            return f"TwoTower({str(self.checkpoint)!r})"
        return f"TwoTower(dimension={self.dimension})"

    def fit(
        self, index: Index, queries: Mapping[Any, str | Query], judgments: Mapping[Any, Mapping[Any, float]]
    ) -> Self:
        """Learn from judged (or clicked) documents of an index: query id -> document -> grade."""
        torch = require("torch", "neural")
        pairs = self._pairs(index, queries, judgments)
        torch.manual_seed(self.seed)
        rows = sorted({row for _, positive, hard, _ in pairs for row in (positive, *hard)})
        number = {row: at for at, row in enumerate(rows)}
        towers = self._towers(
            [text for text, _, _, _ in pairs], [self._text(index.snapshot.document(row)) for row in rows]
        )
        often = np.zeros(len(rows))
        for _, positive, hard, _ in pairs:
            often[[number[row] for row in (positive, *hard)]] += 1 / len(pairs)
        rate = self.learning_rate or _RATES["words" if self.checkpoint is None else "bert"]
        optimiser = torch.optim.Adam(towers.parameters(), lr=rate)
        rng = np.random.default_rng(self.seed)
        self.losses_: list[float] = []
        with progress("two towers", self.epochs) as advance:
            for _ in range(self.epochs):
                total, order = 0.0, rng.permutation(len(pairs))
                for start in range(0, len(order), self.batch):
                    some = order[start : start + self.batch]
                    loss = self._loss(towers, pairs, some, number, often)
                    optimiser.zero_grad()
                    loss.backward()
                    optimiser.step()
                    total += float(loss.detach()) * len(some)
                self.losses_.append(total / len(pairs))
                advance(1, f"loss {self.losses_[-1]:.3f}")
        if isinstance(towers, HashedTowers):
            self.queries_, self.documents_ = towers.weights()
        elif isinstance(towers, BertTowers):
            self.encoder_: Any = towers.encoder
        self.read_ = self._read(index)
        return self

    def __call__(self, text: str) -> Singles:
        """The vector of a query."""
        vector: Singles = self.encode_queries([text])[0]
        return vector

    def encode_queries(self, texts: Sequence[str]) -> Singles:
        """One vector of length 1 per query."""
        self._check_fitted()
        if self.checkpoint is not None:
            return self._cut(self.encoder_.encode(texts))
        return self._cut(_means(self.queries_, texts))

    def encode_documents(self, documents: Sequence[Mapping[str, Any]]) -> Singles:
        """One vector of length 1 per document."""
        self._check_fitted()
        texts = [self._text(document) for document in documents]
        if self.checkpoint is not None:
            return self._cut(self.encoder_.encode(texts))
        return self._cut(_means(self.documents_, texts))

    def cut(self, width: int) -> Self:
        """The same encoder with vectors of the first `width` numbers, for one of its `widths`."""
        self._check_fitted()
        if width not in self._widths():
            raise ValueError(
                f"vectors serve at the widths {self._widths()} they were trained for, got {width}"
            )
        made = copy(self)
        made._width = width
        return made

    @property
    def fingerprint(self) -> str:
        """A hash of what was learned."""
        self._check_fitted()
        whole = hashlib.blake2b(digest_size=8)
        for _, value in sorted(self._members().items()):
            whole.update(value.encode() if isinstance(value, str) else np.ascontiguousarray(value).tobytes())
        return whole.hexdigest() if self._width is None else f"{whole.hexdigest()}-{self._width}"

    def save(self, path: str | Path) -> None:
        """Write one file that `TwoTower.load` reads."""
        self._check_fitted()
        parameters = {name: getattr(self, name) for name in _SAVED} | {"fields": list(self.read_)}
        parameters["checkpoint"] = None if self.checkpoint is None else str(self.checkpoint)
        about = None if self.checkpoint is None else self.encoder_.about
        _archive.write(path, _KIND, {"parameters": parameters, "about": about}, self._members())

    @classmethod
    def load(cls, path: str | Path, *, largest: int | None = None) -> "TwoTower":
        """The encoder that `save` wrote; without a checkpoint it needs no torch.

        A file that unpacks to more than `largest` bytes is refused, by default 200 times its size or 64 MB.
        """
        again = "fit and save the TwoTower again"
        saved, learned = _archive.read(path, _KIND, again=again, largest=largest)
        parameters = saved.get("parameters", saved)
        tower = cls(**parameters)
        if tower.checkpoint is None:
            for name in _LEARNED:
                setattr(tower, name, learned[name])
        else:
            from rankloop.rankers.text.bi_encoder import BiEncoder

            weights = {name: value for name, value in learned.items() if name != "tokenizer"}
            tower.encoder_ = BiEncoder.restored(
                saved["about"], str(learned["tokenizer"]), weights, tokens=tower.tokens
            )
        tower.read_ = tuple(parameters["fields"])
        return tower

    def _towers(self, queries: list[str], documents: list[str]) -> Towers:
        if self.checkpoint is None:
            return HashedTowers(queries, documents, buckets=self.buckets, dimension=self.dimension)
        made = BertTowers(
            self.checkpoint, queries, documents, tokens=self.tokens, device=self.device, seed=self.seed
        )
        self.dimension = made.encoder.dimension
        return made

    def _loss(self, towers: Towers, pairs: list[Pair], some: Any, number: dict[int, int], often: Any) -> Any:
        torch = require("torch", "neural")
        chosen = [pairs[i] for i in some]
        shown = list(dict.fromkeys(row for _, positive, hard, _ in chosen for row in (positive, *hard)))
        place = {row: at for at, row in enumerate(shown)}
        rows = [number[row] for row in shown]
        queried, found = towers.queries(some), towers.documents(rows)
        hidden = torch.zeros(len(chosen), len(shown), dtype=torch.bool)
        for at, (_, positive, _, relevant) in enumerate(chosen):
            others = [place[row] for row in relevant if row != positive and row in place]
            hidden[at, others] = True
        target = torch.tensor([place[positive] for _, positive, _, _ in chosen])
        return contrastive(
            queried,
            found,
            target.to(queried.device),
            hidden.to(queried.device),
            temperature=self.temperature,
            widths=self._widths(),
            often=often[rows] if self.popularity else None,
        )

    def _widths(self) -> list[int]:
        """The lengths at which vectors serve, the whole one last."""
        wrong = [one for one in self.widths if not 1 <= one <= self.dimension]
        if wrong:
            raise ValueError(f"widths lie between 1 and the dimension {self.dimension}, got {wrong[0]}")
        return sorted({*self.widths, self.dimension})

    def _cut(self, vectors: Singles) -> Singles:
        if self._width is None:
            return vectors
        part = vectors[:, : self._width]
        return np.asarray(part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-12), np.float32)

    def _members(self) -> dict[str, Any]:
        if self.checkpoint is None:
            return {name: getattr(self, name) for name in _LEARNED}
        return {**self.encoder_.state(), "tokenizer": self.encoder_.tokenizer.written}

    def _pairs(
        self, index: Index, queries: Mapping[Any, str | Query], judgments: Mapping[Any, Mapping[Any, float]]
    ) -> list[Pair]:
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
        if not hasattr(self, "queries_" if self.checkpoint is None else "encoder_"):
            raise ValueError("this TwoTower is not fitted; call fit first")


def _means(table: Singles, texts: Sequence[str]) -> Singles:
    found = np.zeros((len(texts), table.shape[1]), np.float32)
    for at, text in enumerate(texts):
        numbers = hashed(text, len(table))
        if len(numbers):
            mean = table[numbers].mean(0)
            found[at] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return found
