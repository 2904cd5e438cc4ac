"""Networks that score documents, one by one or a list at a time."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints, Singles
from rankloop._extras import require
from rankloop.data import RankingDataset
from rankloop.losses import Loss
from rankloop.metrics import Metric, metric
from rankloop.rankers.base.input import feature_rows
from rankloop.rankers.base.ranker import Member, Ranker

__all__ = ["NeuralRanker"]

_ROWS = 65_536  # checked at a time


@dataclass(kw_only=True, eq=False, repr=False)
class NeuralRanker(Ranker):
    r"""A network under any loss, on a CPU or a GPU.

    Scorers: `"mlp"` (each document alone), `"groupwise"` (a few at a time; Ai et al., 2018), `"attention"`
    (the whole list; Pobrotyn et al., 2020, and with `latent_cross` DASALC, Qin et al., 2021) and `"gam"` (a
    small network per feature, whose `contributions` add up to the score; Zhuang et al., 2021). `hidden` are
    the widths of the layers: the last is the width of attention, and for `"gam"` they are per feature.

    Batches are whole lists of any length, without padding, of about `batch_documents` documents (by default a
    fiftieth of the data, between 256 and 8,192) or of `batch_lists` lists. With a validation set training
    stops after `patience` epochs without a better `metric`, and the best weights are kept. `checkpoint`
    names a file from which an interrupted training continues, to the same result. Under `torchrun` the
    processes share each batch. `init` is a network to go on from (of `pretrain`, or fitted before) with the
    same scorer, widths and features; its feature transform is kept.

    >>> X, y, qid = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.4]], [2, 0, 1], ["a", "a", "a"]
    >>> NeuralRanker(hidden=(16,), seed=0).fit(X, y, qid=qid).rank(X)
    array([0, 2, 1])
    """

    _honours: ClassVar[frozenset[str]] = frozenset({"query_weight", "item_weight", "pairs"})
    _unsaved: ClassVar[frozenset[str]] = frozenset({"checkpoint", "device", "init", "threads"})
    _libraries: ClassVar[tuple[str, ...]] = ("numpy", "torch")

    scorer: str = "mlp"
    loss: str | Loss = "listnet"
    hidden: tuple[int, ...] | None = None
    activation: str = "relu"
    dropout: float = 0.0
    group_size: int = 2
    permutations: int = 8
    blocks: int = 2
    heads: int = 4
    latent_cross: bool = False
    feature_transform: str | None = "log1p"
    missing: str = "mean"
    noise: float = 0.0
    optimizer: str = "adamw"
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    schedule: str = "constant"
    epochs: int = 100
    batch_documents: int | None = None
    batch_lists: int | None = None
    metric: str | Metric = "ndcg@10"
    patience: int = 10
    precision: str = "float32"
    device: str = "auto"
    checkpoint: str | Path | None = None
    init: "NeuralRanker | None" = None
    threads: int | None = None
    seed: int = 0

    @property
    def needs_lists(self) -> bool:
        return self.scorer in ("attention", "groupwise")

    def contributions(self, X: RankingDataset | ArrayLike) -> Floats:
        """The exact part of each feature in the score of each row; for scorer `"gam"` only."""
        from rankloop.rankers.neural.scoring import contributions

        self._check_fitted()
        if self.scorer != "gam":
            raise ValueError(
                f"the scorer {self.scorer!r} mixes features, so their parts do not add up; use scorer='gam'"
            )
        rows, _ = feature_rows(X)
        _refuse_infinite(rows)
        return contributions(self._exact, rows)

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        require("torch", "neural")
        from rankloop.rankers.neural.fit import batch_size, fit
        from rankloop.rankers.neural.scoring import exact
        from rankloop.rankers.neural.torch_threads import torch_threads

        try:
            _refuse_infinite(train.X)
            with torch_threads(self.threads, batch_size(self, train)):
                self.module_, state = fit(self, train, valid)
        except BaseException:
            self._forget()  # no partly trained model remains
            raise
        self._exact = exact(self.module_)
        self.n_iter_ = state.best_epoch
        self.history_ = {"loss": state.losses}
        if valid is not None:
            better = 1 if metric(self.metric).higher_is_better else -1
            self.history_[str(self.metric)] = [better * reached for reached in state.qualities]

    def _scores(self, X: Singles, offsets: Ints) -> Floats:
        from rankloop.rankers.neural.scoring import scores
        from rankloop.rankers.neural.torch_threads import torch_threads

        _refuse_infinite(X)
        with torch_threads(self.threads, len(X)):
            return scores(self._exact, X, offsets, alone=not self.needs_lists)

    def _state(self) -> dict[str, Member]:
        from rankloop.rankers.neural.scoring import members

        return members(self)

    def _restore(self, state: Mapping[str, Member]) -> None:
        require("torch", "neural")
        from rankloop.rankers.neural.scoring import exact, restore

        self.module_ = restore(self, state)
        self._exact = exact(self.module_)
        learned = json.loads(str(state["training"]))
        self.history_, self.n_iter_ = learned["history"], learned["n_iter"]


def _refuse_infinite(X: Singles) -> None:
    for start in range(0, len(X), _ROWS):
        infinite = np.isinf(X[start : start + _ROWS])
        if infinite.any():
            row, feature = np.argwhere(infinite)[0]
            raise ValueError(
                f"feature {feature} of row {start + row} is {X[start + row, feature]}; "
                "a network needs finite features, use nan for missing values"
            )
