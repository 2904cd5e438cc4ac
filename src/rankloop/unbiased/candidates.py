"""The rankers that `learn` chooses from."""

from rankloop.rankers import LambdaMART
from rankloop.unbiased.likelihood_ranker import likelihood_ranker

__all__ = ["candidates"]


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
