"""What a large budget adds to the stack: slow forests with random splits, and networks."""

from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
from sklearn.base import clone

from rankloop._arrays import Bools
from rankloop.rankers import Ensemble, LambdaMART, NeuralRanker
from rankloop.unbiased.estimation.cells import CellLikelihood
from rankloop.unbiased.estimation.evidence import Evidence
from rankloop.unbiased.estimation.labels import rows_of
from rankloop.unbiased.estimation.library import Correction
from rankloop.unbiased.estimation.network_likelihood import MOST, NumberedLikelihood
from rankloop.unbiased.estimation.one_forest import one_forest
from rankloop.unbiased.estimation.stacked import Larger
from rankloop.unbiased.likelihood import LEARNED, boosted

__all__ = ["KINDS", "larger", "voters"]

FORESTS = "slow forests"
NETWORKS = {f"networks ({one})": one for one in ("standard", "log1p", "quantile")}  # by their features
KINDS = (FORESTS, *NETWORKS)
FOLDS = 5  # of whole queries
EACH = 3  # members of a kind, whose scores are averaged
SLOWER = 4  # times the trees of one forest, at two thirds of the learning rate
EPOCHS, STEPS = 40, 2400  # of a network, at least


def larger(ranker: LambdaMART, features: Bools) -> Larger:
    """More folds, and these members too."""
    return Larger(FOLDS, lambda seen, seeds: voters(seen, ranker, features, seeds), EACH)


def voters(
    seen: Evidence, ranker: LambdaMART, features: Bools, seeds: Sequence[int]
) -> dict[str, Correction]:
    """Corrections by name, on the features that are informative; each is a mean over the seeds.

    Networks need PyTorch and finite features.
    """
    found: dict[str, Correction] = {FORESTS: lambda kept: _forests(seen, kept, ranker, features, seeds)}
    if _networks_can(seen):
        for name, transform in NETWORKS.items():
            found[name] = _networks(seen, transform, ranker.threads, features, seeds)
    return found


def _networks_can(seen: Evidence) -> bool:
    few = seen.data.n_documents <= MOST
    return few and find_spec("torch") is not None and not np.isinf(seen.data.X).any()


def _forests(
    seen: Evidence, kept: Bools, ranker: LambdaMART, features: Bools, seeds: Sequence[int]
) -> LambdaMART:
    more = {"extra_trees": True, "feature_contri": features.astype(float).tolist()}
    slow = clone(ranker).set_params(
        trees=SLOWER * ranker.trees,
        learning_rate=ranker.learning_rate * 2 / 3,
        params={**(ranker.params or {}), **more},
    )
    made = [boosted(seen, kept, clone(slow).set_params(seed=seed), learn=False)[0] for seed in seeds]
    return one_forest(made, np.full(len(made), 1 / len(made)))


def _networks(
    seen: Evidence, transform: str, threads: int | None, features: Bools, seeds: Sequence[int]
) -> Correction:
    """Networks that diverge, as extreme feature values can make them, are left out."""

    def trained(kept: Bools) -> Ensemble | None:
        from rankloop.rankers.neural.training import DivergenceError

        made = []
        for seed in seeds:
            try:
                made.append(_network(seen, kept, transform, threads, features, seed))
            except DivergenceError:
                continue
        if not made:
            return None
        joined = Ensemble(made, weights=[1 / len(made)] * len(made), norm="none", prefit=True)
        return joined.fit(rows_of(seen.data, kept, seen.by_row(seen.clicks)))

    return trained


def _network(
    seen: Evidence, kept: Bools, transform: str, threads: int | None, features: Bools, seed: int
) -> NeuralRanker:
    """A network on the same likelihood; features that were left out are set to 0."""
    cells = CellLikelihood.of(seen, kept, None)
    batch = min(4096, max(64, EPOCHS * cells.rows // STEPS))
    network = NeuralRanker(
        loss=NumberedLikelihood.of(cells),
        hidden=(64, 64),
        activation="silu",
        learning_rate=0.01,
        weight_decay=0.1,
        schedule="cosine",
        epochs=max(EPOCHS, -(-STEPS * batch // cells.rows)),
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
