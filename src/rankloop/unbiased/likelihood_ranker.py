"""The trees that learn best from clicks."""

from rankloop.rankers import LambdaMART

__all__ = ["likelihood_ranker"]


def likelihood_ranker(*, trees: int = 150, leaves: int = 8, threads: int | None = None) -> LambdaMART:
    """Few leaves with a linear model in each, on samples of rows and features: clicks are noisy.

    Features are sampled for each split, not for each tree: of two features a tree would see only one, and no
    tree would find that they matter together.

    >>> likelihood_ranker(trees=20).leaves
    8
    """
    lines = {"linear_tree": True, "linear_lambda": 3.0, "min_data_in_leaf": 100}
    parts = {"bagging_fraction": 0.7, "bagging_freq": 1, "feature_fraction_bynode": 0.7}
    return LambdaMART(
        trees=trees,
        leaves=leaves,
        min_sum_hessian=1.0,
        l2=20.0,
        params=lines | parts,
        threads=threads,
        patience=None,
    )
