"""Which scikit-learn classes a file may name, and whether their state is safe for compiled code.

The code that walks trees, and that of support vectors, does not check indices: a state that was made up
would read outside its arrays.
"""

import re
from typing import Any

import numpy as np

from rankloop._arrays import Array

__all__ = ["check_made", "check_state", "is_allowed"]

_ESTIMATORS = re.compile(
    r"sklearn\.(linear_model|tree|ensemble|neural_network|gaussian_process|kernel_ridge|svm|neighbors|isotonic"
    r"|dummy|pipeline|preprocessing|compose|impute|decomposition|feature_selection|kernel_approximation"
    r"|cross_decomposition|naive_bayes|discriminant_analysis|multioutput|multiclass|calibration"
    r"|random_projection)(\.\w+)*"
)
_PARTS = re.compile(
    r"sklearn\.(_loss(\.\w+)*|gaussian_process\.kernels|neural_network\._stochastic_optimizers"
    r"|linear_model\._sgd_fast|utils\._bunch|metrics\._dist_metrics|tree\._tree|neighbors\._(kd|ball)_tree"
    r"|ensemble\._hist_gradient_boosting\.(predictor|binning))"
)
_WRONG = "a scikit-learn model in this file is damaged: {}; save it again"


def is_allowed(kind: type) -> bool:
    """Whether a file may name this class: an estimator for numbers, or a known part of one."""
    from sklearn.base import BaseEstimator

    home = kind.__module__
    if _PARTS.fullmatch(home):
        return True
    return issubclass(kind, BaseEstimator) and _ESTIMATORS.fullmatch(home) is not None


def check_state(kind: type, arguments: list[Any], state: Any) -> None:
    """Refuse what the compiled class would read out of bounds; called before it is made."""
    name = f"{kind.__module__}.{kind.__name__}"
    if name == "sklearn.tree._tree.Tree":
        features, classes, outputs = arguments
        shaped = isinstance(classes, np.ndarray) and classes.dtype == np.intp and classes.shape == (outputs,)
        _wanted(shaped and 0 <= features < 1 << 31 and (classes > 0).all(), "a tree has wrong sizes")
        _wanted(isinstance(state, dict), "a tree has no state")
        nodes = state["nodes"]
        _walks(nodes, nodes["left_child"], nodes["right_child"], nodes["left_child"] == -1)
        inner = nodes["left_child"] != -1
        _wanted(state["node_count"] == len(nodes) and 0 <= state["max_depth"] <= len(nodes), "a tree's size")
        _within(nodes["feature"][inner], features)
    elif name.endswith(".TreePredictor"):
        nodes = state["nodes"]
        leaf = nodes["is_leaf"] != 0
        _walks(nodes, nodes["left"], nodes["right"], leaf)
        sets = nodes["bitset_idx"][~leaf & (nodes["is_categorical"] != 0)]
        for which in ("raw_left_cat_bitsets", "binned_left_cat_bitsets"):
            _wanted(state[which].ndim == 2 and state[which].dtype == np.uint32, "sets of categories")
            _wanted(not len(sets) or state[which].shape[1] == 8, "sets of categories")
            _within(sets, len(state[which]))
    elif re.fullmatch(r"sklearn\.neighbors\._(kd|ball)_tree\.(KD|Ball)Tree(64|32)?", name):
        _check_neighbours(state)


def check_made(made: Any, kind: type) -> None:
    """Refuse an estimator whose parts expect other features than it checks for."""
    features = getattr(made, "n_features_in_", None)
    tree = getattr(made, "tree_", None)
    if tree is not None and kind.__module__.startswith("sklearn.tree."):
        _wanted(tree.n_features == features, "a tree has other features than its model")
    if kind.__module__ in ("sklearn.ensemble._forest", "sklearn.ensemble._gb"):
        for one in np.asarray(getattr(made, "estimators_", []), object).ravel().tolist():
            _wanted(one.n_features_in_ == features, "a tree has other features than its forest")
    for rounds in getattr(made, "_predictors", None) or []:
        for one in rounds:
            inner = one.nodes["is_leaf"] == 0
            _within(one.nodes["feature_idx"][inner].astype(np.int64), int(features or 0))
    vectors, dual = getattr(made, "support_vectors_", None), getattr(made, "_dual_coef_", None)
    if vectors is not None and dual is not None:
        _wanted(dual.shape[1] == len(vectors) == len(made.support_), "support vectors are missing")
        _wanted(vectors.shape[1] == features, "support vectors have other features")
        _wanted(int(np.sum(made._n_support)) == len(vectors), "support vectors are missing")


def _check_neighbours(state: Any) -> None:
    data, index, nodes, bounds, leaf_size, levels, count = state[:7]
    _wanted(data.ndim == 2 and index.shape == (len(data),) and index.dtype == np.intp, "neighbours")
    _within(index, len(data))
    _wanted(0 < levels < 40 and count == 2**levels - 1 == len(nodes) and leaf_size > 0, "nodes of neighbours")
    _wanted(bounds.ndim == 3 and bounds.shape[1:] == (count, data.shape[1]), "bounds of neighbours")
    start, end = nodes["idx_start"], nodes["idx_end"]
    _wanted(bool(((start >= 0) & (start <= end) & (end <= len(data))).all()), "spans of neighbours")
    leaf = np.arange(count) >= count // 2
    _wanted(bool((nodes["is_leaf"][leaf] != 0).all()), "leaves of neighbours")
    weight = state[12] if len(state) > 12 else None
    _wanted(weight is None or weight.shape == (len(data),), "weights of neighbours")


def _walks(nodes: Array, left: Array, right: Array, leaf: Array) -> None:
    """Every walk ends: the children of a node come after it and exist."""
    place = np.arange(len(nodes))[~leaf]
    children = np.stack((left[~leaf], right[~leaf])).astype(np.int64)
    sound = bool(len(nodes)) and bool((children > place).all()) and bool((children < len(nodes)).all())
    _wanted(sound, "a child of a node does not exist or comes before it")


def _within(indices: Array, count: int) -> None:
    _wanted(
        not len(indices) or bool((indices.min() >= 0) and (indices.max() < count)), "an index is too large"
    )


def _wanted(true: Any, otherwise: str) -> None:
    if not true:
        raise ValueError(_WRONG.format(otherwise))
