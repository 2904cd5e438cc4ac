"""XGBoost grows the trees."""

import json
from typing import Any, ClassVar, Protocol

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop._extras import require
from rankloop._names import one_of, unknown
from rankloop.data import RankingDataset
from rankloop.rankers.base.ranker import Member
from rankloop.rankers.trees.boosting import Job, Plan
from rankloop.rankers.trees.forest import Forest
from rankloop.rankers.trees.json_trees import check_xgboost

__all__ = ["XGBoostForest"]

_OBJECTIVES = ("rank:map", "rank:ndcg", "rank:pairwise")
_GRADES = 31  # the largest label of rank:ndcg with exponential gain
_SHORT = {
    "alpha": "reg_alpha",
    "eta": "learning_rate",
    "gamma": "min_split_loss",
    "lambda": "reg_lambda",
    "n_jobs": "nthread",
    "random_state": "seed",
}


class XGBoostForest:
    """An XGBoost model as its JSON; its scores have single precision."""

    library: ClassVar[str] = "xgboost"
    compiled: ClassVar[None] = None  # it scores by itself

    def __init__(self, text: str) -> None:
        self.text = text
        self.booster = require("xgboost", "trees").Booster()
        self.booster.load_model(bytearray(text.encode()))

    @property
    def trees(self) -> int:
        return int(self.booster.num_boosted_rounds())

    @classmethod
    def grow(cls, job: Job, init: "XGBoostForest | None") -> "XGBoostForest":
        plan, watch = job.plan, job.watch
        xgboost = require("xgboost", "trees")
        if plan.objective is not None:
            _check_own_objective(plan, job.train)
        start = None if init is None else bytearray(init.text.encode())
        try:
            rounds = _rounds(xgboost, job)
            booster = xgboost.Booster(_settings(plan, job.train.n_features), rounds.matrices, start)
            before = booster.num_boosted_rounds()
            watch.whole = plan.params.get("booster") == "dart"
            _refuse_unknown(booster, plan)
            rounds.begin(booster)
            for number in range(before, before + plan.trees):
                rounds.boost(booster, number)
                if watch(rounds.seen(booster)):
                    break
        except xgboost.core.XGBoostError as error:
            raise ValueError(f"XGBoost failed: {str(error).splitlines()[0]}") from error
        kept = booster[: before + watch.best_round]
        return cls(kept.save_raw("json").decode())

    def scores(self, X: Singles, threads: int | None) -> Floats:
        xgboost = require("xgboost", "trees")
        self.booster.set_param({"nthread": threads or 0})
        types = self.booster.feature_types
        data = xgboost.DMatrix(X, nthread=threads, feature_types=types, enable_categorical=types is not None)
        return np.asarray(self.booster.predict(data, output_margin=True), np.float64)

    def written(self) -> Member:
        return self.text

    @classmethod
    def read(cls, written: Member, compiled: Forest | None = None) -> "XGBoostForest":
        check_xgboost(str(written))
        return cls(str(written))


class _Rounds(Protocol):
    """Where the data lie while the trees grow."""

    matrices: list[Any]

    def begin(self, booster: Any) -> None: ...

    def boost(self, booster: Any, number: int) -> None: ...

    def seen(self, booster: Any) -> Any: ...


def _rounds(xgboost: Any, job: Job) -> _Rounds:
    if job.plan.device == "cpu":
        return _HostRounds(xgboost, job)
    require("torch", "neural")
    from rankloop.rankers.trees.xgboost_cuda import DeviceRounds

    return DeviceRounds(xgboost, job)


class _HostRounds:
    """The data in XGBoost's matrices on the CPU."""

    def __init__(self, xgboost: Any, job: Job) -> None:
        self.data = _matrix(xgboost, job.plan, job.train, None)
        self.valid = None if job.valid is None else _matrix(xgboost, job.plan, job.valid, self.data)
        self.matrices = [self.data] if self.valid is None else [self.data, self.valid]
        self.derivatives = job.derivatives

    def begin(self, booster: Any) -> None:
        """Nothing to prepare: XGBoost keeps the scores of its matrices."""

    def boost(self, booster: Any, number: int) -> None:
        if self.derivatives is None:
            booster.update(self.data, number)
            return
        now = booster.predict(self.data, output_margin=True, training=True)
        gradient, hessian = self.derivatives(now.astype(np.float64))
        booster.boost(self.data, number, grad=gradient, hess=hessian)

    def seen(self, booster: Any) -> Floats | None:
        if self.valid is None:
            return None
        return np.asarray(booster.predict(self.valid, output_margin=True), np.float64)


def _settings(plan: Plan, n_features: int) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "objective": plan.objective or "reg:squarederror",
        "base_score": 0.0,
        "disable_default_eval_metric": True,
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": plan.leaves,
        "max_depth": 0,
        "learning_rate": plan.learning_rate,
        "min_child_weight": 1e-3 if plan.min_sum_hessian is None else plan.min_sum_hessian,
        "reg_lambda": plan.l2,
        "max_bin": plan.max_bins,
        "subsample": 1.0 if plan.objective is None else plan.bagging_fraction,
        "colsample_bytree": plan.feature_fraction,
        "seed": plan.seed,
        "device": plan.device,
        "nthread": plan.threads or 0,
        "verbosity": 0,
    }
    if plan.monotone:
        signs = [str(plan.monotone.get(i, 0)) for i in range(n_features)]
        settings["monotone_constraints"] = f"({','.join(signs)})"
    if plan.interaction:
        settings["interaction_constraints"] = json.dumps([list(group) for group in plan.interaction])
    return settings | dict(plan.params)


def _refuse_unknown(booster: Any, plan: Plan) -> None:
    """XGBoost silently ignores unknown parameters; its configuration lists those it has."""
    known: set[str] = set()

    def collect(part: Any) -> None:
        if isinstance(part, dict):
            known.update(part)
            for inner in part.values():
                collect(inner)

    collect(json.loads(booster.save_config()))
    for name in plan.params:
        if name not in known and _SHORT.get(name) not in known:
            raise unknown("parameter of XGBoost", name, known)


def _matrix(xgboost: Any, plan: Plan, data: RankingDataset, reference: Any) -> Any:
    kinds = None
    if plan.categorical:
        kinds = ["c" if i in set(plan.categorical) else "q" for i in range(data.n_features)]
    own = plan.objective is not None and reference is None
    return xgboost.QuantileDMatrix(
        data.X,
        data.y,
        ref=reference,
        group=data.lengths if own else None,
        weight=data.query_weight if own else None,
        max_bin=plan.params.get("max_bin", plan.max_bins),
        feature_types=kinds,
        enable_categorical=kinds is not None,
        nthread=plan.threads,
    )


def _check_own_objective(plan: Plan, train: RankingDataset) -> None:
    """Refuse data that XGBoost's own objectives cannot take or would ignore."""
    one_of("objective of XGBoost", str(plan.objective), _OBJECTIVES)
    if plan.objective == "rank:map" and not np.isin(train.y, (0, 1)).all():
        raise ValueError(
            f"XGBoost's own rank:map takes labels 0 and 1, got {train.y.max():g}; "
            "take a loss of rankloop, such as loss='lambdarank(metric=map)'"
        )
    exponential = plan.params.get("ndcg_exp_gain", True) not in (False, 0, "false", "0")
    if plan.objective == "rank:ndcg" and exponential and train.y.max() > _GRADES:
        raise ValueError(
            f"XGBoost's own rank:ndcg takes labels up to {_GRADES}, got {train.y.max():g}; give "
            "params={'ndcg_exp_gain': False} or take a loss of rankloop, such as LambdaRank(gain='linear')"
        )
    if train.position is not None:
        raise ValueError(
            f"{plan.objective} of xgboost would ignore the position of this data set; "
            "leave it out with data.replace(position=None)"
        )
