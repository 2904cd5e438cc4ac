"""LightGBM, XGBoost and CatBoost as they are, each tuned by random settings within a time.

Nothing of rankloop's own training is used. The first settings are the library's defaults under each
objective; the library's own NDCG@10 on the validation queries stops a fit early, and ours chooses among fits.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rankloop.data import RankingDataset
from rankloop.metrics import metric

__all__ = ["LIBRARIES", "PATIENCE", "TREES", "tuned"]

METRIC = metric("ndcg@10")
TREES, PATIENCE = 1500, 50
SEARCH = 0.85  # of the time; the rest is for the fit on all queries
Model = tuple[Callable[[Any], Any], int]  # how to score rows, and the number of trees
Stop = Callable[[], bool]


def tuned(
    library: str, train: RankingDataset, valid: RankingDataset, everything: RankingDataset,
    seconds: float, now: Callable[[], float], seed: int,
) -> tuple[Callable[[Any], Any], int]:  # fmt: skip
    """The best setting on the validation queries, fitted again on all queries; and how many were tried."""
    objectives, draw, fit = LIBRARIES[library]
    end = now() + SEARCH * seconds
    best: tuple[float, dict[str, Any], int] | None = None
    tried = 0
    for params in _settings(objectives, draw, seed):
        if best is not None and now() > end:
            break
        scores, trees = fit(params, train, valid, TREES, lambda: now() > end)
        value = float(np.nanmean(METRIC(scores(valid.X), valid.y, valid.offsets)))
        tried += 1
        if best is None or value > best[0]:
            best = value, params, trees
    assert best is not None
    _, params, trees = best
    return fit(params, everything, None, trees, lambda: False)[0], tried


def _settings(objectives: tuple[str, ...], draw: Any, seed: int) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng([seed, 1])
    for objective in objectives:
        yield {"objective": objective}
    while True:
        yield {"objective": str(rng.choice(objectives)), **draw(rng)}


def _lightgbm_setting(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "num_leaves": int(rng.choice([7, 15, 31, 63, 127])),
        "learning_rate": float(rng.choice([0.02, 0.05, 0.1])),
        "min_data_in_leaf": int(rng.choice([5, 20, 60])),
        "feature_fraction": float(rng.choice([0.3, 0.5, 0.7, 1.0])),
        "bagging_fraction": float(rng.choice([0.6, 0.8, 1.0])),
        "lambda_l2": float(rng.choice([0.0, 1.0, 10.0])),
    }


def _lightgbm(
    params: dict[str, Any], train: RankingDataset, valid: RankingDataset | None, trees: int, stop: Stop
) -> Model:
    import lightgbm

    settings = {"bagging_freq": 1, "num_threads": 1, "seed": 0, "verbosity": -1, **params}
    settings |= {"metric": "ndcg", "eval_at": [10]}
    rows = lightgbm.Dataset(train.X, train.y, group=train.lengths)

    def end(state: Any) -> None:
        if stop():
            raise lightgbm.callback.EarlyStopException(state.iteration, state.evaluation_result_list)

    end.order = 40  # type: ignore[attr-defined] # after the values of this round are recorded
    if valid is None:
        booster = lightgbm.train(settings, rows, trees)
        return booster.predict, trees
    against = lightgbm.Dataset(valid.X, valid.y, group=valid.lengths, reference=rows)
    curve: dict[str, Any] = {}
    watch = [lightgbm.early_stopping(PATIENCE, verbose=False), lightgbm.record_evaluation(curve), end]
    booster = lightgbm.train(settings, rows, trees, valid_sets=[against], callbacks=watch)
    best = int(np.argmax(curve["valid_0"]["ndcg@10"])) + 1
    return lambda X: booster.predict(X, num_iteration=best), best


def _xgboost_setting(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "max_depth": int(rng.choice([3, 4, 6, 8])),
        "learning_rate": float(rng.choice([0.02, 0.05, 0.1, 0.3])),
        "min_child_weight": float(rng.choice([0.1, 1.0, 10.0])),
        "colsample_bytree": float(rng.choice([0.3, 0.5, 0.7, 1.0])),
        "subsample": float(rng.choice([0.6, 0.8, 1.0])),
        "lambda": float(rng.choice([0.0, 1.0, 10.0])),
    }


def _xgboost(
    params: dict[str, Any], train: RankingDataset, valid: RankingDataset | None, trees: int, stop: Stop
) -> Model:
    import xgboost

    class End(xgboost.callback.TrainingCallback):  # type: ignore[misc] # the library has no types
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            return stop()

    settings = {"tree_method": "hist", "nthread": 1, "seed": 0, "eval_metric": "ndcg@10", **params}
    rows = xgboost.DMatrix(train.X, train.y, group=train.lengths)
    if valid is None:
        booster = xgboost.train(settings, rows, trees)
        return lambda X: booster.predict(xgboost.DMatrix(X)), trees
    against = xgboost.DMatrix(valid.X, valid.y, group=valid.lengths)
    curve: dict[str, Any] = {}
    booster = xgboost.train(
        settings, rows, trees, evals=[(against, "valid")], evals_result=curve, verbose_eval=False,
        early_stopping_rounds=PATIENCE, callbacks=[End()],
    )  # fmt: skip
    best = int(np.argmax(curve["valid"]["ndcg@10"])) + 1
    return lambda X: booster.predict(xgboost.DMatrix(X), iteration_range=(0, best)), best


def _catboost_setting(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "depth": int(rng.choice([4, 6, 8])),
        "learning_rate": float(rng.choice([0.03, 0.06, 0.12])),
        "l2_leaf_reg": float(rng.choice([1.0, 3.0, 10.0])),
        "rsm": float(rng.choice([0.3, 0.6, 1.0])),
        "random_strength": float(rng.choice([0.5, 1.0, 3.0])),
    }


def _catboost(
    params: dict[str, Any], train: RankingDataset, valid: RankingDataset | None, trees: int, stop: Stop
) -> Model:
    import catboost

    class End:
        def after_iteration(self, info: Any) -> bool:
            return not stop()

    settings = {"loss_function" if name == "objective" else name: value for name, value in params.items()}
    settings |= {"iterations": trees, "thread_count": 1, "random_seed": 0, "verbose": False}
    settings |= {"allow_writing_files": False, "eval_metric": "NDCG:top=10;type=Exp"}
    model = catboost.CatBoost(settings)
    rows = catboost.Pool(train.X, train.y, group_id=train.row_query)
    if valid is None:
        model.fit(rows)
        return model.predict, trees
    against = catboost.Pool(valid.X, valid.y, group_id=valid.row_query)
    model.fit(rows, eval_set=against, early_stopping_rounds=PATIENCE, use_best_model=True, callbacks=[End()])
    return model.predict, model.tree_count_


LIBRARIES: dict[str, tuple[tuple[str, ...], Any, Any]] = {
    "lightgbm": (("lambdarank", "regression", "rank_xendcg"), _lightgbm_setting, _lightgbm),
    "xgboost": (("rank:ndcg", "reg:squarederror", "rank:pairwise"), _xgboost_setting, _xgboost),
    "catboost": (("QueryRMSE", "RMSE", "YetiRank"), _catboost_setting, _catboost),
}
