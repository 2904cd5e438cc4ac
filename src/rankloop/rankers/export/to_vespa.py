"""Forests as the LightGBM JSON that Vespa reads."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rankloop.rankers.base.ranker import Ranker
from rankloop.rankers.export.exportable import names_of, no_form, plain_trees
from rankloop.rankers.export.model_text import written
from rankloop.rankers.trees.fold import Split, fold

__all__ = ["to_vespa"]

_DEEPEST = 990  # its JSON parser takes 1,000 levels


def to_vespa(
    ranker: Ranker | str, path: str | Path | None = None, *, features: Sequence[str] | None = None
) -> str:
    """A file for `models/` of an application, used as `lightgbm("m1.json")` in a rank profile.

    `features` are rank features such as `bm25(title)`, or functions of the profile. Vespa computes in
    float64 and goes left at `value < threshold`, so each threshold is written as the next number above it:
    every decision is the ranker's, also for missing values. Weighted sums and networks go to Vespa as ONNX
    (`to_onnx`).

    >>> import lightgbm, numpy as np
    >>> X = np.arange(80.0)[:, None]
    >>> booster = lightgbm.train({"verbose": -1, "num_leaves": 2}, lightgbm.Dataset(X, X[:, 0] > 39), 1)
    >>> json.loads(to_vespa(booster.model_to_string(), features=["bm25(title)"]))["feature_names"]
    ['bm25(title)']
    """
    trees = plain_trees(ranker, "Vespa", deepest=_DEEPEST)
    if trees is None:
        raise no_form(ranker, "Vespa", "it with to_onnx, which Vespa reads too")
    names = names_of(ranker, features, trees.n_features, "Vespa")
    above = np.nextafter(trees.threshold, np.inf).tolist()
    rules = {"missing_type": "NaN", "decision_type": "<="}

    def leaf(number: int, value: float) -> str:
        return json.dumps({"leaf_index": number, "leaf_value": value})

    def split(at: Split, left: str, right: str) -> str:
        head = {
            "split_index": at.number,
            "split_feature": at.feature,
            "threshold": above[at.node],
            "default_left": at.missing_left,
            **rules,
        }
        return f'{json.dumps(head)[:-1]}, "left_child": {left}, "right_child": {right}}}'

    sizes = [*(trees.nodes + 1).tolist(), 1]
    made = [
        f'{{"tree_index": {i}, "num_leaves": {size}, "num_cat": 0, "shrinkage": 1, "tree_structure": {tree}}}'
        for i, (tree, size) in enumerate(zip(fold(trees, leaf, split), sizes, strict=False))
    ]
    about = {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": trees.n_features - 1,
        "objective": "lambdarank",
        "average_output": False,
        "feature_names": names,
        "feature_infos": {},
        "pandas_categorical": [],
    }
    return written(f'{json.dumps(about)[:-1]}, "tree_info": [{", ".join(made)}]}}', path)
