"""Networks that saw many lists without labels before the few that have them."""

import numpy as np
from sklearn.base import clone

from rankloop._extras import require
from rankloop.data import RankingDataset
from rankloop.rankers.neural_ranker import NeuralRanker

__all__ = ["pretrain"]


def pretrain(
    ranker: NeuralRanker,
    data: RankingDataset,
    *,
    epochs: int = 30,
    lists: int = 64,
    hidden: float = 0.3,
    noise: float = 0.1,
    temperature: float = 0.1,
    documents: int = 64,
    learning_rate: float = 1e-3,
) -> NeuralRanker:
    """Pretrain a network like `ranker` on lists without labels; `NeuralRanker(init=...)` continues from it.

    SimCLR-Rank (Hou et al., 2023): two views of a document, each with a share `hidden` of its features at
    their mean and with `noise`, should be more alike than views of two documents of the same list. The labels
    of `data` are not read; each step takes `lists` lists, and at most `documents` of each. For scorer
    `"mlp"`.

    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=20, docs_per_query=8, n_features=5, seed=0)
    >>> base = pretrain(NeuralRanker(hidden=(8,), device="cpu"), data, epochs=2)
    >>> ranker = NeuralRanker(hidden=(8,), init=base, epochs=2, device="cpu").fit(data)
    >>> ranker.predict(data).shape == data.y.shape
    True
    """
    require("torch", "neural")
    from rankloop.rankers.neural.batches import rows_of
    from rankloop.rankers.neural.input import FeatureTransform
    from rankloop.rankers.neural.network import MLP, RankingNetwork, make_scorer
    from rankloop.rankers.neural.processes import own_device
    from rankloop.rankers.neural.scoring import exact
    from rankloop.rankers.neural.simclr import Views, pretrained

    if ranker.scorer != "mlp":
        raise ValueError(f"pretraining is for scorer='mlp', not for {ranker.scorer!r}; change the scorer")
    if not 0 <= hidden < 1 or noise < 0 or not temperature > 0 or min(epochs, lists) < 1 or documents < 2:
        raise ValueError(
            "pretraining needs hidden in [0, 1), noise of 0 or more, a temperature above 0, an epoch, a list "
            f"and two documents; got {hidden}, {noise}, {temperature}, {epochs}, {lists}, {documents}"
        )
    device = own_device(ranker.device)
    transform = FeatureTransform.learned(
        ranker.feature_transform, rows_of(data.X), flags=ranker.missing == "flag", device=device
    )
    scorer = make_scorer(ranker, transform.columns, level=False).to(device)
    assert isinstance(scorer, MLP)
    views = Views(hidden, noise, temperature, documents)
    losses = pretrained(
        scorer.body,
        transform(rows_of(data.X).to(device)),
        data.offsets,
        views,
        epochs=epochs,
        lists=lists,
        learning_rate=learning_rate,
        seed=ranker.seed,
    )
    made: NeuralRanker = clone(ranker)
    made.n_features_in_ = data.n_features
    if data.feature_names is not None:
        made.feature_names_in_ = np.array(data.feature_names, dtype=object)
    made.fingerprint_, made.metrics_, made.propensity_ = data.fingerprint(), {}, None
    made.module_ = RankingNetwork(transform, scorer).eval()
    made._exact = exact(made.module_)
    made.n_iter_, made.history_ = epochs, {"loss": losses}
    return made
