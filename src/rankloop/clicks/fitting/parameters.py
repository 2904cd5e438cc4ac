"""What a probability of a click model may depend on: nothing, the grade, the pair, the features, the rank."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit

from rankloop._arrays import Array, Floats, Ints, Ints32, Singles
from rankloop.clicks.columns.rows import places
from rankloop.clicks.fitting.kin import shifted
from rankloop.clicks.fitting.pages import Pages

__all__ = ["ByFeatures", "ByGrade", "ByPair", "Parameter", "Product", "by_document", "by_rank"]


class Parameter(Protocol):
    """One probability per impression."""

    def at(self, pages: Pages) -> Floats: ...


@dataclass(frozen=True, eq=False)
class ByGrade:
    """A table: `values[grade]`."""

    values: Floats

    def at(self, pages: Pages) -> Floats:
        label = pages.label
        grade = label.astype(np.int64)
        wrong = (grade != label) | (grade < 0) | (grade >= len(self.values))
        if wrong.any():
            raise ValueError(
                f"the table has grades 0 to {len(self.values) - 1}, got a label {label[wrong][0]:g}; "
                "give a longer table or a function of the labels"
            )
        return self.values[grade]


@dataclass(frozen=True, eq=False)
class Constant:
    value: float

    def at(self, pages: Pages) -> Floats:
        return np.full(len(pages), self.value)


@dataclass(frozen=True, eq=False)
class ByLabel:
    """A function of the labels; it cannot be saved."""

    function: Callable[[Singles], Any]

    def at(self, pages: Pages) -> Floats:
        values = np.asarray(self.function(pages.label), np.float64)
        if values.shape != pages.label.shape:
            raise ValueError(f"a function of labels gives one value per label, got shape {values.shape}")
        return _probability(values, "the function of labels")


@dataclass(frozen=True, eq=False)
class ByPair:
    """One value per (query, document), or one per rank of it; `default` for pairs never seen.

    `unseen` holds the defaults by rank where these are known; a document without a rank gets `default`.
    `query_odds` and `document_odds` are factors on the odds of defaults, by codes of queries and documents.

    >>> one, documents = np.array([1]), np.array(["d", "e"])
    >>> table = ByPair(np.array(["p", "q"]), one, documents, one, np.array([0.3]), default=0.1)
    >>> table["q", "e"], table["q", "d"]
    (0.3, 0.1)
    """

    queries: Array
    query: Ints32  # code of each pair
    documents: Array
    document: Ints32
    values: Floats
    default: float
    unseen: Floats | None = None
    query_odds: Floats | None = None
    document_odds: Floats | None = None

    def at(self, pages: Pages) -> Floats:
        default: float | Floats = self.default
        if self.unseen is not None:
            default = self.unseen[np.minimum(pages.position, len(self.unseen)) - 1]
        names = pages.known_names
        if self.query_odds is not None and self.document_odds is not None:
            by_query = _found(self.query_odds, names.queries, self.queries)[names.query]
            by_document = _found(self.document_odds, names.documents, self.documents)[names.document]
            default = shifted(default, (by_query * by_document)[names.code])
        place = self._find(names.queries, names.query, names.documents, names.document)[names.code]
        known = place >= 0
        if self.values.ndim == 1:
            return np.where(known, self.values[place], default)
        known &= pages.position <= self.values.shape[1]
        rank = np.where(known, pages.position - 1, 0)
        return np.where(known, self.values[place, rank], default)

    def __getitem__(self, pair: tuple[Any, Any]) -> Any:
        query, document = (np.array([one]) for one in pair)
        zero = np.zeros(1, np.int32)
        place = int(self._find(query, zero, document, zero)[0])
        if place < 0:
            return self._unseen(query, document)
        found = self.values[place]
        return float(found) if np.ndim(found) == 0 else found

    def _unseen(self, query: Array, document: Array) -> float:
        if self.query_odds is None or self.document_odds is None:
            return self.default
        by_query = _found(self.query_odds, query, self.queries)
        return float(
            shifted(self.default, by_query * _found(self.document_odds, document, self.documents))[0]
        )

    def _find(self, queries: Array, query: Array, documents: Array, document: Array) -> Ints:
        same = queries is self.queries and documents is self.documents
        if same and query is self.query and document is self.document:
            return np.arange(len(self.query))
        width = max(len(self.documents), 1)
        mine = self.query.astype(np.int64) * width + self.document
        query_at, document_at = (
            places(queries, self.queries)[query],
            places(documents, self.documents)[document],
        )
        wanted = np.where((query_at >= 0) & (document_at >= 0), query_at * width + document_at, -1)
        return places(wanted, mine)


@dataclass(frozen=True, eq=False)
class Product(ByPair):
    """The product of two tables of the same pairs; of pairs never seen, that of what the two say."""

    factors: tuple[ByPair, ...] = ()

    @staticmethod
    def of(one: ByPair, other: ByPair) -> "Product":
        names = one.queries, one.query, one.documents, one.document
        return Product(*names, one.values * other.values, one.default * other.default, factors=(one, other))

    def _unseen(self, query: Array, document: Array) -> float:
        return float(np.prod([part._unseen(query, document) for part in self.factors]))


def _found(odds: Floats, ids: Array, known: Array) -> Floats:
    """The factors of these ids, 1 where they are not known."""
    at = np.arange(len(ids)) if ids is known else places(ids, known)
    inside = (at >= 0) & (at < len(odds))
    return np.where(inside, odds[np.where(inside, at, 0)], 1.0)


@dataclass(frozen=True, eq=False)
class ByFeatures:
    r""":math:`\sigma(w^\top (x - \mu) / \sigma_x + b)`; a missing feature counts as its mean."""

    weights: Floats
    intercept: float
    mean: Floats
    scale: Floats

    def at(self, pages: Pages) -> Floats:
        X = pages.features(len(self.weights))
        return np.asarray(expit(scaled(X, self.mean, self.scale) @ self.weights + self.intercept))


def scaled(X: Singles, mean: Floats, scale: Floats) -> Floats:
    return np.nan_to_num((X - mean) / scale, nan=0.0)


def by_document(given: Any, name: str) -> Parameter:
    """A number, a table by grade (mapping or sequence), a function of labels, or something fitted."""
    if isinstance(given, ByGrade | Constant | ByLabel | ByPair | ByFeatures):
        return given
    if callable(given):
        return ByLabel(given)
    if isinstance(given, Mapping):
        if not given or sorted(given) != list(range(len(given))):
            raise ValueError(f"{name} by grade needs the grades 0 to the highest, got {sorted(given)}")
        given = [given[grade] for grade in sorted(given)]
    values = _probability(np.asarray(given, np.float64), name)
    if values.ndim == 0:
        return Constant(float(values))
    if values.ndim != 1:
        raise ValueError(f"{name} is a number, one value per grade or a function, got shape {values.shape}")
    return ByGrade(values)


def by_rank(given: Any, depth: int, name: str) -> Floats:
    """One probability for each rank 1 to `depth`, from a number, an array or a function of ranks."""
    if callable(given):
        given = given(np.arange(1, depth + 1))
    values = _probability(np.asarray(given, np.float64), name)
    if values.ndim == 0:
        return np.full(depth, float(values))
    if values.ndim != 1 or len(values) < depth:
        raise ValueError(
            f"{name} has values for {values.size} ranks but rank {depth} is shown; give more values, "
            "a function of ranks, or show fewer (k=)"
        )
    return values[:depth]


def _probability(values: Floats, name: str) -> Floats:
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        raise ValueError(f"{name} is a probability, got {np.atleast_1d(values)[np.atleast_1d(wrong)][0]:g}")
    return values
