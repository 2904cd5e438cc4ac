"""The parameters of rankers under the names that other libraries have for them."""

from collections.abc import Iterable

from rankloop._names import unknown

__all__ = ["our_name", "unknown_parameter"]

# What LightGBM, XGBoost, CatBoost and scikit-learn call them.
_THEIRS = {
    "bagging_fraction": ("subsample", "sub_row", "bagging"),
    "categorical": ("categorical_feature", "cat_features", "categorical_features", "enable_categorical"),
    "feature_fraction": ("colsample_bytree", "sub_feature", "rsm", "max_features"),
    "iterations": ("max_iter", "n_iter", "num_iterations", "max_iterations"),
    "l2": ("lambda_l2", "reg_lambda", "l2_leaf_reg", "l2_regularization", "lambda"),
    "learning_rate": ("eta", "shrinkage_rate"),
    "leaves": ("num_leaves", "max_leaves", "max_leaf_nodes", "num_leaf"),
    "loss": ("objective", "loss_function"),
    "max_bins": ("max_bin", "border_count"),
    "metric": ("eval_metric", "metrics"),
    "min_sum_hessian": ("min_sum_hessian_in_leaf", "min_child_weight", "min_hessian"),
    "monotone": ("monotone_constraints", "monotonic_cst", "mc"),
    "interaction": ("interaction_constraints", "interaction_cst"),
    "patience": ("early_stopping_rounds", "early_stopping_round", "n_iter_no_change", "early_stopping"),
    "seed": ("random_state", "random_seed", "seed_value"),
    "threads": ("n_jobs", "num_threads", "nthread", "thread_count", "num_thread"),
    "tolerance": ("tol",),
    "trees": ("n_estimators", "num_boost_round", "num_round", "num_trees", "num_iterations", "iterations"),
    "init": ("init_model", "xgb_model"),
    "params": (
        "min_data_in_leaf",
        "min_child_samples",
        "max_depth",
        "depth",
        "gamma",
        "reg_alpha",
        "lambda_l1",
    ),
}


def our_name(parameter: str) -> str | None:
    """The name here of a parameter that is ours or another library's; None for other words.

    >>> our_name("n_estimators"), our_name("trees"), our_name("valid")
    ('trees', 'trees', None)
    """
    return next((one for one, theirs in _THEIRS.items() if parameter in (one, *theirs)), None)


def unknown_parameter(ranker: str, got: str, known: Iterable[str]) -> ValueError:
    """The error for a parameter that a ranker does not have, with its name here where another library has it.

    >>> str(unknown_parameter("LambdaMART", "n_estimators", ["trees", "leaves"]))
    "unknown parameter of LambdaMART 'n_estimators'; here it is called 'trees'; known: leaves, trees"
    >>> str(unknown_parameter("LambdaMART", "max_depth", ["params"]))[:68]
    "unknown parameter of LambdaMART 'max_depth'; pass it to the backend:"
    """
    names = sorted(known)
    ours = next((one for one, theirs in _THEIRS.items() if got in theirs and one in names), None)
    what = f"parameter of {ranker}"
    if ours is None:
        return unknown(what, got, names)
    hint = f"here it is called {ours!r}"
    if ours == "params":
        hint = f"pass it to the backend: params={{{got!r}: ...}}"
    return ValueError(f"unknown {what} {got!r}; {hint}; known: {', '.join(names)}")
