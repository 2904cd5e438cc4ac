"""Rankers as RankLib's model files."""

from pathlib import Path

import numpy as np

from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.ranker import Ranker
from rankloop.rankers.export.exportable import (
    check_complete_sum,
    in_single,
    missing_is_zero,
    no_form,
    plain_trees,
)
from rankloop.rankers.export.model_text import written
from rankloop.rankers.trees.decisions import below
from rankloop.rankers.trees.fold import Split, fold
from rankloop.rankers.trees.trees import Trees

__all__ = ["to_ranklib"]


def to_ranklib(ranker: Ranker | str, path: str | Path | None = None, *, complete: bool = False) -> str:
    """The text that RankLib loads: an `<ensemble>` of trees, or the weights of its Coordinate Ascent.

    RankLib goes left at `value <= threshold` in float32 and takes a missing feature for 0. Trees that send
    missing values elsewhere are refused, unless `complete` says that no feature is ever missing. A weighted
    sum is of the raw features and without a constant: its order is that of the ranker.

    >>> import lightgbm, numpy as np
    >>> X = np.arange(80.0)[:, None]
    >>> booster = lightgbm.train({"verbose": -1, "num_leaves": 2}, lightgbm.Dataset(X, X[:, 0] > 39), 1)
    >>> "<threshold> 39.5 </threshold>" in to_ranklib(booster.model_to_string())
    True
    """
    trees = plain_trees(ranker, "RankLib")
    if trees is not None:
        return written(_ensemble(trees, complete), path)
    if isinstance(ranker, LinearScores):
        check_complete_sum(ranker, "RankLib", complete)
        weights = (ranker.coef_ / ranker.scale_).tolist()
        body = " ".join(f"{number}:{weight!r}" for number, weight in enumerate(weights, 1))
        head = "## Coordinate Ascent\n## Restart = 0\n## MaxIteration = 0\n## StepBase = 0.05\n"
        head += "## StepScale = 2.0\n## Tolerance = 0.001\n## Regularized = false\n## Slack = 0.001\n"
        return written(f"{head}{body}\n", path)
    raise no_form(ranker, "RankLib", "a LambdaMART or a linear ranker, or distil this one into such a ranker")


def _ensemble(trees: Trees, complete: bool) -> str:
    if not complete and not missing_is_zero(trees):
        raise ValueError(
            "RankLib takes a missing feature for 0, and these trees send missing values elsewhere; pass "
            "complete=True (--complete) if no feature is ever missing, or train on data where they are 0"
        )
    cut = in_single(below(trees.threshold), "a threshold")

    def leaf(number: int, value: float) -> str:
        (single,) = in_single(np.array([value]), "the value of a leaf")
        return f"<output> {single!r} </output>"

    def split(at: Split, left: str, right: str) -> str:
        return (
            f"<feature> {at.feature + 1} </feature>\n<threshold> {cut[at.node]!r} </threshold>\n"
            f'<split pos="left">\n{left}\n</split>\n<split pos="right">\n{right}\n</split>'
        )

    made = fold(trees, leaf, split)
    body = "\n".join(
        f'<tree id="{number}" weight="1.0">\n<split>\n{tree}\n</split>\n</tree>'
        for number, tree in enumerate(made, 1)
    )
    leaves = int(trees.nodes.max(initial=0)) + 1
    head = f"## LambdaMART\n## No. of trees = {len(made)}\n## No. of leaves = {leaves}\n"
    head += "## No. of threshold candidates = -1\n## Learning rate = 1.0\n## Stop early = -1\n"
    return f"{head}\n<ensemble>\n{body}\n</ensemble>\n"
