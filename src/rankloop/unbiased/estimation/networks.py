"""Networks on the likelihood of clicks, as corrections beside the trees."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from rankloop._arrays import Bools
from rankloop.rankers import Ensemble, LambdaMART, NeuralRanker
from rankloop.unbiased.estimation.cells import CellLikelihood
from rankloop.unbiased.estimation.evidence import Evidence
from rankloop.unbiased.estimation.held_out import tempered
from rankloop.unbiased.estimation.labels import rows_of
from rankloop.unbiased.estimation.library import ALL, HALF, Correction, all_documents
from rankloop.unbiased.estimation.network_likelihood import MOST, NumberedLikelihood
from rankloop.unbiased.estimation.not_shown import as_if_shown
from rankloop.unbiased.likelihood import LEARNED

__all__ = ["NETWORK", "Training", "few_networks", "networks_can", "networks_of"]

NETWORK = "network"
EACH_TREE = 4  # steps of such a network, for each tree of a forest
FEWEST = 20  # epochs of it


class Training(NamedTuple):
    """How long a network is trained: epochs, at least, and steps, at least."""

    epochs: int
    steps: int


def networks_can(seen: Evidence) -> bool:
    """Networks need PyTorch and finite features."""
    few = seen.data.n_documents <= MOST
    return few and find_spec("torch") is not None and not np.isinf(seen.data.X).any()


def few_networks(seen: Evidence, again: Evidence, lines: LambdaMART, seed: int) -> dict[str, Correction]:
    """The networks of the usual budget, on the quantiles of all features; none where there can be none.

    They are smooth, as trees are not, and they stop early, before they follow the noise of the clicks. One
    has the curve of `again`; the other one half of that of `seen`, and documents that were never shown.
    """
    if not networks_can(seen):
        return {}
    features = np.ones(seen.data.n_features, bool)
    training = Training(FEWEST, EACH_TREE * lines.trees)
    half = tempered(seen, HALF)
    one, other = (
        networks_of(some, "quantile", lines.threads, features, [seed], training)
        for some in (again, as_if_shown(half))
    )
    return {NETWORK: one, f"{NETWORK}, half, {ALL}": all_documents(half, other)}


def networks_of(
    seen: Evidence,
    transform: str,
    threads: int | None,
    features: Bools,
    seeds: Sequence[int],
    training: Training,
) -> Correction:
    """The mean over the seeds; networks that diverge, as extreme features can make them, are left out."""

    def trained(kept: Bools) -> Ensemble | None:
        from rankloop.rankers.neural.training import DivergenceError

        made = []
        for seed in seeds:
            try:
                made.append(_network(seen, kept, transform, threads, features, seed, training))
            except DivergenceError:
                continue
        if not made:
            return None
        joined = Ensemble(made, weights=[1 / len(made)] * len(made), norm="none", prefit=True)
        return joined.fit(rows_of(seen.data, kept, seen.by_row(seen.clicks)))

    return trained


def _network(
    seen: Evidence,
    kept: Bools,
    transform: str,
    threads: int | None,
    features: Bools,
    seed: int,
    training: Training,
) -> NeuralRanker:
    """A network on the same likelihood; features that were left out are set to 0."""
    cells = CellLikelihood.of(seen, kept, None)
    epochs, steps = training
    batch = min(4096, max(64, epochs * cells.rows // steps))
    network = NeuralRanker(
        loss=NumberedLikelihood.of(cells),
        hidden=(64, 64),
        activation="silu",
        learning_rate=0.01,
        weight_decay=0.1,
        schedule="cosine",
        epochs=max(epochs, -(-steps * batch // cells.rows)),
        batch_documents=batch,
        feature_transform=transform,
        threads=threads,
        seed=seed,
    )
    numbers = np.cumsum(kept, dtype=np.float64) - 1.0
    rows = rows_of(seen.data, kept, numbers)
    network.fit(rows.replace(X=np.where(features, rows.X, np.float32(0.0))))
    network.set_params(loss=LEARNED)
    network.propensity_ = seen.curve()
    return network
