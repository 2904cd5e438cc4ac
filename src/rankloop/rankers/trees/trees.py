"""The trees of a backend, read from its own file format, before they are packed."""

from dataclasses import dataclass, field

from rankloop._arrays import Floats, Ints

__all__ = ["CATEGORY", "LEFT", "NAN", "ZERO", "Lines", "Trees"]

# The rule of a node, as bits: whether nan or zero is missing, whether missing goes left, whether it tests a
# category. Without NAN, nan counts as 0, or goes right at a categorical node.
NAN, ZERO, LEFT, CATEGORY = 1, 2, 4, 8


@dataclass(frozen=True)
class Lines:
    """The linear functions of leaves: `constant` plus terms, coefficient times feature.

    Where one of those features is missing, the leaf has its plain `value`.
    """

    constant: Floats
    terms: Ints  # number of terms of each leaf
    feature: Ints
    coefficient: Floats


@dataclass(frozen=True)
class Trees:
    """All trees, node after node: a value goes left when it is at most the threshold.

    Where `rule` has CATEGORY, threshold is an index into `sets`, and the categories of that set go left; nan
    goes right, or left with LEFT. A child is a node of the same tree or, as ~leaf, one of its
    leaves; children come after their parent.
    """

    feature: Ints
    threshold: Floats
    rule: Ints
    left: Ints
    right: Ints
    value: Floats
    nodes: Ints  # number per tree; a tree has one leaf more
    n_features: int
    sets: list[Ints] = field(default_factory=list)
    zero: float = 0.0  # absolute values up to this are zero
    divisor: float = 1.0  # of the sum over the trees
    bias: float = 0.0  # added at the end
    single: bool = False  # whether the backend compares in float32
    lines: Lines | None = None  # linear functions in the leaves
