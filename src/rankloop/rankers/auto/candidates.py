"""The models that `AutoRanker` tries: known good settings first, then neighbours of the best."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from rankloop._extras import require_modules
from rankloop.rankers.auto.view import ALL, View
from rankloop.rankers.base.ranker import Ranker

__all__ = ["Candidate", "first_candidates", "installed_backends", "neighbours"]

BACKENDS = ("rankloop", "lightgbm", "xgboost", "catboost")
NEURAL = "neural"
_LOSSES = ("lambdagap", "lambdarank", "centredsquared", "xendcg", "softmax", "lambdaloss")
_NETWORK: dict[str, Any] = {"loss": "softmax", "hidden": (128, 64), "learning_rate": 5e-3}
_NETWORK |= {"weight_decay": 1e-2}
_TRANSFORMS = ("standard", "log1p", "quantile")
_LINES: dict[str, Any] = {"linear_tree": True, "linear_lambda": 3.0, "min_data_in_leaf": 50}
_RANDOM: dict[str, Any] = {"extra_trees": True}  # LightGBM: one random threshold for each feature of a split
_NOISY: dict[str, Any] = {  # as CatBoost grows trees by default: the noise in their scores and weights
    "l2": 3.0,
    "params": {"random_strength": 1.0, "bootstrap_type": "Bayesian"},
}
_PER_SPLIT = {
    "lightgbm": "feature_fraction_bynode",
    "xgboost": "colsample_bynode",
}  # CatBoost's own always is


@dataclass(frozen=True)
class Candidate:
    """A model to try: its kind (trees, linear or neural), its parameters and its view of the features."""

    kind: str
    params: Mapping[str, Any] = field(default_factory=dict)
    view: View = ALL

    @property
    def name(self) -> str:
        shown = [str(self.params.get(name, "")) for name in ("backend", "loss")]
        more = [f"{_SHORT[name]} {value:g}" for name, value in self.params.items() if name in _SHORT]
        grown = next((text for text, params in _GROWN if self.params.get("params") == params), "")
        return " ".join(part for part in (self.kind, *shown, grown, *more) if part)

    @property
    def family(self) -> tuple[str, ...]:
        """Candidates of one family make much the same mistakes."""
        what = ("feature_transform",) if self.kind == "neural" else ("backend", "params")
        return (self.kind, *(str(self.params.get(name)) for name in (*what, "loss")), self.view.name)

    @property
    def group(self) -> tuple[str, ...]:
        """Where one candidate of a group is of no use, the others are not either."""
        what = ("scorer", "feature_transform") if self.kind == "neural" else ("loss",)
        view = () if self.kind == "neural" else (self.view.name,)
        return (self.kind, *(str(self.params.get(name)) for name in what), *view)

    def ranker(self, *, threads: int | None, seed: int, metric: Any, **more: Any) -> Ranker:
        """The model, not yet fitted."""
        if self.kind == "trees":
            from rankloop.rankers.lambdamart import LambdaMART

            common = {"trees": 1500, "patience": 75, "threads": threads, "seed": seed, "metric": metric}
            return LambdaMART(**(common | {"stopping": "smoothed"} | _per_split(self.params) | more))
        if self.kind == "linear":
            from rankloop.rankers.linear_ranker import LinearRanker

            return LinearRanker(**({"metric": metric, "iterations": 200} | dict(self.params)))
        from rankloop.rankers.neural_ranker import NeuralRanker

        common = {"device": "cpu", "threads": threads, "seed": seed, "metric": metric}
        return NeuralRanker(**({"epochs": 100, "patience": 12} | common | dict(self.params)))


def _per_split(params: Mapping[str, Any]) -> dict[str, Any]:
    """Features are sampled for each split: of two features, a tree that was given one would see no more."""
    found = dict(params)
    own = _PER_SPLIT.get(found["backend"])
    if own is not None and found.get("feature_fraction", 1) < 1:
        found["params"] = {**found.get("params", {}), own: found.pop("feature_fraction")}
    return found


_GROWN = (("with linear leaves", _LINES), ("with random thresholds", _RANDOM))
_SHORT = {
    "leaves": "leaves",
    "dropout": "dropout",
    "learning_rate": "rate",
    "feature_fraction": "of features",
    "bagging_fraction": "of queries",
    "l2": "l2",
}


def installed_backends(wanted: Sequence[str] | None) -> tuple[str, ...]:
    """The tree libraries to use, of those that are installed; "neural" where PyTorch is."""
    modules = {name: "torch" if name == NEURAL else name for name in (*BACKENDS, NEURAL)}
    if isinstance(wanted, str):
        raise ValueError(f"backends is a list of names, such as [{wanted!r}], got {wanted!r}")
    for name in wanted or ():
        if name not in modules:
            raise ValueError(f"backends are {', '.join(modules)}, got {name!r}")
    if wanted is not None:
        require_modules(*(modules[name] for name in wanted))
    return tuple(name for name in modules if (find_spec(modules[name]) if wanted is None else name in wanted))


def first_candidates(
    backends: Sequence[str], by_query: View, missing: View, plain: View = ALL, *, own_objectives: bool = True
) -> list[Candidate]:
    """Known good settings, the most useful and cheapest first."""

    def trees(loss: str, view: View = plain, backend: str = "lightgbm", **params: Any) -> Candidate:
        return Candidate("trees", {"backend": backend, "loss": loss, **params}, view)

    def network(transform: str, view: View, dropout: float, **params: Any) -> Candidate:
        return Candidate(
            "neural", {**_NETWORK, "feature_transform": transform, "dropout": dropout, **params}, view
        )

    slow: dict[str, Any] = {"learning_rate": 0.05, "feature_fraction": 0.6, "bagging_fraction": 0.8}
    random: dict[str, Any] = {"leaves": 15, "params": _RANDOM, **slow}
    noisy: dict[str, Any] = {"backend": "catboost", "leaves": 16, **_NOISY}
    symmetric: dict[str, Any] = {"backend": "rankloop", "leaves": 32, "learning_rate": 0.05}
    lines: dict[str, Any] = {"leaves": 8, "params": _LINES, **slow}
    every = [
        trees("lambdagap", **({**symmetric, "learning_rate": 0.1} if "rankloop" in backends else {})),
        Candidate("linear", {"loss": "softmax", "l2": 1e-3}, missing),
        Candidate("linear", {"loss": "xendcg", "l2": 1e-3}, replace(missing, logs=True)),
        trees("centredsquared", **symmetric),
        trees("lambdagap", **lines),
        trees("lambdagap", **symmetric),
        trees("backend:QueryRMSE", **noisy),
        trees("lambdagap", by_query, **symmetric),
        network("standard", missing, 0.1),
        trees("lambdagap", **random),
        trees("xendcg", **symmetric),
        network("log1p", missing, 0.1),
        trees("centredsquared", by_query, **symmetric),
        trees("lambdagap", replace(plain, logs=True), **lines),
        trees("xendcg", **random),
        trees("backend:QueryRMSE", by_query, **noisy),
        trees("lambdagap"),
        trees("centredsquared", **random),
        trees("lambdagap", leaves=15, **slow),
        trees("lambdagap", **{**symmetric, "leaves": 64, "feature_fraction": 0.6, "bagging_fraction": 0.8}),
        trees("lambdagap", backend="xgboost", leaves=15, **slow),
        trees("lambdagap", **{**random, "leaves": 31}),
        trees("backend:QueryRMSE", **{**noisy, "leaves": 64}),
        trees("lambdagap", by_query, **lines),
        Candidate("linear", {"loss": "ranknet", "l2": 1e-2}, by_query),
        network("standard", missing, 0.3),
        network("standard", by_query, 0.2),
        network("standard", missing, 0.0, scorer="gam", hidden=(16, 8)),
        trees("centredsquared", leaves=15, **slow),
        trees("backend:rank:ndcg", backend="xgboost"),
        trees("xendcg", leaves=15, **slow),
        trees("lambdagap", by_query, **random),
        trees("centredsquared", by_query, **random),
        trees("centredsquared", backend="xgboost", leaves=15, **slow),
        trees("lambdagap", leaves=63, l2=5.0, **slow),
        trees("backend:YetiRank", **noisy),
    ]
    fresh = [one for at, one in enumerate(every) if one not in every[:at]]
    return [one for one in fresh if _can(one, backends, own_objectives)]


def _can(one: Candidate, backends: Sequence[str], own_objectives: bool) -> bool:
    if one.kind == "neural":
        return NEURAL in backends
    if one.kind == "linear":
        return True
    own = str(one.params["loss"]).startswith("backend:")
    return one.params["backend"] in backends and (own_objectives or not own)


def neighbours(best: Sequence[Candidate], views: Sequence[View], seed: int) -> Iterator[Candidate]:
    """Variations of the best trees and networks so far, without end; `best` may change meanwhile."""
    rng = np.random.default_rng([seed, 77])
    while True:
        found = [one for one in best if one.kind != "linear"]
        if not found:
            return
        base = found[min(int(rng.geometric(0.5)) - 1, len(found) - 1)]
        params = (_other_trees if base.kind == "trees" else _other_network)(base.params, rng)
        view = base.view if rng.random() < 0.8 else views[int(rng.integers(len(views)))]
        yield replace(base, params=params, view=view)


def _other_trees(base: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    loss = str(base["loss"])
    if not loss.startswith("backend:") and rng.random() < 0.3:
        loss = str(rng.choice(_LOSSES))
    leaves = int(np.clip(round(base.get("leaves", 31) * 2.0 ** rng.normal(0, 0.7)), 4, 255))
    params = {
        "backend": base["backend"],
        "loss": loss,
        "leaves": leaves,
        "learning_rate": float(rng.choice([0.03, 0.05, 0.1])),
        "feature_fraction": float(rng.choice([0.3, 0.5, 0.7, 1.0])),
        "l2": float(rng.choice([1.0, 3.0, 10.0] if base["backend"] == "catboost" else [0.0, 1.0, 10.0])),
    }
    if base["backend"] == "rankloop":
        params["leaves"] = 2 ** round(np.log2(leaves))
    if "params" in base:
        params["params"] = base["params"]
    if not loss.startswith("backend:"):
        params["bagging_fraction"] = float(rng.choice([0.6, 0.8, 1.0]))
    return params


def _other_network(base: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Wider or narrower, with another dropout, rate or decay, now and then another transform or loss."""
    factor = float(rng.choice([0.5, 1.0, 2.0]))
    params = {
        **base,
        "hidden": tuple(max(int(factor * width), 4) for width in base["hidden"]),
        "dropout": float(rng.choice([0.0, 0.1, 0.2, 0.3, 0.5])),
        "learning_rate": float(rng.choice([2e-3, 5e-3, 1e-2])),
        "weight_decay": float(rng.choice([1e-3, 1e-2, 1e-1])),
    }
    if rng.random() < 0.2:
        params["feature_transform"] = str(rng.choice(_TRANSFORMS))
    if rng.random() < 0.3:
        params["loss"] = str(rng.choice(["softmax", "listnet", "ranknet", "lambdarank"]))
    return params
