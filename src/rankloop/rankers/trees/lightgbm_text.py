"""Symmetric trees in the text of a LightGBM model, which scoring, explaining and exporting read."""

from collections.abc import Sequence

from rankloop.rankers.trees.symmetric_tree import SymmetricTree

__all__ = ["lightgbm_text", "tree_texts"]

_NODES = (
    *("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child"),
    *("internal_value", "internal_weight", "internal_count"),
)
_MISSING, _LEFT = 8, 2  # bits of a decision: nan is a missing value, and goes left


def lightgbm_text(trees: Sequence[str], n_features: int) -> str:
    """The text of a model with these trees."""
    numbered = [f"Tree={number}\n{tree}\n\n" for number, tree in enumerate(trees)]
    head = {
        "version": "v4",
        "num_class": "1",
        "num_tree_per_iteration": "1",
        "label_index": "0",
        "max_feature_idx": str(n_features - 1),
        "feature_names": " ".join(f"Column_{feature}" for feature in range(n_features)),
        "feature_infos": " ".join(["[-inf:inf]"] * n_features),
        "tree_sizes": " ".join(str(len(tree.encode())) for tree in numbered),
    }
    ends = "end of trees\n\nfeature_importances:\n\nparameters:\nend of parameters\n"
    return f"tree\n{_lines(head)}\n{''.join(numbered)}{ends}"


def tree_texts(trees: Sequence[SymmetricTree] | str, rate: float = 1.0) -> list[str]:
    """The trees one by one, without their numbers; of a forest, or of the text of a model."""
    if isinstance(trees, str):
        parts = trees.split("\nend of trees")[0].split("\nTree=")[1:]
        return [part.split("\n", 1)[1].rstrip("\n") + "\n" for part in parts]
    return [_text(tree, rate) for tree in trees]


def _text(tree: SymmetricTree, rate: float) -> str:
    """A tree without the nodes that divide no documents: such a node is its other side."""
    nodes: dict[str, list[str]] = {name: [] for name in _NODES}
    leaves: list[int] = []

    def add(depth: int, first: int) -> int:
        """The subtree of the leaves from `first` on: its number, or ~ that of a leaf."""
        width = len(tree.value) >> depth
        if width == 1:
            leaves.append(first)
            return ~(len(leaves) - 1)
        half, here = first + width // 2, slice(first, first + width)
        if not tree.count[first:half].any():
            return add(depth + 1, half)
        if not tree.count[half : first + width].any():
            return add(depth + 1, first)
        split, weight = tree.levels[depth], float(tree.weight[here].sum())
        mean = float(tree.value[here] @ tree.weight[here]) / weight if weight > 0 else 0.0
        decision = _MISSING * split.missing + _LEFT * split.left
        node = len(nodes["threshold"])
        made = (split.feature, split.gain, split.threshold, decision, 0, 0, mean, weight)
        for name, value in zip(_NODES, (*made, int(tree.count[here].sum())), strict=True):
            nodes[name].append(repr(value))
        nodes["left_child"][node] = str(add(depth + 1, first))  # children come after their parent
        nodes["right_child"][node] = str(add(depth + 1, half))
        return node

    add(0, 0)
    of_leaves = {"leaf_value": tree.value, "leaf_weight": tree.weight}
    fields = {"num_leaves": str(len(leaves)), "num_cat": "0"}
    fields |= {name: " ".join(found) for name, found in nodes.items()}
    fields |= {
        name: " ".join(repr(float(found[leaf])) for leaf in leaves) for name, found in of_leaves.items()
    }
    fields["leaf_count"] = " ".join(str(int(tree.count[leaf])) for leaf in leaves)
    return _lines(fields | {"is_linear": "0", "shrinkage": f"{rate:g}"})


def _lines(fields: dict[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in fields.items())
