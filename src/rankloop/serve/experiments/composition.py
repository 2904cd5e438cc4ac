"""From rankings to the page that is shown, and the randomness in it."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankloop.interleaving import Page, method
from rankloop.search import Candidates
from rankloop.serve.experiments.policy import Arm, swapped
from rankloop.serve.online.explore import explored

__all__ = ["ComposedPage", "compose", "compose_following"]

LookUp = Callable[[Iterable[str]], Candidates]


@dataclass(frozen=True, eq=False)
class ComposedPage:
    """The shown documents from the top, the policy behind them, and what was drawn at random."""

    shown: Candidates
    policy: str = "plain"
    randomness: dict[str, Any] = field(default_factory=dict)


def compose(
    arm: Arm,
    rankings: Sequence[Candidates],
    page_id: str,
    k: int,
    *,
    swap_rate: float,
    swap_top: int,
    look_up: LookUp | None = None,
    fixed: Collection[str] = (),
) -> ComposedPage:
    """One page of at most `k` documents; adjacent results are swapped only outside experiments.

    `look_up` gives documents as candidates where the rankings have not the same snapshot. Documents that are
    `fixed`, by people, are not exchanged.
    """
    if arm.online is not None:
        shown, noted = explored(arm.online, rankings, page_id, k, fixed)
        return ComposedPage(shown, "online", {"online": noted})
    if len(rankings) > 1:
        return _interleaved(arm, rankings, page_id, k, look_up)
    shown = rankings[0].take(range(min(k, len(rankings[0]))))
    if arm.experiment is not None:
        return ComposedPage(shown, "ab")
    exchange = swapped(page_id, len(shown), swap_rate, swap_top)
    if exchange is None or not _free(shown, exchange["swap"], fixed):
        return ComposedPage(shown)
    if exchange["swapped"]:
        order = np.arange(len(shown))
        low, high = (rank - 1 for rank in exchange["swap"])
        order[[low, high]] = high, low
        shown = shown.take(order)
    return ComposedPage(shown, "swap", exchange)


def compose_following(
    arm: Arm, rankings: Sequence[Candidates], page_id: str, offset: int, k: int, earlier: Collection[str] = ()
) -> ComposedPage:
    """At most `k` documents after the first `offset`, for a first page of `k`; not those shown `earlier`.

    Nothing is exchanged below the first page; after an interleaved one the first ranker goes on with the
    documents that it did not show.
    """
    ranking, policy = rankings[0], "plain" if arm.online is None else "online"
    if earlier or (len(rankings) > 1 and arm.online is None):
        shown = set(earlier or _combined(arm, rankings, page_id, k).documents)
        kept = [at for at, id in enumerate(ranking.ids.tolist()) if str(id) not in shown]
        left = ranking.take(kept[max(offset - len(shown), 0) :][:k])
        return ComposedPage(left, "interleave" if arm.online is None else policy)
    return ComposedPage(ranking.take(range(min(offset, len(ranking)), min(offset + k, len(ranking)))), policy)


def _combined(arm: Arm, rankings: Sequence[Candidates], page_id: str, k: int) -> Page:
    assert arm.experiment is not None  # only experiments have two rankers
    how = method(arm.experiment.method, seed=arm.experiment.seed)
    tops = [[str(id) for id in one.snapshot.ids(one.rows[:k]).tolist()] for one in rankings]
    return how.combine(tops, k, key=page_id)


def _free(shown: Candidates, ranks: Sequence[int], fixed: Collection[str]) -> bool:
    """Whether no document at these ranks is fixed."""
    return not fixed or all(str(shown.ids[rank - 1]) not in fixed for rank in ranks)


def _interleaved(
    arm: Arm, rankings: Sequence[Candidates], page_id: str, k: int, look_up: LookUp | None
) -> ComposedPage:
    """Both rankers on one page; a document carries the score of the first ranker that has one."""
    page = _combined(arm, rankings, page_id, k)
    first = rankings[0]
    apart = any(one.snapshot is not first.snapshot for one in rankings)  # fetched from an engine, each alone
    if apart and look_up is not None:
        shown = look_up(page.documents)
    else:
        shown = Candidates.of(first.query, first.snapshot, page.documents)
    scores: dict[Any, float] = {}
    for one in reversed(rankings):
        names = one.ids if apart else one.rows
        scores |= dict(zip(names.tolist(), one.scores.tolist(), strict=True))
    values = np.array([scores.get(one, 0.0) for one in (shown.ids if apart else shown.rows).tolist()])
    shown = replace(shown, scores=values, leaves=first.leaves, matches=first.matches)
    return ComposedPage(shown, "interleave", page.to_dict())
