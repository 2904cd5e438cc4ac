"""Shapley values: the part of each feature in the score of a document."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Singles
from rankloop._progress import progress
from rankloop._table import Table
from rankloop.data import RankingDataset
from rankloop.rankers.base.feature_names import feature_names
from rankloop.rankers.base.input import feature_rows
from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.ranker import Ranker
from rankloop.rankers.base.scale import Standard
from rankloop.rankers.explain.instead import scores_instead
from rankloop.rankers.explain.linear_shapley import shares_of_lines
from rankloop.rankers.trees.linear_leaves import LinearForest

__all__ = ["Contributions", "contributions"]


@dataclass(frozen=True, eq=False, repr=False)
class Contributions:
    """Scores as sums: `base + values.sum(axis=1)` are the scores.

    `values` has one row per document and one column per feature, `base` one entry per document. `exact` is
    False for Shapley values that were estimated by sampling; `error` is then their standard error.
    """

    values: Floats
    base: Floats
    names: tuple[str, ...]
    exact: bool
    error: Floats | None = None

    def __repr__(self) -> str:
        documents, features = self.values.shape
        how = "exact" if self.exact else "sampled"
        return f"Contributions({documents:,} documents, {features:,} features, {how})"

    def table(self, most: int = 15) -> Table:
        """The features by the mean size of their parts, the largest first."""
        size = np.abs(self.values).mean(axis=0)
        order = np.argsort(-size, kind="stable")[:most]
        rows = [(self.names[i], f"{size[i]:.4f}", f"{self.values[:, i].mean():+.4f}") for i in order.tolist()]
        left = len(self.names) - len(rows)
        notes = [f"and {left} features below these"] if left else []
        return Table(("feature", "mean size", "mean"), rows, title=repr(self), notes=notes)

    def _repr_html_(self) -> str:
        return self.table().html()


def contributions(
    ranker: Ranker,
    X: RankingDataset | ArrayLike,
    *,
    rows: ArrayLike | None = None,
    background: RankingDataset | ArrayLike | None = None,
    samples: int = 200,
    seed: int = 0,
) -> Contributions:
    r"""Shapley values: a feature's part of the score, averaged over the orders in which features are added.

    .. math:: \phi_f = \sum_{S \not\ni f} \frac{|S|!\,(d - |S| - 1)!}{d!}\,
        \big(s(x_{S \cup f}) - s(x_S)\big)

    Exact for forests (TreeSHAP, Lundberg et al., 2020, as the backend computes it), for weighted sums (weight
    times distance from the mean) and for the network `"gam"`, which is a sum. In forests with linear leaves,
    absent features take the values of each document of the `background` (by default X itself; `samples` of
    them, if there are more). Any other ranker is sampled (Štrumbelj & Kononenko, 2014): `samples` orders,
    each with a document of the background. Where a score depends on the list, X is a data set, and the other
    documents of the list stay unchanged. `rows` are the documents to explain (default: all).

    >>> from rankloop.rankers import RankSVM
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> ranker = RankSVM().fit(X, [1, 0], qid=[0, 0])
    >>> found = contributions(ranker, X)
    >>> bool(np.allclose(found.base + found.values.sum(axis=1), ranker.predict(X))), found.exact
    (True, True)
    """
    names = feature_names(ranker)
    if ranker.needs_lists and not isinstance(X, RankingDataset):
        raise ValueError(f"{type(ranker).__name__} scores a document by its list; give a RankingDataset")
    ranker.predict(X)  # checks the features
    every = feature_rows(X, getattr(ranker, "categories_", None))[0]
    chosen = np.arange(len(every)) if rows is None else np.asarray(rows, np.int64)
    some = every[chosen]
    exact = _exact(ranker, some)
    if exact is not None:
        values, base = exact
        return Contributions(values, np.full(len(some), base), names, exact=True)
    if samples < 2:
        raise ValueError(f"samples must be at least 2, got {samples}")
    others = every if background is None else feature_rows(background)[0]
    asked = _Asked(some, others, names, samples, seed)
    lines = getattr(getattr(ranker, "forest_", None), "lines", None)
    if lines is not None:
        return _linear_leaves(ranker, lines, asked)
    offsets = X.offsets if isinstance(X, RankingDataset) else None

    def score(steps: Singles) -> Floats:
        """Scores of documents × steps × features."""
        if not ranker.needs_lists or offsets is None:
            return ranker.predict(steps.reshape(-1, steps.shape[2])).reshape(steps.shape[:2])
        lists = np.searchsorted(offsets, chosen, "right") - 1
        found = [
            scores_instead(ranker, every[offsets[q] : offsets[q + 1]], row - offsets[q], others)[
                :, row - offsets[q]
            ]
            for q, row, others in zip(lists, chosen, steps, strict=True)
        ]
        return np.array(found).reshape(steps.shape[:2])

    return _sampled(score, asked)


class _Asked(NamedTuple):
    """Which rows are explained, against which background, with how many samples."""

    rows: Singles
    background: Singles
    names: tuple[str, ...]
    samples: int
    seed: int


def _exact(ranker: Any, rows: Singles) -> tuple[Floats, float] | None:
    """Values and base where they can be computed exactly."""
    if isinstance(ranker, LinearScores):
        return Standard(ranker.mean_, ranker.scale_).apply(rows) * ranker.coef_, float(ranker.intercept_)
    if getattr(ranker, "scorer", None) == "gam":
        parts: Floats = ranker.contributions(rows)
        return parts, float((ranker.predict(rows[:1]) - parts[:1].sum(axis=1)).sum())
    whole = _of_forest(getattr(ranker, "forest_", None), rows)
    return None if whole is None else (whole[:, :-1], float(whole[:1, -1].sum()))


def _linear_leaves(ranker: Ranker, forest: LinearForest, asked: _Asked) -> Contributions:
    """The mean over the background, exact for each of its documents; a sample of a large background."""
    rows, background, names, samples, seed = asked
    exact = len(background) <= samples
    if not exact:
        background = background[np.random.default_rng(seed).choice(len(background), samples, replace=False)]
    base = np.full(len(rows), ranker.predict(background).mean())
    values = np.empty(rows.shape, np.float64)
    error = None if exact else np.empty(rows.shape, np.float64)
    with progress("Shapley values", total=len(rows)) as advance:
        for row in range(len(rows)):
            found = shares_of_lines(forest, rows[row], background)
            values[row] = found.mean(axis=0)
            if error is not None:
                error[row] = found.std(axis=0, ddof=1) / np.sqrt(samples)
            advance(1)
    return Contributions(values, base, names, exact=exact, error=error)


def _of_forest(forest: Any, rows: Singles) -> Floats | None:
    """One column per feature and the base as last column."""
    library = getattr(forest, "library", None)
    if library == "lightgbm" and forest.lines is None:
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


def _sampled(score: Callable[[Singles], Floats], asked: _Asked) -> Contributions:
    """The same orders and the same background documents for all rows, so that rows compare."""
    rows, background, names, samples, seed = asked
    rng = np.random.default_rng(seed)
    count, width = rows.shape
    total, square = np.zeros((2, count, width))
    base = np.zeros(count)
    with progress("sampling orders", total=samples) as advance:
        for _ in range(samples):
            order = rng.permutation(width)
            other = background[rng.integers(len(background))]
            steps = np.tile(other, (count, width + 1, 1))
            for place, feature in enumerate(order):
                steps[:, place + 1 :, feature] = rows[:, feature, None]
            scores = score(steps)
            gain = np.empty((count, width))
            gain[:, order] = np.diff(scores, axis=1)
            total += gain
            square += gain**2
            base += scores[:, 0]
            advance(1)
    mean = total / samples
    spread = np.maximum(square / samples - mean**2, 0.0) * samples / (samples - 1)
    return Contributions(mean, base / samples, names, exact=False, error=np.sqrt(spread / samples))
