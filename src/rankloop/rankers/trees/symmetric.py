"""rankloop itself grows the trees: symmetric ones, with one split for all leaves of a level."""

import math
from typing import ClassVar

import numpy as np

from rankloop._arrays import Floats
from rankloop._warn import warn
from rankloop.data import RankingDataset
from rankloop.rankers.base.input import refuse_constant
from rankloop.rankers.trees.boosting import Job, Plan
from rankloop.rankers.trees.feature_bins import FeatureBins
from rankloop.rankers.trees.lightgbm import LightGBMForest
from rankloop.rankers.trees.lightgbm_text import lightgbm_text, tree_texts
from rankloop.rankers.trees.symmetric_kernels import BINS, place
from rankloop.rankers.trees.symmetric_tree import Growing, SymmetricTree

__all__ = ["SymmetricForest"]

_DEEPEST = 8  # 256 leaves: the number of a leaf is a byte


class SymmetricForest(LightGBMForest):
    r"""Symmetric trees (Kohavi & Li, 1995; Prokhorenkova et al., 2018), as the text of a LightGBM model.

    The split of a level is the one with the largest :math:`\sum_l G_l^2 / (H_l + \lambda)` over all new
    leaves l. A tree of this shape has few splits and fits noise less than one that grows leaf by leaf.
    """

    library: ClassVar[str] = "lightgbm"  # which explains it

    @classmethod
    def grow(cls, job: Job, init: "LightGBMForest | None") -> "SymmetricForest":
        plan, train, valid, derivatives, watch = job
        _refuse(plan)
        assert derivatives is not None
        data = FeatureBins.of(train.X, min(plan.max_bins, BINS - 1), plan.seed)
        if not (data.kinds >= [1, 0]).any():
            refuse_constant(train)
        growing = Growing(
            data,
            data.bins(train.X),
            min(max(round(math.log2(plan.leaves)), 1), _DEEPEST),
            plan.learning_rate,
            plan.l2,
            1e-3 if plan.min_sum_hessian is None else plan.min_sum_hessian,
            plan.feature_fraction,
            plan.threads,
            np.random.default_rng([plan.seed, 0 if init is None else init.trees]),
        )
        scores, seen = _start(train, init, plan), None if valid is None else _start(valid, init, plan)
        held = None if valid is None else data.bins(valid.X)
        trees: list[SymmetricTree] = []
        for _ in range(plan.trees):
            tree, leaf = growing.tree(*derivatives(scores))
            trees.append(tree)
            place(leaf, tree.value, scores)
            if seen is not None and held is not None:
                place(tree.leaves(held, data), tree.value, seen)
            if watch(seen):
                break
        if not any(tree.levels for tree in trees):
            warn(
                "no split of any feature lowers the loss, so all scores are equal; lower min_sum_hessian "
                f"(now {growing.least:g}) or check the features"
            )
        before = [] if init is None else tree_texts(init.text)
        texts = before + tree_texts(trees[: watch.best_round], plan.learning_rate)
        return cls(lightgbm_text(texts, train.n_features))


def _start(data: RankingDataset, init: LightGBMForest | None, plan: Plan) -> Floats:
    return np.zeros(data.n_documents) if init is None else init.scores(data.X, plan.threads)


def _refuse(plan: Plan) -> None:
    """Refuse what symmetric trees of ours have no counterpart for."""
    if plan.objective is not None:
        raise ValueError(
            f"the backend rankloop has no objectives of its own, got 'backend:{plan.objective}'; take a "
            "loss by its name, such as loss='lambdagap'"
        )
    for name in ("params", "monotone", "interaction", "categorical"):
        if getattr(plan, name):
            raise ValueError(
                f"the backend rankloop takes no {name}; leave {name} out or take backend='lightgbm'"
            )
