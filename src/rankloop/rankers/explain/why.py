"""Why one document is ranked above another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._names import unknown
from rankloop._table import Table, Tabled
from rankloop.data import RankingDataset
from rankloop.metrics.results.evaluation import number
from rankloop.rankers.base.ranker import Ranker
from rankloop.rankers.explain.contributions import contributions
from rankloop.rankers.explain.instead import scores_instead

__all__ = ["Change", "Why", "why"]

_GRID = 64  # values per feature that are tried for a change


@dataclass(frozen=True)
class Change:
    """With this one feature at `value` in place of `now`, the lower document would reach the upper one."""

    feature: str
    now: float
    value: float


@dataclass(frozen=True, eq=False, repr=False)
class Why(Tabled):
    """The difference of two scores by feature, the largest share first; printing it shows a table.

    `share` sums to `scores[0] - scores[1]`. `changes` are changes of a single feature of the lower document
    that would lift it to the upper one, the smallest (relative to the range of the feature) first.
    """

    query: Any
    documents: tuple[Any, Any]
    ranks: tuple[int, int]
    scores: tuple[float, float]
    features: tuple[str, ...]
    share: Floats
    values: Floats  # features × the two documents
    changes: Sequence[Change]
    exact: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON."""
        sides = [
            {"document": document, "rank": rank, "score": score}
            for document, rank, score in zip(self.documents, self.ranks, self.scores, strict=True)
        ]
        return {
            "query": self.query,
            "above": sides[0],
            "below": sides[1],
            "exact": self.exact,
            "features": [
                {"feature": name, "share": share, "above": number(a), "below": number(b)}
                for name, share, (a, b) in zip(
                    self.features, self.share.tolist(), self.values.tolist(), strict=True
                )
            ],
            "changes": [
                {"feature": change.feature, "now": number(change.now), "value": number(change.value)}
                for change in self.changes
            ],
        }

    def table(self, most: int = 15) -> Table:
        a, b = (str(document) for document in self.documents)
        rows = [
            (name, f"{share:+.4f}", f"{mine:.6g}", f"{other:.6g}")
            for name, share, (mine, other) in zip(self.features, self.share, self.values, strict=True)
        ][:most]
        if len(self.features) > most:
            rows.append((f"{len(self.features) - most} others", f"{self.share[most:].sum():+.4f}", "", ""))
        gap = self.scores[0] - self.scores[1]
        rows.append(("difference", f"{gap:+.4f}", f"{self.scores[0]:.4f}", f"{self.scores[1]:.4f}"))
        notes = [
            f"{b} would reach {a} with {change.feature} at {change.value:.6g} in place of {change.now:.6g}"
            for change in self.changes[:3]
        ] or [f"no single feature would lift {b} to {a}"]
        if not self.exact:
            notes.append("shares are estimated by sampling")
        title = f"query {self.query}: {a} (rank {self.ranks[0]}) above {b} (rank {self.ranks[1]})"
        return Table(("feature", "share", a, b), rows, title=title, notes=notes)


def why(
    ranker: Ranker,
    data: RankingDataset,
    query: Any,
    a: Any = None,
    b: Any = None,
    *,
    samples: int = 200,
    seed: int = 0,
) -> Why:
    """Why document `a` is ranked above document `b` for a query, feature by feature.

    Documents are given by docid or by place in the ranking (from 1; a docid comes first, and "#1" is always a
    place); the default is the first two of the ranking. If `a` is ranked below `b`, they are swapped.

    >>> from rankloop.rankers import RankSVM
    >>> X, y = [[3.0, 0.0], [1.0, 1.0], [0.0, 5.0]], [2, 1, 0]
    >>> data = RankingDataset(X, y, ["q"] * 3, docid=["x", "y", "z"], feature_names=["bm25", "age"])
    >>> found = why(RankSVM().fit(data), data, "q", "y", "x")
    >>> found.documents, found.features[0]
    (('x', 'y'), 'bm25')
    """
    found = np.flatnonzero(data.qid == query)
    if len(found) == 0:
        found = np.flatnonzero(data.qid.astype(str) == str(query))
    if len(found) != 1:
        raise unknown("query", query, map(str, data.qid.tolist()))
    one = data.select(found)
    if one.n_documents < 2:
        raise ValueError(f"query {query} has {one.n_documents} document; two are needed to compare")
    scores = ranker.predict(one)
    ranking = np.argsort(-scores, kind="stable")
    rank = np.empty(len(ranking), np.int64)
    rank[ranking] = np.arange(1, len(ranking) + 1)
    first, second = (
        ranking[place] if name is None else _row(one, name, ranking) for place, name in enumerate((a, b))
    )
    if first == second:
        raise ValueError(f"both documents are {_name(one, first, rank)}; give two different ones")
    if rank[first] > rank[second]:
        first, second = second, first
    pair = np.array([first, second])
    parts = contributions(ranker, one, rows=pair, background=data, samples=samples, seed=seed)
    names, share, values = parts.names, parts.values[0] - parts.values[1], one.X[pair].T.astype(np.float64)
    if ranker.needs_lists:  # the base depends on the place in the list
        names = (*names, "rest of the list")
        share = np.append(share, parts.base[0] - parts.base[1])
        values = np.vstack((values, [np.nan, np.nan]))
    order = np.argsort(-np.abs(share), kind="stable")
    return Why(
        query=_plain(one.qid[0]),
        documents=(_name(one, first, rank), _name(one, second, rank)),
        ranks=(int(rank[first]), int(rank[second])),
        scores=(float(scores[first]), float(scores[second])),
        features=tuple(names[i] for i in order),
        share=share[order],
        values=values[order],
        changes=_changes(ranker, data, one.X, (first, second), parts.names),
        exact=parts.exact,
    )


def _changes(
    ranker: Ranker, data: RankingDataset, listed: Singles, pair: tuple[Any, Any], names: Sequence[str]
) -> list[Change]:
    """Each feature is set to values of other documents; the nearest one that is enough is kept."""
    upper, lower = pair
    x = listed[lower]
    tried, feature = [], []
    for index in range(len(x)):
        known = data.X[:, index][~np.isnan(data.X[:, index])]
        if len(known):
            grid = np.unique(np.quantile(known, np.linspace(0, 1, _GRID), method="nearest"))
            tried.append(grid)
            feature.append(np.full(len(grid), index))
    if not tried:
        return []
    values, which = np.concatenate(tried), np.concatenate(feature)
    rows = np.repeat(x[None], len(values), axis=0)
    rows[np.arange(len(values)), which] = values
    scores = scores_instead(ranker, listed, lower, rows)
    reach = scores[:, lower] >= scores[:, upper]
    spread = np.repeat([np.ptp(grid) for grid in tried], [len(grid) for grid in tried])
    distance = np.abs(values - np.nan_to_num(x)[which]) / np.maximum(spread, 1e-30)
    found: dict[int, Change] = {}
    for at in np.argsort(distance, kind="stable"):
        index = int(which[at])
        if reach[at] and index not in found:
            found[index] = Change(names[index], float(x[index]), float(values[at]))
    return list(found.values())


def _row(one: RankingDataset, name: Any, ranking: Ints) -> int:
    if one.docid is not None:
        rows = np.flatnonzero(one.docid.astype(str) == str(name))
        if len(rows):
            return int(rows[0])
    place = str(name).removeprefix("#")
    if place.isdecimal() and 1 <= int(place) <= len(ranking):
        return int(ranking[int(place) - 1])
    places = f"its rank, 1 to {len(ranking)}"
    if one.docid is None:
        raise ValueError(f"the data set has no docids: give a document by {places}, got {name!r}")
    known = unknown("document", name, map(str, one.docid.tolist()))
    raise ValueError(f"{known}; or give {places}")


def _name(one: RankingDataset, row: int, rank: Ints) -> Any:
    return f"#{rank[row]}" if one.docid is None else _plain(one.docid[row])


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
