"""Trees of an XGBoost or CatBoost model, from their JSON."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from rankloop._arrays import Ints
from rankloop.rankers.trees.trees import CATEGORY, LEFT, NAN, Trees

__all__ = ["check_xgboost", "read_json"]

_NO_PARENT = 2**31 - 1
_MOST_CATEGORIES = 1 << 24  # the whole numbers of single precision

_OF_NODES = (
    *("left_children", "right_children", "parents", "split_indices", "split_conditions", "split_type"),
    *("default_left", "base_weights", "loss_changes", "sum_hessian"),
)
Row = tuple[Any, ...]  # feature, threshold, rule, left, right


def read_json(text: str) -> Trees:
    """The trees in `Booster.save_raw("json")` of XGBoost or `save_model(..., format="json")` of CatBoost."""
    try:
        model = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"this model is cut short or damaged ({error}); save it again") from error
    if "learner" in model:
        return _xgboost(model["learner"])
    if "oblivious_trees" in model or "trees" in model:
        return _catboost(model)
    raise ValueError(f"wanted the JSON of an XGBoost or CatBoost model, got one with {', '.join(model)}")


class _Builder:
    """Nodes and leaves of the trees, one after the other."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.value: list[float] = []
        self.nodes: list[int] = []

    def add(self, rows: list[Row], value: list[float]) -> None:
        self.rows.extend(rows)
        self.value.extend(value)
        self.nodes.append(len(rows))

    def trees(self, **rest: Any) -> Trees:
        feature, threshold, rule, left, right = np.array(self.rows, np.float64).reshape(-1, 5).T
        return Trees(
            feature=feature.astype(np.int64),
            threshold=threshold,
            rule=rule.astype(np.int64),
            left=left.astype(np.int64),
            right=right.astype(np.int64),
            value=np.array(self.value, np.float64),
            nodes=np.array(self.nodes, np.int64),
            single=True,
            **rest,
        )


def _xgboost(learner: dict[str, Any]) -> Trees:
    """XGBoost goes left below the threshold, in single precision; the categories it lists go right.

    Categorical nodes swap their children here, so that the listed categories go left.
    """
    booster, about = learner["gradient_booster"], learner["learner_model_param"]
    objective = learner["objective"]["name"]
    if booster["name"] != "gbtree":
        raise ValueError(f"an XGBoost model of kind {booster['name']} cannot be compiled; train with gbtree")
    if not objective.startswith(("rank:", "reg:squarederror")):
        raise ValueError(f"an XGBoost model with objective {objective} is not a ranker; train with rank:ndcg")
    built, sets = _Builder(), list[Ints]()
    for tree in booster["model"]["trees"]:
        listed = dict(zip(tree["categories_nodes"], _listed(tree), strict=True))
        left, right, cut = tree["left_children"], tree["right_children"], tree["split_conditions"]
        inner = [node for node in range(len(left)) if left[node] != -1]
        leaves = [node for node in range(len(left)) if left[node] == -1]
        number = {node: i for i, node in enumerate(inner)} | {node: ~i for i, node in enumerate(leaves)}
        rows = []
        for node in inner:
            if node in listed:
                rule = CATEGORY | (0 if tree["default_left"][node] else LEFT)
                sides = number[right[node]], number[left[node]]
                rows.append((tree["split_indices"][node], float(len(sets)), rule, *sides))
                sets.append(listed[node])
                continue
            below = np.nextafter(np.float32(cut[node]), np.float32(-np.inf))
            rule = NAN | (LEFT if tree["default_left"][node] else 0)
            sides = number[left[node]], number[right[node]]
            rows.append((tree["split_indices"][node], float(below), rule, *sides))
        built.add(rows, [float(np.float32(cut[node])) for node in leaves])
    base = float(np.float32(about["base_score"].strip("[]")))
    return built.trees(n_features=int(about["num_feature"]), bias=base, sets=sets)


def _listed(tree: dict[str, Any]) -> Iterator[Ints]:
    """The categories of each categorical node."""
    for start, size in zip(tree["categories_segments"], tree["categories_sizes"], strict=True):
        found = np.array(tree["categories"][start : start + size], np.int64)
        if len(found) != size or (found < 0).any() or (found >= _MOST_CATEGORIES).any():
            raise ValueError("this XGBoost model is damaged: a category is out of range; save it again")
        yield found


def check_xgboost(text: str) -> str:
    """The JSON of an XGBoost model, as it was understood; XGBoost trusts the children and features in it."""
    try:
        model = json.loads(text)
        learner = model["learner"]
        booster = learner["gradient_booster"]
        sound, features = True, int(learner["learner_model_param"]["num_feature"])
        forest = booster.get("gbtree", booster).get("model", {})
        trees = forest.get("trees", [])
        for tree in trees:
            about = tree["tree_param"]
            nodes = int(about["num_nodes"])
            sound &= int(about["num_feature"]) == features and int(about["size_leaf_vector"]) in (0, 1)
            sound &= nodes > 0 and all(len(tree[name]) == nodes for name in _OF_NODES)
            left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
            inner, parents = np.flatnonzero(left != -1), np.array(tree["parents"])
            children = np.stack((left, right))[:, inner]
            sound &= bool((children > inner).all() and (children < nodes).all())
            sound &= bool((right[left == -1] == -1).all() and parents[0] == _NO_PARENT)
            sound = sound and bool((parents[children] == inner).all()) and 2 * len(inner) + 1 == nodes
            split = np.array(tree["split_indices"])[inner]
            sound &= bool((split >= 0).all() and (split < features).all())
            listed = dict(zip(tree["categories_nodes"], _listed(tree), strict=True))
            by_category = np.flatnonzero(np.array(tree["split_type"]) == 1).tolist()
            sound &= sorted(listed) == by_category and set(tree["split_type"]) <= {0, 1}
        count = int(forest.get("gbtree_model_param", {}).get("num_trees", len(trees)))
        sound &= count == len(trees) == len(forest.get("tree_info", trees))
        sound &= not any(forest.get("tree_info", ()))
        sound &= int(forest.get("gbtree_model_param", {}).get("num_parallel_tree", 1)) == 1
        target = learner["learner_model_param"]
        sound &= int(target.get("num_class", 0)) in (0, 1) and int(target.get("num_target", 1)) == 1
        ends = forest.get("iteration_indptr", [0, count])
        sound &= ends[0] == 0 and ends[-1] == count and ends == sorted(ends)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"this XGBoost model is damaged ({error}); save it again") from None
    if not sound:
        raise ValueError("this XGBoost model is damaged: a child or a feature does not exist; save it again")
    return json.dumps(model)


def _catboost(model: dict[str, Any]) -> Trees:
    """CatBoost goes right above the border, in single precision."""
    scale, bias = model["scale_and_bias"]
    if len(bias) > 1:
        raise ValueError(f"this CatBoost model gives {len(bias)} scores per row; a ranker gives one")
    info = model["features_info"]
    floats = {feature["feature_index"]: feature for feature in info.get("float_features", [])}

    def node(split: dict[str, Any], left: int, right: int) -> Row:
        if split["split_type"] != "FloatFeature":
            raise ValueError(
                "categorical splits of CatBoost cannot be compiled; predict with catboost itself"
            )
        feature = floats[split["float_feature_index"]]
        rule = NAN | (0 if feature["nan_value_treatment"] == "AsTrue" else LEFT)
        return feature["flat_feature_index"], split["border"], rule, left, right

    built = _Builder()
    for tree in model.get("oblivious_trees", []):
        splits = tree["splits"] or []
        depth = len(splits)
        rows = [
            node(splits[level], *(_oblivious_child(level + 1, place | bit << level, depth) for bit in (0, 1)))
            for level in range(depth)
            for place in range(1 << level)
        ]
        built.add(rows, [scale * value for value in tree["leaf_values"]])
    for tree in model.get("trees", []):
        rows, leaves = [], list[float]()
        open_ends = [(tree, -1, 0)]
        while open_ends:
            part, parent, side = open_ends.pop()
            if "split" in part:
                number = len(rows)
                rows.append(node(part["split"], 0, 0))
                open_ends += [(part["right"], number, 4), (part["left"], number, 3)]
            else:
                number = ~len(leaves)
                leaves.append(scale * part["value"])
            if parent >= 0:
                row = list(rows[parent])
                row[side] = number
                rows[parent] = tuple(row)
        built.add(rows, leaves)
    every = [
        feature["flat_feature_index"] for kind in info.values() if isinstance(kind, list) for feature in kind
    ]
    return built.trees(n_features=max(every, default=-1) + 1, bias=float(bias[0]))


def _oblivious_child(level: int, place: int, depth: int) -> int:
    """Levels of a symmetric tree are consecutive; the bits of a place are the decisions so far."""
    return ~place if level == depth else (1 << level) - 1 + place
