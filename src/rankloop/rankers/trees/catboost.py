"""CatBoost grows the trees."""

import math
import os
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rankloop._arrays import Array, Floats, Singles
from rankloop._extras import require
from rankloop.data import RankingDataset
from rankloop.rankers.base.ranker import Member
from rankloop.rankers.trees.boosting import Job, Plan
from rankloop.rankers.trees.catboost_json import CheckedModel, check_catboost
from rankloop.rankers.trees.catboost_relay import Relay, RelayMetric, RelayObjective
from rankloop.rankers.trees.forest import Forest

__all__ = ["CatBoostForest"]

_ROWS = 1 << 24  # row numbers are float32 targets in CatBoost
_DEEPEST = 16


class CatBoostForest:
    """A CatBoost model as its JSON, which can be checked; its binary form, made up, crashes CatBoost."""

    library: ClassVar[str] = "catboost"
    compiled: ClassVar[None] = None  # it scores by itself

    def __init__(self, text: str) -> None:
        checked = check_catboost(text)
        self.text, self.model = checked.text, _loaded(checked)

    @property
    def trees(self) -> int:
        return int(self.model.tree_count_)

    @classmethod
    def grow(cls, job: Job, init: "CatBoostForest | None") -> "CatBoostForest":
        plan, train, valid, derivatives, watch = job
        catboost = require("catboost", "trees")
        _refuse(plan, train, valid)
        relay = Relay(derivatives, watch, valid is not None)
        settings = _settings(plan) | {"eval_metric": RelayMetric(relay)}
        if derivatives is not None:
            start = np.zeros(train.n_documents) if init is None else init.scores(train.X, plan.threads)
            relay.update(start)
            settings |= {
                "loss_function": RelayObjective(relay),
                "has_time": True,
                "boosting_type": "Plain",
                "leaf_estimation_method": "Newton",
                "leaf_estimation_iterations": 1,
                "boost_from_average": False,
            }
        model = catboost.CatBoost(settings | dict(plan.params))
        try:
            with warnings.catch_warnings():  # it warns that it cannot compile our callbacks
                warnings.filterwarnings("ignore", "(Can't optim|Failed to optim)", UserWarning)
                model.fit(
                    _pool(catboost, plan, train, rows=derivatives is not None),
                    eval_set=None if valid is None else _pool(catboost, plan, valid, rows=False),
                    use_best_model=False,
                    init_model=None if init is None else init.model,
                    callbacks=[relay],
                )
        except catboost.CatBoostError as error:
            if relay.failed is not None:
                raise relay.failed from None
            raise ValueError(f"CatBoost failed: {_sentence(error)}") from error
        if relay.failed is not None:
            raise relay.failed
        before = 0 if init is None else init.trees
        if before + watch.best_round < model.tree_count_:
            model.shrink(before + watch.best_round)
        return cls(_written(model))

    def scores(self, X: Singles, threads: int | None) -> Floats:
        columns = self.model.get_cat_feature_indices()
        rows = _with_codes(X, columns) if columns else X
        return np.asarray(self.model.predict(rows, thread_count=_threads(threads)), np.float64)

    def written(self) -> Member:
        return self.text

    @classmethod
    def read(cls, written: Member, compiled: Forest | None = None) -> "CatBoostForest":
        if not isinstance(written, str):
            raise ValueError(
                "the forest of this model is in CatBoost's binary form, as older versions saved it, which "
                "cannot be checked; train the ranker again and save it"
            )
        return cls(written)


def _settings(plan: Plan) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "loss_function": plan.objective,
        "iterations": plan.trees,
        "learning_rate": plan.learning_rate,
        "l2_leaf_reg": plan.l2,
        "border_count": plan.max_bins - 1,
        "random_seed": plan.seed,
        "random_strength": 0,
        "thread_count": _threads(plan.threads),
        "rsm": plan.feature_fraction,
        "bootstrap_type": "No",
        "depth": min(max(round(math.log2(plan.leaves)), 1), _DEEPEST),
        "allow_writing_files": False,
        "verbose": False,
    }
    if plan.bagging_fraction < 1 and plan.objective is not None:
        settings |= {"bootstrap_type": "Bernoulli", "subsample": plan.bagging_fraction}
    if plan.monotone:
        settings["monotone_constraints"] = dict(plan.monotone)
    return settings


def _pool(catboost: Any, plan: Plan, data: RankingDataset, *, rows: bool) -> Any:
    weight = None if data.query_weight is None else data.query_weight[data.row_query]
    return catboost.Pool(
        _with_codes(data.X, plan.categorical) if plan.categorical else np.ascontiguousarray(data.X),
        np.arange(data.n_documents) if rows else data.y,
        cat_features=list(plan.categorical) or None,
        group_id=data.row_query,
        # Our derivatives include the weights; CatBoost still divides by their sum when it compares splits.
        **{"weight" if plan.objective is None else "group_weight": weight},
        thread_count=_threads(plan.threads),
    )


def _with_codes(X: Singles, columns: Any) -> Array:
    """Categories as CatBoost takes them: text in an array of objects."""
    table = X.astype(object)
    for column in columns:
        codes = X[:, column]
        table[:, column] = np.where(np.isnan(codes), "nan", np.char.mod("%g", codes))
    return table


def _refuse(plan: Plan, train: RankingDataset, valid: RankingDataset | None) -> None:
    """Refuse what CatBoost has no counterpart for."""
    if plan.min_sum_hessian is not None:
        raise ValueError(
            "CatBoost has no min_sum_hessian; leave it out and use l2 or params={'min_data_in_leaf': ...}"
        )
    if valid is not None and plan.params.get("grow_policy", "SymmetricTree") != "SymmetricTree":
        raise ValueError(
            "CatBoost can cut a forest back to its best round only when its trees are symmetric; leave "
            "grow_policy out, or fit without a validation set"
        )
    if plan.interaction:
        raise ValueError(
            "CatBoost has no interaction constraints; leave interaction out or change the backend"
        )
    if train.position is not None:
        raise ValueError(
            "catboost would ignore the position of this data set; leave it out with "
            "data.replace(position=None)"
        )
    if plan.objective is None and train.n_documents > _ROWS:
        raise ValueError(
            f"CatBoost under a loss of rankloop takes up to {_ROWS:,} documents, got {train.n_documents:,}; "
            "take backend='lightgbm', or CatBoost's own objective, such as loss='backend:YetiRank'"
        )


def _sentence(error: Exception) -> str:
    """CatBoost's message without its source location."""
    return re.sub(r"^\S+:\d+: ", "", str(error).splitlines()[0])


def _threads(threads: int | None) -> int:
    """CatBoost itself ignores OMP_NUM_THREADS."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return threads or (int(given) if given.isdigit() and int(given) > 0 else -1)


def _written(model: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "forest.json"
        model.save_model(str(file), format="json")
        return file.read_text()


def _loaded(checked: CheckedModel) -> Any:
    """The model of a JSON that was checked; its doubles are set apart, before the first score."""
    catboost = require("catboost", "trees")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "forest.json"
        file.write_text(checked.text)
        try:
            model = catboost.CatBoost().load_model(str(file), format="json")
            model.set_leaf_values(checked.leaves)
            model.set_scale_and_bias(checked.scale, checked.bias)
        except catboost.CatBoostError as error:
            raise ValueError(
                f"the forest of this model is damaged ({_sentence(error)}); save it again"
            ) from error
    return model
