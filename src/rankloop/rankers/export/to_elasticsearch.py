"""Forests as trained models of Elasticsearch's own learning to rank."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rankloop.rankers.base.ranker import Ranker
from rankloop.rankers.export.exportable import names_of, no_form, plain_trees
from rankloop.rankers.export.model_text import written
from rankloop.rankers.trees.fold import Split, fold

__all__ = ["to_elasticsearch"]


def to_elasticsearch(
    ranker: Ranker | str,
    path: str | Path | None = None,
    *,
    features: Sequence[str] | None = None,
    extractors: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """The body of `PUT _ml/trained_models/ID`: the forest, and a query for each feature (`extractors`).

    `extractors` maps the name of a feature to its query (Query DSL with parameters such as `{{query}}`); a
    document that does not match has no value. Without it the list is empty, to be filled in by hand.
    Elasticsearch compares and adds in float64: every decision and every score is the ranker's, to the order
    of the sum. It takes infinite values for missing.

    >>> import lightgbm, numpy as np
    >>> X = np.arange(80.0)[:, None]
    >>> booster = lightgbm.train({"verbose": -1, "num_leaves": 2}, lightgbm.Dataset(X, X[:, 0] > 39), 1)
    >>> body = json.loads(to_elasticsearch(booster.model_to_string(), features=["bm25"]))
    >>> tree = body["definition"]["trained_model"]["ensemble"]["trained_models"][0]["tree"]
    >>> tree["tree_structure"][0]["threshold"], tree["feature_names"]
    (39.50000000000001, ['bm25'])
    """
    trees = plain_trees(ranker, "Elasticsearch")
    if trees is None:
        raise no_form(ranker, "Elasticsearch", "a LambdaMART: its learning to rank takes only trees")
    names = names_of(ranker, features, trees.n_features, "Elasticsearch")

    def leaf(number: int, value: float) -> list[dict[str, Any]]:
        return [{"node_index": number, "leaf_value": value}]

    def split(at: Split, left: list[Any], right: list[Any]) -> list[Any]:
        node = {
            "node_index": at.number,
            "decision_type": "lte",
            "left_child": left[0]["node_index"],
            "right_child": right[0]["node_index"],
            "split_feature": at.feature,
            "threshold": at.threshold,
            "default_left": at.missing_left,
        }
        return [node, *left, *right]

    plain = {"target_type": "regression", "feature_names": names}
    made = [
        {"tree": {**plain, "tree_structure": sorted(nodes, key=lambda node: node["node_index"])}}
        for nodes in fold(trees, leaf, split)
    ]
    ensemble = {**plain, "aggregate_output": {"weighted_sum": {}}, "trained_models": made}
    body = {
        "inference_config": {"learning_to_rank": {"feature_extractors": _extractors(names, extractors)}},
        "definition": {"trained_model": {"ensemble": ensemble}},
    }
    return written(json.dumps(body), path)


def _extractors(names: list[str], given: Mapping[str, Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    if given is None:
        return []
    if set(given) != set(names):
        lacking, unknown = sorted(set(names) - set(given)), sorted(set(given) - set(names))
        raise ValueError(
            "extractors needs one query for each feature of the ranker; "
            f"without a query: {', '.join(lacking) or 'none'}; not a feature: {', '.join(unknown) or 'none'}"
        )
    return [{"query_extractor": {"feature_name": name, "query": dict(given[name])}} for name in names]
