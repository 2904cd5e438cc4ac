"""Forests from the text of a model."""

from rankloop.rankers.trees.forest import Forest
from rankloop.rankers.trees.packing import pack
from rankloop.rankers.trees.trees import Trees

__all__ = ["compile_forest", "read_trees"]


def compile_forest(model: str) -> Forest:
    """The forest in the text of a model: LightGBM's `model_to_string()`, XGBoost's or CatBoost's JSON.

    Its scores equal the raw scores of LightGBM and CatBoost to the last bit. XGBoost adds in single precision
    and this forest in double precision: those scores agree to single precision.

    >>> import lightgbm
    >>> import numpy as np
    >>> X, y = np.random.default_rng(0).normal(size=(100, 3)), np.arange(100) % 3
    >>> booster = lightgbm.train({"verbose": -1}, lightgbm.Dataset(X, y), 10)
    >>> forest = compile_forest(booster.model_to_string())
    >>> bool((forest.score(X) == booster.predict(X)).all())
    True
    """
    trees = read_trees(model)
    if trees.lines is not None:
        raise ValueError("trees with linear leaves cannot be compiled; train with linear_tree=False")
    return Forest.from_arrays(pack(trees))


def read_trees(model: str) -> Trees:
    """The trees in the text of a model of any backend."""
    try:
        if model.startswith("tree\n"):
            from rankloop.rankers.trees.lightgbm_trees import read_lightgbm

            return read_lightgbm(model)
        if model.startswith("{"):
            from rankloop.rankers.trees.json_trees import read_json

            return read_json(model)
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"this model is damaged ({error!r}); save it again") from None
    raise ValueError(
        "wanted the text of a model (LightGBM's model_to_string(), or XGBoost's or CatBoost's JSON), "
        f"got {model[:40]!r}"
    )
