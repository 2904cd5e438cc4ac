"""What each feature adds to the score of a document."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.data import RankingDataset
from rankloop.rankers import _input
from rankloop.rankers._feature_names import feature_names
from rankloop.rankers._linear import LinearScores
from rankloop.rankers._scale import Standard
from rankloop.rankers.base import Ranker

__all__ = ["Contributions", "contributions"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Contributions:
    """Scores taken apart: `base + values.sum(axis=1)` are the scores.

    `values` has one row per document and one column per feature. `exact` tells Shapley values that were
    computed from those that were drawn; `error` is the standard error of the latter.
    """

    values: Floats
    base: float
    names: tuple[str, ...]
    exact: bool
    error: Floats | None = None


def contributions(
    ranker: Ranker,
    X: RankingDataset | ArrayLike,
    *,
    background: RankingDataset | ArrayLike | None = None,
    samples: int = 200,
    seed: int = 0,
) -> Contributions:
    r"""Shapley values: a feature's share of the score, averaged over the orders in which features come in.

    .. math:: \phi_f = \sum_{S \not\ni f} \frac{|S|!\,(d - |S| - 1)!}{d!}\,
        \big(s(x_{S \cup f}) - s(x_S)\big)

    Exact for forests (TreeSHAP, Lundberg et al., 2020, as the engine computes it), for weighted sums (weight
    times distance from the mean) and for the network `"gam"`, whose parts are its own. Any other ranker that
    scores documents one by one is sampled (Štrumbelj & Kononenko, 2014): `samples` orders, with absent
    features taken from a document of the `background` (by default X itself).

    >>> from rankloop.rankers import RankSVM
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> ranker = RankSVM().fit(X, [1, 0], qid=[0, 0])
    >>> found = contributions(ranker, X)
    >>> bool(np.allclose(found.base + found.values.sum(axis=1), ranker.predict(X))), found.exact
    (True, True)
    """
    names = feature_names(ranker)
    scores = ranker.predict(X) if not ranker.needs_lists else None
    rows = _input.rows(X)[0]
    if isinstance(ranker, LinearScores):
        values = Standard(ranker.mean_, ranker.scale_).apply(rows) * ranker.coef_
        return Contributions(values, float(ranker.intercept_), names, exact=True)
    if getattr(ranker, "scorer", None) == "gam":  # a network per feature: its parts are the shares
        parts: Floats = ranker.contributions(rows)
        level = float((ranker.predict(rows[:1]) - parts[:1].sum(axis=1)).sum())
        return Contributions(parts, level, names, exact=True)
    whole = _of_forest(getattr(ranker, "forest_", None), rows)
    if whole is not None:
        return Contributions(whole[:, :-1], float(whole[0, -1]) if len(whole) else 0.0, names, exact=True)
    if scores is None:
        raise ValueError(
            f"{type(ranker).__name__} scores a document by its list: its score has no shares by feature; "
            "use importance(...) or partial_dependence(...)"
        )
    if samples < 2:
        raise ValueError(f"samples must be at least 2, got {samples}")
    behind = rows if background is None else _input.rows(background)[0]
    return _drawn(ranker, rows, behind, names, samples, seed)


def _of_forest(forest: Any, rows: NDArray[np.float32]) -> Floats | None:
    """One column more than features: the base."""
    library = getattr(forest, "library", None)
    if library == "lightgbm":
        return np.asarray(forest.booster.predict(rows, pred_contrib=True), np.float64)
    if library == "xgboost":
        import xgboost

        types = forest.booster.feature_types
        data = xgboost.DMatrix(rows, feature_types=types, enable_categorical=types is not None)
        return np.asarray(forest.booster.predict(data, pred_contribs=True), np.float64)
    if library == "catboost" and not forest.model.get_cat_feature_indices():
        import catboost

        pool = catboost.Pool(rows)
        return np.asarray(forest.model.get_feature_importance(pool, type="ShapValues"), np.float64)
    return None


def _drawn(
    ranker: Ranker,
    rows: NDArray[np.float32],
    behind: NDArray[np.float32],
    names: tuple[str, ...],
    samples: int,
    seed: int,
) -> Contributions:
    """All documents meet the same orders and the same strangers, so that their base is one."""
    rng = np.random.default_rng(seed)
    count, width = rows.shape
    total, square = np.zeros((2, count, width))
    base = 0.0
    for _ in range(samples):
        order = rng.permutation(width)
        stranger = behind[rng.integers(len(behind))]
        steps = np.repeat(stranger[None, None], count, axis=0).repeat(width + 1, axis=1)
        for place, feature in enumerate(order):
            steps[:, place + 1 :, feature] = rows[:, feature, None]
        scores = ranker.predict(steps.reshape(-1, width)).reshape(count, width + 1)
        gain = np.empty((count, width))
        gain[:, order] = np.diff(scores, axis=1)
        total += gain
        square += gain**2
        base += float(scores[0, 0]) if count else 0.0
    mean = total / samples
    spread = np.maximum(square / samples - mean**2, 0.0) * samples / (samples - 1)
    return Contributions(mean, base / samples, names, exact=False, error=np.sqrt(spread / samples))
