"""LightGBM grows the trees."""

import re
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop._names import one_of, unknown
from rankloop._warn import warn
from rankloop.data import RankingDataset
from rankloop.rankers.base.input import refuse_constant
from rankloop.rankers.base.ranker import Member
from rankloop.rankers.trees.boosting import Job, Plan
from rankloop.rankers.trees.compile_forest import compile_forest, read_trees
from rankloop.rankers.trees.forest import Forest
from rankloop.rankers.trees.lightgbm_trees import check_lightgbm
from rankloop.rankers.trees.linear_leaves import LinearForest
from rankloop.rankers.trees.shared_bins import binned

__all__ = ["LightGBMForest"]

_FEW = 20  # documents, of which LightGBM would put three or more in each bin of a feature

_LONGEST = 10_000  # documents per list, in its own objectives
_GRADES = 31  # labels 0 to 30, in its own objectives
_MANY = (100_000, 10_000_000)  # documents whose gradients are coarse; sums of more would not fit in 32 bits
_STEPS = 64  # of coarse gradients: fewer cost NDCG, as LightGBM's default of 4 does
_SAMPLE = (50_000, 100_000)  # documents that bins are found on, at least and at most: a fifth of all
_BOOSTING = ("boosting", "boosting_type", "boost")  # names of one parameter
_HARMLESS = {"feature_fraction_bynode", "min_data_in_leaf"}  # parameters that leave gradients coarse


class LightGBMForest:
    """A LightGBM model as its text; the same text gives the same scores."""

    library: ClassVar[str] = "lightgbm"

    def __init__(self, text: str, compiled: Forest | None = None) -> None:
        self.text = text
        if compiled is not None:
            self.compiled = compiled

    @property
    def trees(self) -> int:
        return self.text.count("\nTree=")

    @cached_property
    def booster(self) -> Any:
        """LightGBM's own model, for its importances and contributions; scoring does not need it."""
        import lightgbm

        check_lightgbm(self.text)
        return lightgbm.Booster(model_str=self.text)

    @classmethod
    def grow(cls, job: Job, init: "LightGBMForest | None") -> "LightGBMForest":
        plan, train, valid, derivatives, watch = job
        import lightgbm

        if plan.objective is not None:
            _check_own_objective(plan, train)
        settings = _settings(plan, train)
        if derivatives is not None:
            settings["objective"] = lambda scores, _: derivatives(scores)
        if train.n_documents < _FEW:
            settings.setdefault("min_data_in_bin", 1)
        made = partial(_dataset, plan, train, settings)
        shares = derivatives is not None and init is None
        data = binned(train, settings | {"categorical": [*plan.categorical]}, made) if shares else made()
        alone = "machines" not in settings  # members of a cluster agree on bins only when they train together
        if alone and not any(
            data.construct().feature_num_bin(feature) > 1 for feature in range(train.n_features)
        ):
            refuse_constant(train)
            raise ValueError(
                f"no feature divides the {train.n_documents:,} documents into two large enough leaves; "
                "take more documents, or a smaller min_data_in_leaf in params"
            )
        watch.whole = "dart" in (settings.get(name) for name in _BOOSTING)
        seen: dict[str, Floats] = {}

        def look(scores: Floats, _: Any) -> tuple[str, float, bool]:
            seen["valid"] = scores
            return "seen", 0.0, True

        def after(state: Any) -> None:
            if watch(seen.get("valid")):
                raise lightgbm.callback.EarlyStopException(state.iteration, [])

        booster = lightgbm.train(
            settings,
            data,
            plan.trees,
            valid_sets=None if valid is None else [_dataset(plan, valid, settings, data)],
            feval=look,
            init_model=None if init is None else init.booster,
            callbacks=[after],
        )
        before = 0 if init is None else init.trees
        grown = cls(booster.model_to_string(num_iteration=before + watch.best_round, start_iteration=0))
        if re.search(r"^split_feature=\d", grown.text, re.MULTILINE) is None:
            warn(
                "LightGBM found no split, so all scores are equal; lower min_sum_hessian "
                f"(now {settings['min_sum_hessian_in_leaf']:g}) or check the features"
            )
        return grown

    @cached_property
    def compiled(self) -> Forest | None:
        """LightGBM's scores to the last bit, faster; None for trees with linear leaves."""
        return None if "\nis_linear=1\n" in self.text else compile_forest(self.text)

    @cached_property
    def lines(self) -> LinearForest | None:
        """The forest for trees with linear leaves; None for others."""
        return None if self.compiled is not None else LinearForest.of(read_trees(self.text))

    def scores(self, X: Singles, threads: int | None) -> Floats:
        forest = self.compiled or self.lines
        assert forest is not None
        return forest.score(X, threads=threads)

    def written(self) -> Member:
        return self.text

    @classmethod
    def read(cls, written: Member, compiled: Forest | None = None) -> "LightGBMForest":
        return cls(str(written), compiled)


def _settings(plan: Plan, train: RankingDataset) -> dict[str, Any]:
    import lightgbm

    known = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    every = {*known, *(alias for aliases in known.values() for alias in aliases)}
    for name in plan.params:
        if name not in every:
            raise unknown("parameter of LightGBM", name, every)
    least = 1e-3 if plan.min_sum_hessian is None else plan.min_sum_hessian
    settings: dict[str, Any] = {
        "objective": plan.objective,
        "metric": "None",
        "num_leaves": plan.leaves,
        "learning_rate": plan.learning_rate,
        "min_sum_hessian_in_leaf": least,
        "min_data_in_leaf": 1,
        "lambda_l2": plan.l2,
        "max_bin": plan.max_bins,
        "seed": plan.seed,
        "deterministic": True,
        "force_row_wise": True,
        "verbosity": -1,
        "num_threads": plan.threads or 0,
    }
    if plan.bagging_fraction < 1 and plan.objective is not None:
        settings |= {"bagging_fraction": plan.bagging_fraction, "bagging_freq": 1, "bagging_by_query": True}
    if plan.feature_fraction < 1:
        settings["feature_fraction"] = plan.feature_fraction
    if plan.monotone:
        settings["monotone_constraints"] = [plan.monotone.get(i, 0) for i in range(train.n_features)]
    if plan.interaction:
        settings["interaction_constraints"] = [list(group) for group in plan.interaction]
    return settings | _saving_time(plan, train) | dict(plan.params)


def _saving_time(plan: Plan, train: RankingDataset) -> dict[str, Any]:
    """For many documents: bins from a part of them, and splits by coarse gradients (Shi et al., 2022).

    Sums of small integers take a third less time; leaves get their values from the exact gradients. Weights
    may make a few gradients so large that nothing is left of the others: then all are exact. So they are with
    a share of the features for each tree, where LightGBM 4.7 fails, and under parameters that were not tried.
    """
    if not _HARMLESS.issuperset(plan.params):
        return {}
    least, most = _SAMPLE
    settings: dict[str, Any] = {"bin_construct_sample_cnt": min(max(train.n_documents // 5, least), most)}
    weighted = train.query_weight is not None or train.item_weight is not None or train.pairs is not None
    exact = weighted or plan.objective is not None or plan.monotone or plan.feature_fraction < 1
    if _MANY[0] <= train.n_documents <= _MANY[1] and not exact:
        settings |= {
            "use_quantized_grad": True,
            "num_grad_quant_bins": _STEPS,
            "quant_train_renew_leaf": True,
        }
    return settings


def _dataset(plan: Plan, data: RankingDataset, settings: dict[str, Any], reference: Any = None) -> Any:
    import lightgbm

    given = {name: value for name, value in settings.items() if name != "objective"}
    own_objective = plan.objective is not None and reference is None
    return lightgbm.Dataset(
        np.ascontiguousarray(data.X),
        data.y,
        reference=reference,
        group=data.lengths,
        weight=data.query_weight[data.row_query] if own_objective and data.query_weight is not None else None,
        position=data.position if own_objective else None,
        categorical_feature=list(plan.categorical),
        free_raw_data=False,
        params=given,
    )


def _check_own_objective(plan: Plan, train: RankingDataset) -> None:
    """Refuse data that LightGBM's own objectives cannot take or would ignore."""
    one_of("objective of LightGBM", str(plan.objective), ("lambdarank", "rank_xendcg"))
    longest = int(train.lengths.max())
    if longest > _LONGEST:
        raise ValueError(
            f"LightGBM's own objectives take lists of up to {_LONGEST:,} documents, "
            f"got one of {longest:,}; take a loss of rankloop, such as loss='lambdagap', or shorten the list"
        )
    if plan.objective == "lambdarank" and (train.y.max() >= _GRADES or np.any(train.y != np.floor(train.y))):
        raise ValueError(
            f"LightGBM's own lambdarank takes whole labels below {_GRADES}, got {train.y.max():g}; "
            "take a loss of rankloop with gain='linear', such as LambdaRank(gain='linear')"
        )
    if train.position is not None and plan.objective != "lambdarank":
        raise ValueError(
            f"{plan.objective} of LightGBM would ignore the position of this data set; "
            "take 'backend:lambdarank' or leave it out with data.replace(position=None)"
        )
