"""A library of cheap corrections of clicks: each becomes a forest, on some of the queries or on all."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from rankloop._arrays import Bools, Floats, Ints
from rankloop.losses import LambdaRank
from rankloop.rankers import Ensemble, LambdaMART
from rankloop.unbiased.affine import affine_relevance
from rankloop.unbiased.estimation.evidence import Evidence
from rankloop.unbiased.estimation.held_out import tempered
from rankloop.unbiased.estimation.labels import rows_of
from rankloop.unbiased.estimation.not_shown import not_shown
from rankloop.unbiased.estimation.straight import Straight, straight
from rankloop.unbiased.estimation.two_towers import TwoTowers
from rankloop.unbiased.likelihood import LEARNED, boosted

__all__ = [
    "ALL",
    "FOLDS",
    "HALF",
    "Correction",
    "Member",
    "all_documents",
    "fitted",
    "fold_of",
    "in_folds",
    "library",
    "more",
    "split_or_not",
]

FOLDS = 3  # of whole queries, with the usual budget
HALF = 0.5  # the power of a curve that corrects by half
ALL = "all documents"  # the end of the names of members that also see documents that were never shown
GAIN = LambdaRank(metric="dcg", gain="linear")

Member = LambdaMART | Straight | Ensemble
Correction = Callable[[Bools], Member | None]


@dataclass(frozen=True, eq=False)
class Shapes:
    """Forests for clicks: with linear leaves, with constant ones, and for pairs.

    A line in a leaf goes on beyond the documents that were shown, a constant does not: which is better there
    depends on the utility.
    """

    lines: LambdaMART
    plain: LambdaMART
    pairs: LambdaMART

    @classmethod
    def of(cls, lines: LambdaMART) -> "Shapes":
        alike: dict[str, Any] = {"trees": lines.trees, "threads": lines.threads, "seed": lines.seed}
        alike["patience"] = None
        plain = LambdaMART(leaves=31, min_sum_hessian=1.0, l2=5.0, params={"min_data_in_leaf": 20}, **alike)
        parts = {"bagging_fraction": 0.7, "bagging_freq": 1, "min_data_in_leaf": 5}
        return cls(lines, plain, LambdaMART(leaves=15, loss=GAIN, params=parts, **alike))


def library(seen: Evidence, lines: LambdaMART) -> dict[str, Correction]:
    """Corrections by name; each takes the rows to train on.

    `seen` has the curve that was estimated; it also corrects by half, and not at all.
    """
    shapes = Shapes.of(lines)
    flat, half = tempered(seen, 0.0), tempered(seen, HALF)
    found: dict[str, Correction] = {}
    for name, one in {"flat": flat, "half": half, "full": seen}.items():
        found |= _by_curve(name, one, shapes)
    found["two towers"] = _two_towers(seen, shapes.lines)
    found["plain leaves, two towers"] = _two_towers(seen, shapes.plain)
    found["linear, two towers"] = lambda kept: straight(seen, kept, towers=True)
    found[f"pairs, half, {ALL}"] = _all_documents(half, shapes.pairs)
    return found


def more(name: str, seen: Evidence, lines: LambdaMART) -> dict[str, Correction]:
    """Four corrections by another way to count the clicks."""
    return _by_curve(name, seen, Shapes.of(lines))


def _by_curve(name: str, seen: Evidence, shapes: Shapes) -> dict[str, Correction]:
    return {
        f"pairs, {name}": _pairs(seen, shapes.pairs),
        f"likelihood, {name}": _likelihood(seen, shapes.lines),
        f"plain leaves, {name}": _likelihood(seen, shapes.plain),
        f"linear, {name}": lambda kept: straight(seen, kept),
    }


def in_folds(corrections: Mapping[str, Correction], seen: Evidence, seed: int, folds: int = FOLDS) -> Floats:
    """Scores of each row (one column a correction) by forests that were not trained on its query."""
    data, part = seen.data, fold_of(seen, seed, folds)
    scores = np.zeros((data.n_documents, len(corrections)))
    for one in range(folds):
        away, kept = part == one, seen.shown & (part != one)
        if not away.any() or not kept.any():
            continue
        for column, correction in enumerate(corrections.values()):
            member = fitted(correction, kept)
            if member is not None:
                lists = {"qid": data.row_query[away]} if isinstance(member, Ensemble) else {}
                scores[away, column] = member.predict(data.X[away], **lists)
    return scores


def fold_of(seen: Evidence, seed: int, folds: int = FOLDS) -> Ints:
    """The fold of each row; a query is in one fold."""
    queries = seen.data.n_queries
    return np.random.default_rng(seed).permutation(np.arange(queries) % folds)[seen.data.row_query]


@contextmanager
def split_or_not() -> Iterator[None]:
    """Within this, a forest may find nothing to split on: it has one score for all, and no say."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="LightGBM found no split")
        yield


def fitted(correction: Correction, kept: Bools) -> Member | None:
    """The forest of a correction on these rows."""
    with split_or_not():
        return correction(kept)


def _pairs(seen: Evidence, shape: LambdaMART) -> Correction:
    """LambdaMART on clicks per examination, one list a query."""
    return lambda kept: _on_labels(seen, affine_relevance(seen), kept, shape)


def _all_documents(seen: Evidence, shape: LambdaMART) -> Correction:
    """The same with documents that were never shown, which count as irrelevant: a good logger knew why.

    How good it was is for the clicks to say, as of all corrections.
    """
    y = affine_relevance(seen)
    return lambda kept: _on_labels(seen, y, kept | not_shown(seen, kept), shape)


def all_documents(seen: Evidence, correction: Correction) -> Correction:
    """A correction of the evidence `as_if_shown`, with some of the documents that were never shown."""
    return lambda kept: correction(kept | not_shown(seen, kept))


def _on_labels(seen: Evidence, y: Floats, kept: Bools, shape: LambdaMART) -> LambdaMART:
    lowest = np.minimum(np.minimum.reduceat(np.where(kept, y, 0.0), seen.data.offsets[:-1]), 0.0)
    weight = seen.sessions / seen.sessions[seen.sessions > 0].mean()
    train = rows_of(seen.data, kept, y - lowest[seen.data.row_query], weight)
    return _bounded(shape, len(train.y)).fit(train)


def _likelihood(seen: Evidence, shape: LambdaMART) -> Correction:
    return lambda kept: boosted(seen, kept, shape, learn=False)[0]


def _two_towers(seen: Evidence, shape: LambdaMART) -> Correction:
    def grown(kept: Bools) -> LambdaMART:
        ranker = _bounded(shape, int(kept.sum()))
        ranker.set_params(loss=TwoTowers.of(seen, kept))
        shown = np.maximum(seen.by_row(seen.impressions), 1.0)
        ranker.fit(rows_of(seen.data, kept, seen.by_row(seen.clicks) / shown))
        ranker.set_params(loss=LEARNED)
        return ranker

    return grown


def _bounded(shape: LambdaMART, rows: int) -> LambdaMART:
    """A copy whose leaves need no more than a twentieth of the rows."""
    params = dict(shape.params or {})
    params["min_data_in_leaf"] = max(1, min(params.get("min_data_in_leaf", 1), rows // 20))
    made: LambdaMART = clone(shape)
    made.set_params(params=params)
    return made
