"""A comparison of rankers by interleaving: pages, clicks, credits and verdicts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop._atomic import replacing
from rankloop._json import parse_json
from rankloop.interleaving.always_valid import Sequential, always_valid
from rankloop.interleaving.method import method
from rankloop.interleaving.page import Page
from rankloop.interleaving.verdict import Verdict, verdict

__all__ = ["Duel", "read_duel"]


@dataclass(frozen=True, eq=False, slots=True)
class Duel:
    """The pages of a comparison with their clicks and credits (one row per page, one column per ranker)."""

    names: tuple[str, ...]
    pages: list[Page]
    clicks: list[list[Any]]
    credits: Floats
    users: list[Any] | None = None

    @property
    def caution(self) -> str:
        """Where the credit of these pages is not fair, so that a winner may be none; often nothing."""
        return method(self.pages[0].method).fault if self.pages else ""

    def verdicts(self, *, confidence: float = 0.95) -> list[Verdict]:
        """The verdict on every pair of rankers, in the order of `names`."""
        return [
            verdict(
                self.credits[:, [a, b]],
                users=self.users,
                names=(self.names[a], self.names[b]),
                confidence=confidence,
            )
            for a, b in combinations(range(len(self.names)), 2)
        ]

    def always_valid(self, first: str, second: str, *, confidence: float = 0.95) -> Sequential:
        """The verdict after every page, for one pair."""
        pair = [self.names.index(first), self.names.index(second)]
        return always_valid(
            self.credits[:, pair], users=self.users, confidence=confidence, names=(first, second)
        )

    def save(self, path: str | Path) -> None:
        """Write one JSON object per page, with its clicks, for `read_duel`."""
        users = self.users or [None] * len(self.pages)
        with replacing(path) as beside, beside.open("w", encoding="utf-8") as out:
            for page, clicked, who in zip(self.pages, self.clicks, users, strict=True):
                line = {"page": page.to_dict(), "clicks": clicked, "names": self.names}
                out.write(json.dumps(line if who is None else {**line, "user": who}) + "\n")


def read_duel(path: str | Path, *, names: Sequence[str] | None = None) -> Duel:
    """Read a comparison from a log: JSON lines with `page`, `clicks` and, where known, `user`."""
    pages, clicks, users, logged = [], [], [], names
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = parse_json(line)
                pages.append(Page.from_dict(row["page"]))
                clicks.append(list(row["clicks"]))
            except (LookupError, TypeError, ValueError, OverflowError) as error:
                raise ValueError(
                    f"{path}, line {number}: not an interleaved page with clicks ({error})"
                ) from None
            users.append(row.get("user"))
            logged = logged or row.get("names")
    if not pages:
        raise ValueError(f"{path} holds no pages")
    kinds = {(page.method, page.rankers) for page in pages}
    if len(kinds) > 1:
        raise ValueError(f"{path} mixes experiments ({sorted(kinds)}); judge one at a time")
    labels = tuple(logged) if logged else tuple(f"ranker {i + 1}" for i in range(pages[0].rankers))
    if len(labels) != pages[0].rankers:
        raise ValueError(f"the pages have {pages[0].rankers} rankers, but {len(labels)} names were given")
    known = None if any(who is None for who in users) else users
    return Duel(labels, pages, clicks, _logged_credits(path, pages, clicks), known)


def _logged_credits(path: str | Path, pages: Sequence[Page], clicks: Sequence[Sequence[Any]]) -> Floats:
    """The credits of pages from a file, whose notes may be of any shape."""
    how = method(pages[0].method)
    rows = []
    for number, (page, clicked) in enumerate(zip(pages, clicks, strict=True), 1):
        try:
            rows.append(how.credit(page, clicked))
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f"{path}, line {number}: the clicks cannot be credited to this {page.method} page ({error})"
            ) from None
    return np.array(rows).reshape(-1, pages[0].rankers)
