"""What a large budget adds to the stack: slow forests with random splits, and networks."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from sklearn.base import clone

from rankloop._arrays import Bools
from rankloop.rankers import LambdaMART
from rankloop.unbiased.estimation.evidence import Evidence
from rankloop.unbiased.estimation.library import Correction
from rankloop.unbiased.estimation.networks import Training, networks_can, networks_of
from rankloop.unbiased.estimation.one_forest import one_forest
from rankloop.unbiased.estimation.stacked import Larger
from rankloop.unbiased.likelihood import boosted

__all__ = ["KINDS", "larger", "voters"]

FORESTS = "slow forests"
NETWORKS = {f"networks ({one})": one for one in ("standard", "log1p", "quantile")}  # by their features
KINDS = (FORESTS, *NETWORKS)
FOLDS = 5  # of whole queries
EACH = 3  # members of a kind, whose scores are averaged
SLOWER = 4  # times the trees of one forest, at two thirds of the learning rate
EPOCHS, STEPS = 20, 600  # of a network, at least


def larger(ranker: LambdaMART, features: Bools, *, networks: bool) -> Larger:
    """More folds, and these members too."""
    made = partial(voters, ranker=ranker, features=features, networks=networks)
    return Larger(FOLDS, lambda seen, seeds: made(seen, seeds=seeds), EACH)


def voters(
    seen: Evidence, ranker: LambdaMART, features: Bools, seeds: Sequence[int], *, networks: bool = True
) -> dict[str, Correction]:
    """Corrections by name, on the features that are informative; each is a mean over the seeds.

    Networks need PyTorch and finite features.
    """
    found: dict[str, Correction] = {FORESTS: lambda kept: _forests(seen, kept, ranker, features, seeds)}
    if networks and networks_can(seen):
        for name, transform in NETWORKS.items():
            training = Training(EPOCHS, STEPS)
            found[name] = networks_of(seen, transform, ranker.threads, features, seeds, training)
    return found


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
