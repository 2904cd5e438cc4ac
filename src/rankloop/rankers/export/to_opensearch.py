"""Rankers as models of the learning-to-rank plugin of OpenSearch, and of o19s for Elasticsearch."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._names import one_of
from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.ranker import Ranker
from rankloop.rankers.export.exportable import check_complete_sum, in_single, names_of, no_form, plain_trees
from rankloop.rankers.export.model_text import written
from rankloop.rankers.export.to_ranklib import to_ranklib
from rankloop.rankers.trees.decisions import below
from rankloop.rankers.trees.fold import Split, fold
from rankloop.rankers.trees.trees import Trees

__all__ = ["to_opensearch"]

_DEEPEST = 490  # its JSON parser takes 1,000 levels, and a node is two


def to_opensearch(
    ranker: Ranker | str,
    path: str | Path | None = None,
    *,
    name: str = "rankloop",
    features: Sequence[str] | None = None,
    form: str = "xgboost",
    complete: bool = False,
) -> str:
    """The body of `POST _ltr/_featureset/SET/_createmodel`; `features` are the names in the feature set.

    Trees become `model/xgboost+json`, or `model/ranklib` with `form="ranklib"`; there the order of the set
    must be that of the columns. The plugin goes left at `threshold > value` in float32 (thresholds are
    written so that every decision is the ranker's) and adds in float32. A missing feature takes the side
    that the tree says; releases before 3.8 ignore it and go right. A weighted sum becomes `model/linear` with
    `feature_normalizers`, without its constant; there missing is 0, so it is refused unless `complete` says
    that no feature is ever missing.

    >>> from rankloop.rankers import FeatureSum
    >>> print(to_opensearch(FeatureSum({"bm25": 2.0}, features=["bm25"]), name="m1"))
    {"model": {"name": "m1", "model": {"type": "model/linear", "definition": "{\\"bm25\\": 2.0}"}}}
    """
    one_of("form", form, ("ranklib", "xgboost"))
    trees = plain_trees(ranker, "OpenSearch", deepest=_DEEPEST)
    made: dict[str, Any]
    if trees is not None and form == "ranklib":
        made = {"type": "model/ranklib", "definition": to_ranklib(ranker, complete=complete)}
    elif trees is not None:
        names = names_of(ranker, features, trees.n_features, "OpenSearch")
        made = {"type": "model/xgboost+json", "definition": _definition(trees, names)}
    elif isinstance(ranker, LinearScores):
        ranker._check_fitted()
        check_complete_sum(ranker, "OpenSearch", complete)
        made = _linear(ranker, names_of(ranker, features, ranker.n_features_in_, "OpenSearch"))
    else:
        raise no_form(ranker, "OpenSearch", "a LambdaMART or a linear ranker, or serve this one beside it")
    return written(json.dumps({"model": {"name": name, "model": made}}), path)


def _definition(trees: Trees, names: list[str]) -> str:
    cut = in_single(np.nextafter(below(trees.threshold), np.float32(np.inf)), "a threshold")

    def leaf(number: int, value: float) -> tuple[int, str]:
        (single,) = in_single(np.array([value]), "the value of a leaf")
        return number, json.dumps({"nodeid": number, "leaf": single})

    def split(at: Split, left: tuple[int, str], right: tuple[int, str]) -> tuple[int, str]:
        head = {
            "nodeid": at.number,
            "depth": at.depth,
            "split": names[at.feature],
            "split_condition": cut[at.node],
            "yes": left[0],
            "no": right[0],
            "missing": left[0] if at.missing_left else right[0],
        }
        return at.number, f'{json.dumps(head)[:-1]}, "children": [{left[1]}, {right[1]}]}}'

    return f"[{', '.join(tree for _, tree in fold(trees, leaf, split))}]"


def _linear(ranker: LinearScores, names: list[str]) -> dict[str, Any]:
    coef = in_single(ranker.coef_, "a weight")
    mean, scale = in_single(ranker.mean_, "a mean"), in_single(ranker.scale_, "a scale")
    normalizers = {
        name: {"standard": {"mean": mean[i], "standard_deviation": scale[i]}}
        for i, name in enumerate(names)
        if (mean[i], scale[i]) != (0.0, 1.0)
    }
    made: dict[str, Any] = {
        "type": "model/linear",
        "definition": json.dumps(dict(zip(names, coef, strict=True))),
    }
    return made | ({"feature_normalizers": normalizers} if normalizers else {})
