"""A whole comparison: pages shown, clicks credited, verdicts for every pair of rankers."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._atomic import replacing
from rankloop._names import unknown
from rankloop.clicks import ClickModel
from rankloop.clicks import user as user_by_name
from rankloop.data import RankingDataset
from rankloop.interleaving.always_valid import Sequential, always_valid
from rankloop.interleaving.balanced import Balanced
from rankloop.interleaving.method import Method
from rankloop.interleaving.optimized import Optimized
from rankloop.interleaving.page import Page
from rankloop.interleaving.pairwise_preference import PairwisePreference
from rankloop.interleaving.probabilistic import Probabilistic
from rankloop.interleaving.team_draft import TeamDraft
from rankloop.interleaving.verdict import Verdict, verdict

__all__ = ["Duel", "method", "read_duel", "simulate_duel"]

_METHODS = {kind.name: kind for kind in (Balanced, Optimized, PairwisePreference, Probabilistic, TeamDraft)}


def method(name: str, *, seed: int = 0) -> Method:
    """An interleaving method by name.

    >>> method("team_draft").name
    'team_draft'
    """
    if name not in _METHODS:
        raise unknown("interleaving method", name, _METHODS)
    return _METHODS[name](seed=seed)


@dataclass(frozen=True, eq=False, slots=True)
class Duel:
    """The pages of a comparison with their clicks and credits (one row per page, one column per ranker)."""

    names: tuple[str, ...]
    pages: list[Page]
    clicks: list[list[Any]]
    credits: NDArray[np.float64]
    users: list[Any] | None = None

    def verdicts(self, *, confidence: float = 0.95, seed: int = 0) -> list[Verdict]:
        """Every pair of rankers, the first-named first."""
        return [
            verdict(
                self.credits[:, [a, b]],
                users=self.users,
                names=(self.names[a], self.names[b]),
                confidence=confidence,
                seed=seed,
            )
            for a, b in combinations(range(len(self.names)), 2)
        ]

    def sequential(self, first: str, second: str, *, error: float = 0.05) -> Sequential:
        """The test that may be looked at after every page, for one pair; each user counts once."""
        a, b = self.names.index(first), self.names.index(second)
        return always_valid(self.credits[:, a] - self.credits[:, b], users=self.users, error=error)

    def save(self, path: str | Path) -> None:
        """One page a line, with its clicks: what `read_duel` reads."""
        users = self.users or [None] * len(self.pages)
        with replacing(path) as beside, beside.open("w", encoding="utf-8") as out:
            for page, clicked, who in zip(self.pages, self.clicks, users, strict=True):
                line = {"page": page.to_dict(), "clicks": clicked, "names": self.names}
                out.write(json.dumps(line if who is None else {**line, "user": who}) + "\n")


def simulate_duel(
    data: RankingDataset,
    rankers: Mapping[str, Any],
    *,
    interleaving: str | Method = "team_draft",
    user: str | ClickModel = "navigational",
    pages: int = 1000,
    k: int = 10,
    seed: int = 0,
) -> Duel:
    """Let a simulated user, who knows the labels, search interleaved pages of several rankers.

    Rankers are scores of the data set's rows, or anything with `predict`.

    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=20, n_features=10, seed=0)
    >>> good = data.y + np.random.default_rng(0).normal(size=data.n_documents)
    >>> duel = simulate_duel(data, {"good": good, "random": good[::-1]}, pages=500)
    >>> duel.verdicts()[0].winner
    'good'
    """
    if pages < 1:
        raise ValueError(f"pages must be at least 1, got {pages}")
    how = method(interleaving, seed=seed) if isinstance(interleaving, str) else interleaving
    person = user_by_name(user)
    random = np.random.default_rng(seed)
    orders = [_orders(data, _scores(name, ranker, data), k) for name, ranker in rankers.items()]
    queries = random.integers(data.n_queries, size=pages)
    shown = [how.combine([order[query] for order in orders], k) for query in queries]
    rows = np.concatenate(
        [data.offsets[q] + np.array(p.documents) for q, p in zip(queries, shown, strict=True)]
    )
    offsets = np.concatenate(([0], np.cumsum([len(page) for page in shown])))
    clicked = np.asarray(person.sample(data.y[rows], offsets=offsets, seed=int(random.integers(2**62))), bool)
    clicks = [
        [page.documents[i] for i in np.flatnonzero(clicked[a:b])]
        for page, a, b in zip(shown, offsets[:-1], offsets[1:], strict=True)
    ]
    return Duel(tuple(rankers), shown, clicks, _credits(how, shown, clicks, len(rankers)))


def read_duel(path: str | Path, *, names: Sequence[str] | None = None) -> Duel:
    """A comparison from a log: one JSON object a line with `page`, `clicks` and, where known, `user`."""
    pages, clicks, users, told = [], [], [], names
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                pages.append(Page.from_dict(row["page"]))
                clicks.append(list(row["clicks"]))
            except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
                raise ValueError(
                    f"{path}, line {number}: not an interleaved page with clicks ({error})"
                ) from None
            users.append(row.get("user"))
            told = told or row.get("names")
    if not pages:
        raise ValueError(f"{path} holds no pages")
    kinds = {(page.method, page.rankers) for page in pages}
    if len(kinds) > 1:
        raise ValueError(f"{path} mixes experiments ({sorted(kinds)}); judge one at a time")
    labels = tuple(told) if told else tuple(f"ranker {i + 1}" for i in range(pages[0].rankers))
    if len(labels) != pages[0].rankers:
        raise ValueError(f"the pages have {pages[0].rankers} rankers, but {len(labels)} names were given")
    known = None if any(who is None for who in users) else users
    return Duel(labels, pages, clicks, _logged_credits(path, pages, clicks), known)


def _logged_credits(
    path: str | Path, pages: Sequence[Page], clicks: Sequence[Sequence[Any]]
) -> NDArray[np.float64]:
    """The credits of pages from a file, whose notes may be anything."""
    how = method(pages[0].method)
    rows = []
    for number, (page, clicked) in enumerate(zip(pages, clicks, strict=True), 1):
        try:
            rows.append(how.credit(page, clicked))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path}, line {number}: the clicks cannot be credited to this {page.method} page ({error})"
            ) from None
    return np.array(rows).reshape(-1, pages[0].rankers)


def _credits(
    how: Method, pages: Iterable[Page], clicks: Iterable[Sequence[Any]], rankers: int
) -> NDArray[np.float64]:
    rows = [how.credit(page, clicked) for page, clicked in zip(pages, clicks, strict=True)]
    return np.array(rows).reshape(-1, rankers)


def _scores(name: str, ranker: Any, data: RankingDataset) -> NDArray[np.float64]:
    scores: ArrayLike = ranker.predict(data) if hasattr(ranker, "predict") else ranker
    values = np.asarray(scores, np.float64)
    if values.shape != (data.n_documents,):
        raise ValueError(
            f"{name} needs one score per document ({data.n_documents}), got shape {values.shape}"
        )
    return values


def _orders(data: RankingDataset, scores: NDArray[np.float64], k: int) -> list[list[int]]:
    """For each query the indices of its best `k` documents: no page can need more of one ranking."""
    order = np.lexsort((-scores, data.row_query))
    return [
        (order[a : min(b, a + k)] - a).tolist()
        for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)
    ]
