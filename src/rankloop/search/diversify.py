"""The stage that puts different results near the top."""

from collections.abc import Callable

import numpy as np

from rankloop._arrays import Bools, Floats, Ints
from rankloop._names import one_of
from rankloop.search.candidates import Candidates
from rankloop.search.stage import Stage

__all__ = ["diversify", "mmr", "xquad"]


class diversify(Stage):  # noqa: N801 - a verb in a pipeline: >> diversify("meaning")
    """Orders the first `k` candidates so that each adds something to those above it; the rest stay below.

    `by` a vector field (`"vector"` where there is only one): maximal marginal relevance (Carbonell &
    Goldstein, 1998), which takes off the similarity to the most similar document above. `by` a keyword
    field: xQuAD (Santos et al., 2010), whose aspects are the values of the field. `lambda_` is the share of
    relevance: at 1 nothing changes, at 0 only difference counts. Relevance is the score, brought to 0..1
    over the candidates. Documents keep their scores.

    >>> diversify("genre", lambda_=0.7)
    diversify('genre', lambda_=0.7, k=100)
    """

    def __init__(self, by: str, *, lambda_: float = 0.5, k: int = 100) -> None:
        if not 0 <= lambda_ <= 1:
            raise ValueError(f"lambda_ is the share of relevance, from 0 to 1, got {lambda_}")
        if k < 1:
            raise ValueError(f"diversify orders at least k=1 documents, got {k}")
        self.by, self.lambda_, self.k = by, lambda_, k

    def __call__(self, given: Candidates) -> Candidates:
        by, kind = self._field(given)
        some = given.take(range(min(self.k, len(given))))
        if len(some) < 2:
            return given
        relevance = _unit(some.scores)
        if kind == "vector":
            order = mmr(relevance, _vectors(some, by), self.lambda_)
        else:
            order = xquad(relevance, _aspects(some, by), self.lambda_)
        return given.take(np.concatenate((order, np.arange(len(some), len(given)))))

    def _field(self, given: Candidates) -> tuple[str, str]:
        """The name and the kind of the field."""
        fields = given.snapshot.fields
        kinds = {name: one.kind for name, one in fields.items() if one.kind in ("vector", "keyword")}
        if not kinds:
            raise ValueError("diversify needs a vector or keyword field; the index has neither")
        vectors = [name for name, kind in kinds.items() if kind == "vector"]
        if self.by == "vector" and "vector" not in fields and len(vectors) == 1:
            return vectors[0], "vector"
        return self.by, kinds[one_of("vector or keyword field", self.by, kinds)]

    def __repr__(self) -> str:
        return f"diversify({self.by!r}, lambda_={self.lambda_}, k={self.k})"


def mmr(relevance: Floats, vectors: Floats, lambda_: float) -> Ints:
    r"""The order of maximal marginal relevance; `vectors` have length 1, or 0 where there is none.

    .. math:: \arg\max_d \lambda \, \mathrm{rel}(d) - (1 - \lambda) \max_{s \text{ above}} \cos(d, s)

    >>> mmr(np.array([1.0, 0.9, 0.1]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 0.5)
    array([0, 2, 1])
    """
    nearest = np.full(len(relevance), -np.inf)  # similarity to the most similar document above

    def value() -> Floats:
        return lambda_ * relevance - (1 - lambda_) * np.where(np.isinf(nearest), 0.0, nearest)

    def chosen(row: int) -> None:
        np.maximum(nearest, vectors @ vectors[row], out=nearest)

    return _greedy(len(relevance), value, chosen)


def xquad(relevance: Floats, aspects: Bools, lambda_: float) -> Ints:
    r"""The order of xQuAD over `aspects`, a row per document and a column per aspect.

    .. math:: \arg\max_d \lambda \, \mathrm{rel}(d) + (1 - \lambda) \sum_a P(a) \, \mathrm{rel}(d) [a \in d]
        \prod_{s \text{ above}, a \in s} (1 - \mathrm{rel}(s))

    An aspect's share :math:`P(a)` is that of the relevance of its documents.

    >>> aspects = np.array([[True, False], [True, False], [False, True]])
    >>> xquad(np.array([1.0, 0.9, 0.5]), aspects, 0.2)
    array([0, 2, 1])
    """
    covers = relevance[:, None] * aspects
    total = covers.sum()
    share = covers.sum(axis=0) / total if total > 0 else np.zeros(aspects.shape[1])
    open_still = np.ones(aspects.shape[1])  # how far each aspect is not answered yet

    def value() -> Floats:
        return lambda_ * relevance + (1 - lambda_) * (covers @ (share * open_still))

    def chosen(row: int) -> None:
        np.multiply(open_still, 1 - covers[row], out=open_still)

    return _greedy(len(relevance), value, chosen)


def _greedy(number: int, value: Callable[[], Floats], chosen: Callable[[int], None]) -> Ints:
    """Rows in the order in which each has the best value given those before; ties keep their order."""
    order = np.empty(number, np.int64)
    left = np.ones(number, np.bool_)
    for place in range(number):
        row = int(np.argmax(np.where(left, value(), -np.inf)))
        order[place] = row
        left[row] = False
        chosen(row)
    return order


def _unit(scores: Floats) -> Floats:
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))


def _vectors(some: Candidates, field: str) -> Floats:
    """The vectors of the candidates at length 1; zeros for documents without one."""
    made = np.zeros((len(some), some.snapshot.fields[field].dimension))
    for segment, inside in some.snapshot.by_segment(some.rows):
        made[inside] = np.nan_to_num(segment.arrays[f"vector.{field}"][some.rows[inside] - segment.base])
    lengths = np.linalg.norm(made, axis=1, keepdims=True)
    return np.asarray(made / np.maximum(lengths, 1e-12))


def _aspects(some: Candidates, field: str) -> Bools:
    """Which value of a keyword field each candidate has: a column per value."""
    declared = some.snapshot.fields[field]
    columns: dict[str, Bools] = {}
    for at, row in enumerate(some.rows.tolist()):
        value = some.snapshot.document(row).get(field)
        for word in [] if value is None else declared.convert(value):
            columns.setdefault(word, np.zeros(len(some), np.bool_))[at] = True
    return np.array(list(columns.values()), np.bool_).reshape(len(columns), len(some)).T
