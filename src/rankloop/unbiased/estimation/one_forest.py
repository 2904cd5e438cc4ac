"""A weighted sum of forests as one forest: the scores of a forest are sums over its trees already."""

import re
from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from rankloop._arrays import Floats
from rankloop.rankers import LambdaMART
from rankloop.rankers.trees.lightgbm import LightGBMForest
from rankloop.rankers.trees.lightgbm_text import tree_texts
from rankloop.unbiased.estimation.straight import Straight

__all__ = ["one_forest"]

_SCALED = re.compile(r"^(leaf_value|internal_value|leaf_const|leaf_coeff)=(.*)$", re.MULTILINE)


def one_forest(
    rankers: Sequence[LambdaMART], weights: Sequence[float] | Floats, line: Straight | None = None
) -> LambdaMART:
    r"""The ranker with the scores :math:`\sum_j w_j s_j(x)`; forests of weight 0 are left out.

    All trees are LightGBM's, of the same features; leaves are multiplied by the weight of their forest.
    `line` adds scores that are linear in the features, as one small tree for each feature.
    """
    used = [(one, float(weight)) for one, weight in zip(rankers, weights, strict=True) if weight != 0]
    trees: list[str] = []
    for ranker, weight in used:
        if not isinstance(ranker.forest_, LightGBMForest):
            raise ValueError(f"one forest is made of forests of the backend lightgbm, got {ranker.backend}")
        for tree in tree_texts(ranker.forest_.text):
            trees.append(f"Tree={len(trees)}\n{_times(tree, weight)}\n\n")
    for body in () if line is None else line.trees():
        trees.append(f"Tree={len(trees)}\n{body}\n\n\n")
    if not trees:
        raise ValueError("every weight is 0; a sum needs at least one ranker")
    first = rankers[0] if not used else used[0][0]
    head, tail = _around(str(first.forest_.written()))
    sizes = " ".join(str(len(tree.encode())) for tree in trees)
    head = re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", head, flags=re.MULTILINE)
    joined = LightGBMForest(f"{head}\n\n{''.join(trees)}end of trees{tail}")
    found: LambdaMART = clone(first)
    for name, value in vars(first).items():
        if name.endswith("_"):  # what fitting set: features, fingerprint, metrics
            setattr(found, name, value)
    found.forest_, found.n_trees_, found.curve_ = joined, len(trees), np.empty(0)
    found.set_params(trees=len(trees))
    return found


def _times(tree: str, weight: float) -> str:
    """The text of a tree with all its values multiplied."""

    def scaled(line: "re.Match[str]") -> str:
        numbers = [one and repr(float(one) * weight) for one in line[2].split(" ")]
        return f"{line[1]}={' '.join(numbers)}"

    return _SCALED.sub(scaled, tree)


def _around(text: str) -> tuple[str, str]:
    """The text before the trees, and the text after them."""
    head = text.split("\nTree=")[0].rstrip("\n")
    return head, text.split("\nend of trees")[1]
