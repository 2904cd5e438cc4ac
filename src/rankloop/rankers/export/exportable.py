"""What a ranker is for an export: plain trees or a weighted sum, and the names of its features."""

from collections.abc import Sequence

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.ranker import Ranker
from rankloop.rankers.ensemble import Ensemble
from rankloop.rankers.export.model_text import model_text
from rankloop.rankers.trees.compile_forest import read_trees
from rankloop.rankers.trees.decisions import missing_left, zero_left
from rankloop.rankers.trees.trees import CATEGORY, LEFT, ZERO, Trees

__all__ = ["check_complete_sum", "in_single", "missing_is_zero", "names_of", "no_form", "plain_trees"]


def plain_trees(ranker: Ranker | str, target: str, *, deepest: int | None = None) -> Trees | None:
    """The trees of a ranker that has some, or None; what `target` cannot say exactly is an error.

    `deepest` is the largest number of nodes above another that the target's parser takes.
    """
    text = model_text(ranker)
    if text is None:
        return None
    trees = read_trees(text)
    if trees.lines is not None:
        raise ValueError(
            f"{target} cannot compute linear leaves; train with linear_tree=False, learn from clicks with "
            "exportable=True (--exportable), or rank with rankloop"
        )
    if (trees.rule & CATEGORY).any():
        raise ValueError(
            f"{target}'s trees have no sets of categories, and {int((trees.rule & CATEGORY > 0).sum())} "
            "nodes test one; train without categorical features, or export to ONNX"
        )
    if not np.isfinite(trees.threshold).all():
        raise ValueError(f"a threshold is infinite, which {target} cannot read; make the features finite")
    if _moves_zero(trees):
        raise ValueError(
            f"{target}'s trees cannot send zeros where missing values go, as these do; train without "
            "zero_as_missing"
        )
    depth = _depth(trees)
    if deepest is not None and depth > deepest:
        raise ValueError(
            f"a tree is {depth} nodes deep, and {target} reads at most {deepest}; train with fewer leaves, "
            'or with params={"max_depth": 50}'
        )
    return trees


def missing_is_zero(trees: Trees) -> bool:
    """Whether a missing value always goes where 0 goes."""
    return bool((missing_left(trees) == zero_left(trees)).all())


def names_of(ranker: Ranker | str, features: Sequence[str] | None, count: int, target: str) -> list[str]:
    """The names of the features: those given, or those of the training data."""
    given = features
    if given is None and not isinstance(ranker, str) and hasattr(ranker, "feature_names_in_"):
        given = ranker.feature_names_in_.tolist()
    if given is None:
        raise ValueError(
            f"{target} finds features by name, and this ranker was trained without names; pass "
            f"features=[...], one name for each of the {count} columns"
        )
    names = [str(name) for name in given]
    if len(names) != count:
        raise ValueError(f"features needs {count} names, one per column, got {len(names)}")
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < count else set()
    if twice:
        raise ValueError(f"two features are named {min(twice)!r}; {target} needs different names")
    return names


def check_complete_sum(ranker: LinearScores, target: str, complete: bool) -> None:
    """Refuse a weighted sum whose missing values the target would take for 0 and not for the mean."""
    if not complete and ranker.mean_[ranker.coef_ != 0].any():
        raise ValueError(
            f"here a missing feature counts as its mean, in {target} as 0; pass complete=True (--complete) "
            "if no feature is ever missing, or train on data where missing values are 0"
        )


def in_single(values: Floats | Singles, what: str) -> list[float]:
    """The values rounded to float32, as numbers that print exactly."""
    with np.errstate(over="ignore"):
        single = np.asarray(values, np.float64).astype(np.float32)
    if not np.isfinite(single).all():
        raise ValueError(f"{what} is too large for float32, which the target computes in; scale the data")
    return [float(value) for value in single.tolist()]


def no_form(ranker: Ranker | str, target: str, instead: str) -> ValueError:
    """The error for a kind of ranker that the target has no model for."""
    learned = "; rankloop learn --exportable makes one" if isinstance(ranker, Ensemble) else ""
    return ValueError(f"{target} has no model for {type(ranker).__name__}; export {instead}{learned}")


def _moves_zero(trees: Trees) -> bool:
    """Whether some node treats zeros as missing and its threshold does not send them the same way."""
    to_left = trees.rule & LEFT != 0
    natural = np.where(to_left, trees.threshold >= trees.zero, trees.threshold < -trees.zero)
    return bool(((trees.rule & ZERO != 0) & ~natural).any())


def _depth(trees: Trees) -> int:
    depth = np.zeros(len(trees.feature), np.int64)
    first = np.repeat(np.cumsum(trees.nodes) - trees.nodes, trees.nodes).tolist()
    for node, (left, right) in enumerate(zip(trees.left.tolist(), trees.right.tolist(), strict=True)):
        for child in (left, right):
            if child >= 0 and first[node] + child < len(depth):
                depth[first[node] + child] = depth[node] + 1
    return int(depth.max(initial=0)) + 1
