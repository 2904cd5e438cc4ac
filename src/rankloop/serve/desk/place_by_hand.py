"""A ranking after people's pins, boosts and hides, and which documents they placed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankloop.search import Candidates
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
    hidden = {one.document for one in rules if one.kind == "hide"}
    order = [id for id in ids if id not in hidden]
    placed: dict[str, None] = {}
    for one in rules:
        if one.kind == "boost" and one.document in order:
            at = order.index(one.document)
            order.insert(max(0, at - int(one.value or 0)), order.pop(at))
            placed[one.document] = None
    known = set(ids)
    pins = {one.document: int(one.value or 1) for one in rules if one.kind == "pin"}
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
