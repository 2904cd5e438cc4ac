"""A cross-encoder: a pretrained network that reads the query and the document together."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints, Singles
from rankloop._extras import require
from rankloop.data import RankingDataset
from rankloop.losses import Loss
from rankloop.metrics import Metric, metric
from rankloop.rankers.base.ranker import Member, Ranker

__all__ = ["TextRanker"]


@dataclass(eq=False, repr=False)
class TextRanker(Ranker):
    """A pretrained BERT that reads query and document together, trained further under any loss.

    `checkpoint` is a folder with `config.json`, `tokenizer.json` and `model.safetensors`, or a name in the
    cache (`rankloop encoders get minilm-full`, then `"minilm"`). Data sets refer to texts by `query_text` and
    `docid`; `documents` maps ids to texts or to mappings, of which `fields` are read (by default all texts),
    and may be an index. The columns of `X` are not read. A pair has at most `tokens` tokens.

    BERT runs here on packed sequences: no pair is padded, and attention stays within it. Models of another
    kind run through transformers, padded, with a warning. A step follows `accumulate` batches of about
    `batch_documents` pairs, or of `batch_lists` lists; a batch of more than `tokens_at_once` tokens keeps the
    activations of so many at a time and computes the rest again, so a list may be of any length. With a
    validation set training stops after `patience` epochs without a better `metric`. `resume` names a file
    from which an interrupted training continues.

    >>> TextRanker("minilm", loss="lambdarank", fields=["title", "overview"]).epochs
    2
    """

    _honours: ClassVar[frozenset[str]] = frozenset({"query_weight", "item_weight", "pairs"})
    _unsaved: ClassVar[frozenset[str]] = frozenset({"device", "documents", "resume", "threads"})
    _libraries: ClassVar[tuple[str, ...]] = ("numpy", "torch")
    _needs_features: ClassVar[bool] = False
    reads_text: ClassVar[bool] = True  # in a pipeline it is given texts, not features

    checkpoint: str | Path = "minilm"
    _: KW_ONLY
    documents: Any = None
    fields: Sequence[str] | None = None
    loss: str | Loss = "softmax"
    tokens: int = 192
    learning_rate: float = 5e-5
    weight_decay: float = 0.01
    dropout: float = 0.1
    schedule: str = "linear"
    warmup: float = 0.1
    epochs: int = 2
    batch_documents: int = 256
    batch_lists: int | None = None
    accumulate: int = 1
    metric: str | Metric = "ndcg@10"
    patience: int = 2
    precision: str = "auto"
    device: str = "auto"
    tokens_at_once: int | None = None
    resume: str | Path | None = None
    threads: int | None = None
    seed: int = 0

    def __sklearn_clone__(self) -> Self:
        """An unfitted copy that shares the documents."""
        return type(self)(**self.get_params(deep=False))

    def predict(
        self, X: RankingDataset | ArrayLike, *, qid: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Floats:
        """One score per row of a data set with `query_text` and `docid`; higher is better."""
        self._check_fitted()
        if not isinstance(X, RankingDataset) or qid is not None or groups is not None:
            raise ValueError(
                "a TextRanker reads texts, which rows of numbers do not have; use predict(dataset) with "
                "query_text and docid, or scores(query, texts)"
            )
        from rankloop.rankers.text.fit import pairs_of

        return self._scored(pairs_of(self, X, self.tokenizer_))

    def rank(self, X: RankingDataset | ArrayLike, *, qid: ArrayLike | None = None) -> Ints:
        """Row indices, best first, list after list."""
        scores = self.predict(X, qid=qid)
        assert isinstance(X, RankingDataset)
        return np.lexsort((-scores, X.row_query))

    def scores(self, query: str, texts: Sequence[str]) -> Floats:
        """One score per text for one query."""
        from rankloop.rankers.text.tokens import Pairs

        self._check_fitted()
        rows = np.arange(len(texts))
        return self._scored(
            Pairs(self.tokenizer_, [query], texts, np.zeros_like(rows), rows, limit=self.tokens)
        )

    def open(self) -> Self:
        """The ranker as it comes from the checkpoint, without training."""
        from rankloop.rankers.neural.processes import own_device
        from rankloop.rankers.text.model import open_model

        require("torch", "neural")
        self._forget()
        model = open_model(self.checkpoint, dropout=self.dropout, seed=self.seed)
        self.n_features_in_, self.fingerprint_, self.metrics_, self.propensity_ = 0, "", {}, None
        model.scorer.to(own_device(self.device)).eval()
        self._take(model, {"loss": []}, 0)
        return self

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        require("torch", "neural")
        from rankloop.rankers.neural.torch_threads import torch_threads
        from rankloop.rankers.text.fit import fit

        try:
            with torch_threads(self.threads, train.n_documents):
                model, state = fit(self, train, valid)
        except BaseException:
            self._forget()  # no partly trained model remains
            raise
        history = {"loss": state.losses}
        if valid is not None:
            better = 1 if metric(self.metric).higher_is_better else -1
            history[str(self.metric)] = [better * reached for reached in state.qualities]
            self.metrics_ = {
                "valid": {str(metric(self.metric)): history[str(self.metric)][state.best_epoch - 1]}
            }
        self._take(model, history, state.best_epoch)

    def _record(self, valid: RankingDataset) -> None:
        """The training has recorded its quality."""

    def _take(self, model: Any, history: dict[str, list[float]], best: int) -> None:
        self.module_: Any = model.scorer
        self.tokenizer_: Any = model.tokenizer
        self.about_: dict[str, Any] = model.about
        self.history_, self.n_iter_ = history, best

    def _scored(self, pairs: Any) -> Floats:
        from rankloop.rankers.neural.torch_threads import torch_threads
        from rankloop.rankers.text.scoring import scored

        with torch_threads(self.threads, int(pairs.lengths.sum())):
            return scored(self, pairs)

    def _scores(self, X: Singles, offsets: Ints) -> Floats:
        raise AssertionError("predict reads texts")

    def _state(self) -> dict[str, Member]:
        from rankloop.rankers.text.model import weights_of

        weights = {f"network/{name}": value for name, value in weights_of(self.module_).items()}
        learned = {"history": self.history_, "n_iter": self.n_iter_, "about": self.about_}
        return weights | {"training": json.dumps(learned), "tokenizer": self.tokenizer_.written}

    def _restore(self, state: Mapping[str, Member]) -> None:
        require("torch", "neural")
        from rankloop.rankers.text.scoring import restored

        learned = json.loads(str(state["training"]))
        self._take(restored(self, state, learned["about"]), learned["history"], learned["n_iter"])
