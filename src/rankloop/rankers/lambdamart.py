"""Gradient-boosted trees under any loss."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from rankloop._arrays import Floats, Ints, Singles
from rankloop._jit import threads_at_most
from rankloop._names import one_of
from rankloop._progress import progress
from rankloop.data import RankingDataset
from rankloop.losses import Loss, loss
from rankloop.metrics import Metric
from rankloop.rankers.base.feature_names import feature_index, feature_indices, numbered
from rankloop.rankers.base.input import refuse_ignored
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.ranker import Member, Ranker
from rankloop.rankers.trees.best_round import STOPPING, BestRound
from rankloop.rankers.trees.boosting import Boosted, Derivatives, Job, Plan, Round, Watch
from rankloop.rankers.trees.forest import Forest

__all__ = ["LambdaMART"]

BACKENDS = {
    "catboost": ("trees.catboost", "CatBoostForest"),
    "lightgbm": ("trees.lightgbm", "LightGBMForest"),
    "rankloop": ("trees.symmetric", "SymmetricForest"),
    "xgboost": ("trees.xgboost", "XGBoostForest"),
}
_OWN = "backend:"
_BY = "by:"
_INSTEAD = "take another loss"
_COMPILED = "compiled."  # members of a file: the compiled forest, which scores without its backend


@dataclass(kw_only=True, eq=False, repr=False)
class LambdaMART(Ranker):
    r"""Gradient-boosted regression trees that follow the lambdas of a loss (Wu et al., 2010; Burges, 2010).

    .. math:: s_{t+1}(x) = s_t(x) + \eta \, T_t(x), \qquad
        \text{value of a leaf} = -\sum_i g_i \Big/ \Big(\lambda + \sum_i h_i\Big)

    with g and h the gradient and Hessian of the `loss` at the current scores. The `backend` grows the trees:
    LightGBM, XGBoost, CatBoost, or rankloop itself ("rankloop": symmetric trees). `loss` is any of
    `rankloop.losses`, by name or as an object. "backend:" and a name is the library's own objective
    ("backend:lambdarank", "backend:rank:ndcg", "backend:YetiRank"). "by:" and a name is what a function that
    grew the trees from a click log leaves here: no file keeps such a loss.

    With a validation set, the `metric` is measured after every round; training stops after `patience` rounds
    without a better value, and the trees of the best round are kept (`patience=None` never stops early).
    `curve_` holds the values. With few validation queries these go up and down by chance:
    `stopping="smoothed"` compares their means over the rounds around each round, which takes more rounds and
    is better on average. `min_sum_hessian` is the least sum of h in a leaf; CatBoost has no such limit. The
    trees of CatBoost and rankloop are symmetric, with one split for all nodes of a level and the power of
    two nearest to `leaves` (rankloop: 256 at most). `bagging_fraction` is the share of the queries that give
    gradients in a round, `feature_fraction` that of the features tried for a tree (rankloop: for a level).

    `monotone` says by feature whether scores must rise (1) or fall (-1) with it, `interaction` lists groups
    of features that may occur in one branch (a feature in no group is alone in its branches), `categorical`
    features hold codes. A feature is given by name, by its number in a file as text ("1" is the first), or as
    a column of X from 0. `init` is a fitted LambdaMART of the same backend, whose forest is continued by
    `trees` more. `callbacks` are called with a `Round` after each round; one that returns True ends training.
    `params` are passed to the backend and override the others.

    `device="cuda"` with `backend="xgboost"` keeps features, scores, gradients and NDCG on the GPU; a loss
    without a CUDA kernel, and another metric, go through the CPU in each round.

    >>> from rankloop.data import synthetic
    >>> train, valid = synthetic(n_queries=60, docs_per_query=10, n_features=5, seed=0).split(0.7, seed=0)
    >>> ranker = LambdaMART(trees=20, leaves=7, threads=1).fit(train, valid)
    >>> ranker.metrics_["valid"]["ndcg@10"] > 0.7, ranker.n_trees_ <= 20
    (True, True)
    """

    _honours: ClassVar[frozenset[str]] = frozenset({"query_weight", "item_weight", "position", "pairs"})
    _unsaved: ClassVar[frozenset[str]] = frozenset({"callbacks", "device", "init"})
    _libraries: ClassVar[tuple[str, ...]] = ("numpy", "scikit-learn", "catboost", "lightgbm", "xgboost")

    trees: int = 500
    leaves: int = 31
    learning_rate: float = 0.1
    min_sum_hessian: float | None = None
    loss: str | Loss = "lambdagap"
    backend: str = "lightgbm"
    metric: str | Metric = "ndcg@10"
    patience: int | None = 50
    stopping: str = "best"
    l2: float = 0.0
    bagging_fraction: float = 1.0
    feature_fraction: float = 1.0
    max_bins: int = 255
    monotone: Mapping[str | int, int] | None = None
    interaction: Sequence[Sequence[str | int]] | None = None
    categorical: Sequence[str | int] | None = None
    init: "LambdaMART | None" = None
    callbacks: Sequence[Callable[[Round], Any]] = ()
    params: Mapping[str, Any] | None = None
    threads: int | None = None
    device: str = "cpu"
    seed: int = 0

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        kind = _backend(self.backend)
        plan = self._plan(train)
        init = self._continued(kind, train)
        derivatives = None
        if plan.objective is None:
            chosen = _own_loss(self.loss)
            derivatives = Derivatives(chosen, train, plan, 0 if init is None else init.trees)
            refuse_ignored(train, self._honours - {"position"}, f"loss {chosen.name}", _INSTEAD)
        else:
            honours = self._honours - {"item_weight", "pairs"}
            refuse_ignored(train, honours, f"{plan.objective} of {self.backend}", _INSTEAD)
        objective = None if valid is None else Objective.of(self.metric, valid)
        best = BestRound(one_of("stopping", self.stopping, STOPPING) == "smoothed")
        with threads_at_most(self.threads), progress("growing trees", total=self.trees) as advance:

            def show(seen: Round) -> None:
                advance(1, "" if seen.value is None else f"{seen.metric} {seen.value:.4f}")

            watch = Watch(objective, self.trees, self.patience, (show, *self.callbacks), best)
            self.forest_ = kind.grow(Job(plan, train, valid, derivatives, watch), init)
        self.n_trees_ = self.forest_.trees
        self.curve_ = np.array(watch.curve)

    def _plan(self, train: RankingDataset) -> Plan:
        for name in ("trees", "leaves", "max_bins"):
            low = {"trees": 1, "leaves": 2, "max_bins": 2}[name]
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < low:
                raise ValueError(f"{name} must be a whole number from {low}, got {value!r}")
        for name in ("learning_rate", "bagging_fraction", "feature_fraction"):
            value = getattr(self, name)
            if not 0 < value <= 1:
                raise ValueError(f"{name} lies in (0, 1], got {value!r}")
        for name in ("min_sum_hessian", "l2"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < np.inf:
                raise ValueError(f"{name} must be finite and at least 0, got {value!r}")
        if self.patience is not None and self.patience < 1:
            raise ValueError(f"patience must be at least 1, or None to never stop early, got {self.patience}")
        names = tuple(train.feature_names or numbered(train.n_features))
        monotone = {feature_index(name, names): sign for name, sign in (self.monotone or {}).items()}
        for sign in monotone.values():
            one_of("direction of monotone", str(sign), ("-1", "0", "1"))
        groups = [feature_indices(group, names) for group in self.interaction or ()]
        if groups:
            named = {feature for group in groups for feature in group}
            groups += [[feature] for feature in range(train.n_features) if feature not in named]
        declared = (*(self.categorical or ()), *getattr(self, "categories_", ()))
        categorical = list(dict.fromkeys(feature_indices(declared, names)))
        for column in categorical:
            _check_codes(train.X[:, column], names[column])
        own = isinstance(self.loss, str) and self.loss.startswith(_OWN)
        return Plan(
            trees=int(self.trees),
            leaves=int(self.leaves),
            learning_rate=self.learning_rate,
            min_sum_hessian=self.min_sum_hessian,
            l2=self.l2,
            bagging_fraction=self.bagging_fraction,
            feature_fraction=self.feature_fraction,
            max_bins=int(self.max_bins),
            monotone=monotone,
            interaction=groups,
            categorical=categorical,
            threads=self.threads,
            device=self._device(),
            seed=self.seed,
            objective=str(self.loss)[len(_OWN) :] if own else None,
            params=self.params or {},
        )

    def _device(self) -> str:
        name, _, number = self.device.partition(":")
        if self.device != "cpu" and (name != "cuda" or not (number.isdecimal() or self.device == "cuda")):
            raise ValueError(f"device is 'cpu', 'cuda' or 'cuda:1', got {self.device!r}")
        if name == "cuda" and self.backend != "xgboost":
            raise ValueError(
                f"device={self.device!r} is for backend='xgboost', which takes gradients on the device; "
                f"{self.backend} grows its trees on the CPU"
            )
        return self.device

    def _continued(self, kind: type[Boosted], train: RankingDataset) -> Any:
        if self.init is None:
            return None
        self.init._check_fitted()
        if type(self.init.forest_) is not kind:
            raise ValueError(
                f"init was grown by {self.init.backend}, but backend is {self.backend}; take the same backend"
            )
        if self.init.n_features_in_ != train.n_features:
            raise ValueError(
                f"init was trained on {self.init.n_features_in_} features, but train has {train.n_features}"
            )
        return self.init.forest_

    @property
    def feature_importances_(self) -> Floats:
        """Each feature's share of the gain of all splits, as in scikit-learn; `importance` measures more."""
        from rankloop.rankers.explain.importance import importance

        gain = importance(self, by="gain").values
        return gain / (gain.sum() or 1.0)

    def _scores(self, X: Singles, offsets: Ints) -> Floats:
        return self.forest_.scores(X, self.threads)

    def _state(self) -> dict[str, Member]:
        state = {"forest": self.forest_.written(), "curve": self.curve_}
        if self.forest_.compiled is not None:
            state |= {_COMPILED + name: value for name, value in self.forest_.compiled.arrays().items()}
        return state

    def _restore(self, state: Mapping[str, Member]) -> None:
        arrays = {name.removeprefix(_COMPILED): state[name] for name in state if name.startswith(_COMPILED)}
        ready = Forest.from_arrays(arrays) if arrays else None
        self.forest_ = _backend(self.backend).read(state["forest"], ready)
        self.n_trees_ = self.forest_.trees
        self.curve_ = np.asarray(state["curve"])

    def __sklearn_clone__(self) -> Self:
        """An unfitted copy; `init` stays fitted."""
        given = self.get_params(deep=False)
        return type(self)(
            **{name: value if name == "init" else clone(value, safe=False) for name, value in given.items()}
        )


def _own_loss(given: str | Loss) -> Loss:
    if isinstance(given, str) and given.startswith(_BY):
        raise ValueError(
            f"these trees were grown by rankloop.{given[len(_BY) :]}, whose loss is made from a log; call "
            "that function again, or choose a loss with set_params(loss=...)"
        )
    return loss(given)


def _check_codes(codes: Singles, name: str) -> None:
    wrong = (codes < 0) | (codes != np.floor(codes)) & ~np.isnan(codes)
    if wrong.any():
        raise ValueError(
            f"a categorical feature holds codes from 0 on (or nan), but feature {name!r} has "
            f"{codes[wrong.argmax()]:g}; number its categories"
        )


def _backend(name: str) -> type[Boosted]:
    module, made = BACKENDS[one_of("backend", name, BACKENDS)]
    found: type[Boosted] = getattr(import_module(f"rankloop.rankers.{module}"), made)
    return found
