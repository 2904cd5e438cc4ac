"""The rankers that `learn` chooses from."""

from collections.abc import Mapping

from sklearn.base import clone

from rankloop.rankers import LambdaMART
from rankloop.unbiased.likelihood_ranker import likelihood_ranker

__all__ = ["candidates", "exportable_ones"]


def candidates(*, trees: int = 150, threads: int | None = None) -> dict[str, LambdaMART]:
    """The rankers that `learn` chooses from: trees with linear leaves, and trees with constant leaves.

    >>> list(candidates())
    ['linear leaves', 'plain leaves']
    """
    plain = LambdaMART(
        trees=trees,
        leaves=8,
        min_sum_hessian=1.0,
        l2=5.0,
        params={"min_data_in_leaf": 50},
        threads=threads,
        patience=None,
    )
    lines = likelihood_ranker(trees=trees, threads=threads).set_params(learning_rate=0.06)
    return {"linear leaves": lines, "plain leaves": plain}


def exportable_ones(rankers: Mapping[str, LambdaMART]) -> dict[str, LambdaMART]:
    """Copies of those that every search engine can hold: constant leaves, and missing features count as 0."""
    found = {}
    for name, one in rankers.items():
        params = dict(one.params or {})
        if not params.get("linear_tree"):
            missing = {"use_missing": False} if one.backend == "lightgbm" else {}
            found[name] = clone(one).set_params(params=params | missing)
    if not found:
        raise ValueError(
            f"all rankers have linear leaves ({', '.join(rankers)}), which no search engine can hold; add "
            "one with constant leaves, such as candidates()['plain leaves']"
        )
    return found
