"""A ranking after people's pins, boosts and hides, and which documents they placed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankloop.search import Candidates
from rankloop.serve.desk.field_value import having_value
from rankloop.serve.desk.hands import Rule

__all__ = ["ByHand", "place_by_hand"]


@dataclass(frozen=True, eq=False)
class ByHand:
    """A ranking, the documents that stand where people put them, and those that are hidden."""

    found: Candidates
    placed: tuple[str, ...]
    hidden: tuple[str, ...]

    def noted(self) -> dict[str, Any]:
        """What a page keeps of it, for all that follow too: learning leaves out what stands there by hand."""
        return {"hands": {"placed": list(self.placed), "hidden": list(self.hidden)}}


def place_by_hand(
    found: Candidates, rules: Sequence[Rule], k: int, look_up: Callable[[Iterable[str]], Candidates] | None
) -> ByHand:
    """Hide, then move up, then pin; of two rules for one rank the newer one wins.

    A pinned document that was not found is fetched by `look_up`; with None (the search has filters) it is
    left out.
    """
    ids = [str(id) for id in found.ids.tolist()]
    meant = {one.id: _meant(one, found, ids) for one in rules}
    hidden = {id for one in rules if one.kind == "hide" for id in meant[one.id]}
    order = [id for id in ids if id not in hidden]
    placed: dict[str, None] = {}
    for one in rules:
        if one.kind == "boost":
            order, moved = _raised(order, meant[one.id], int(one.value or 0))
            placed |= dict.fromkeys(moved)
    known = set(ids)
    pins: dict[str, int] = {}
    for one in rules:
        if one.kind == "pin":
            best = [one.document] if one.document else [id for id in order if id in meant[one.id]][:1]
            pins |= dict.fromkeys(best, int(one.value or 1))
    for document, rank in sorted(pins.items(), key=lambda one: one[1]):
        if document in hidden or (document not in known and look_up is None):
            continue
        if document in order:
            order.remove(document)
        order.insert(rank - 1, document)
        placed[document] = None
    gone = tuple(id for id in ids[: k + len(hidden)] if id in hidden)
    if all(id in known for id in order):
        place = {id: at for at, id in enumerate(ids)}
        return ByHand(found.take([place[id] for id in order]), tuple(placed), gone)
    assert look_up is not None
    return ByHand(_fetched(found, ids, order[: k + len(placed)], look_up), tuple(placed), gone)


def _meant(rule: Rule, found: Candidates, ids: Sequence[str]) -> set[str]:
    """The documents that a rule is for: the one it names, or all candidates with its value."""
    if not rule.field:
        return {rule.document}
    has = having_value(found, rule.field, rule.wanted)
    return {id for id, meant in zip(ids, has.tolist(), strict=True) if meant}


def _raised(order: Sequence[str], meant: set[str], ranks: int) -> tuple[list[str], list[str]]:
    """The order with some documents so many ranks higher, in their own order, and which those are."""
    keys = [at - ranks - 0.5 if id in meant else float(at) for at, id in enumerate(order)]
    places = sorted(range(len(order)), key=keys.__getitem__)
    return [order[at] for at in places], [id for id in order if id in meant]


def _fetched(
    found: Candidates,
    ids: Sequence[str],
    order: Sequence[str],
    look_up: Callable[[Iterable[str]], Candidates],
) -> Candidates:
    """The first documents as candidates, with those that were not found; their score is 0."""
    shown = look_up(order)
    scores = dict(zip(ids, found.scores.tolist(), strict=True))
    values = np.array([scores.get(str(id), 0.0) for id in shown.ids.tolist()])
    return replace(shown, scores=values, leaves=found.leaves, matches=found.matches)
