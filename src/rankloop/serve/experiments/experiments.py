"""Two versions compared on people: interleaved on one page, or each on its own share of them."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sqlalchemy import insert, select, update

from rankloop.interleaving import Page, ab_verdict, always_valid, method, verdict
from rankloop.serve.events.store import ExperimentPage, Store
from rankloop.serve.events.tables import experiments

__all__ = ["Experiment", "Experiments", "Progress"]

KINDS = ("interleave", "ab")
CACHED = 10  # a verdict is reused for this many times the time it took to compute


@dataclass(frozen=True)
class Experiment:
    """A comparison of versions `a` and `b` on a share of all pages."""

    id: str
    kind: str
    a: str
    b: str
    share: float
    method: str
    seed: int
    started: float
    ended: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Progress:
    """An experiment and its verdict so far, for one look and for any number of looks."""

    experiment: Experiment
    pages: int
    verdict: dict[str, Any] | None
    always_valid: dict[str, Any] | None


class Experiments:
    """The experiments in a store: start, stop, and the verdict so far.

    Shares of running experiments are disjoint parts of all people, so they sum to 1 at most.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, tuple[float, Progress]] = {}

    def start(
        self, a: str, b: str, *, kind: str, share: float = 1.0, how: str = "team_draft", note: str = ""
    ) -> Experiment:
        """Begin; two versions on one page (`interleave`), or people divided between them (`ab`)."""
        if a == b:
            raise ValueError(f"an experiment compares two versions, got {a} twice")
        if kind not in KINDS:
            raise ValueError(f"an experiment is one of {', '.join(KINDS)}, got {kind!r}")
        if not 0 < share <= 1:
            raise ValueError(f"share is above 0 and at most 1, got {share}")
        if kind == "interleave":
            method(how)
        made = Experiment(
            id=secrets.token_hex(6),
            kind=kind,
            a=a,
            b=b,
            share=share,
            method=how if kind == "interleave" else "",
            seed=secrets.randbelow(2**31),
            started=time.time(),
            note=note,
        )
        with self.store.writing() as connection:
            taken = connection.execute(select(experiments.c.share).where(experiments.c.ended.is_(None)))
            free = 1.0 - sum(taken.scalars())
            if share > free + 1e-9:
                raise ValueError(
                    f"running experiments leave a share of {free:.2f}, got {share}; end one first"
                )
            connection.execute(insert(experiments), asdict(made))
        return made

    def end(self, id: str) -> Experiment:
        """End one; its verdict stays."""
        with self.store.writing() as connection:
            changed = connection.execute(
                update(experiments)
                .where(experiments.c.id == id, experiments.c.ended.is_(None))
                .values(ended=time.time())
            )
        found = self.get(id)
        if not changed.rowcount and found.ended is None:
            raise LookupError(f"no experiment {id!r}")
        return found

    def get(self, id: str) -> Experiment:
        """One experiment; `LookupError` if there is none with this id."""
        with self.store.reading() as connection:
            row = connection.execute(select(experiments).where(experiments.c.id == id)).mappings().first()
        if row is None:
            raise LookupError(f"no experiment {id!r}")
        return Experiment(**row)

    def every(self) -> list[Experiment]:
        """All experiments, the newest first."""
        with self.store.reading() as connection:
            rows = connection.execute(select(experiments).order_by(experiments.c.started.desc())).mappings()
            return [Experiment(**row) for row in rows]

    def running(self) -> tuple[Experiment, ...]:
        """The experiments that have not ended, the oldest first."""
        return tuple(one for one in reversed(self.every()) if one.ended is None)

    def progress(self, one: Experiment) -> Progress:
        """The verdict so far, with an interval for one look and one for any number of looks.

        A verdict that took long to compute is reused for a while.
        """
        until, known = self._known.get(one.id, (0.0, None))
        if known is not None and known.experiment == one and time.monotonic() < until:
            return known
        start = time.monotonic()
        found = self._progress(one)
        end = time.monotonic()
        self._known[one.id] = (end + CACHED * (end - start), found)
        return found

    def _progress(self, one: Experiment) -> Progress:
        pages = self.store.credits(one.id)
        if not pages:
            return Progress(one, 0, None, None)
        if one.kind == "ab":
            return Progress(one, len(pages), *_ab(one, pages))
        credits = _credits(one, pages)
        users = _users(pages)
        one_look = verdict(credits, users=users, names=(one.a, one.b))
        outcomes = _by_user(credits[:, 0] - credits[:, 1], users)
        any_look = always_valid(np.column_stack([outcomes, np.zeros(len(outcomes))]))
        bound = {
            "p_value": any_look.p_value,
            "low": any_look.low,
            "high": any_look.high,
            "decided": any_look.stop is not None,
        }
        return Progress(one, len(pages), one_look.to_dict(), bound)


def _credits(one: Experiment, pages: Sequence[ExperimentPage]) -> Any:
    how = method(one.method)
    return np.array([how.credit(Page.from_dict(page.randomness), page.clicked) for page in pages])


def _ab(
    one: Experiment, pages: Sequence[ExperimentPage]
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Pages with a click, and with a click at rank 1: the verdict for one look, and for any look."""
    arms = [one.a if page.ranker == one.a else one.b for page in pages]
    if len(set(arms)) < 2:
        return None, None
    outcomes = {
        "clicked": [bool(page.clicked) for page in pages],
        "clicked_first": [bool(page.clicked) and page.clicked[0] == page.documents[0] for page in pages],
    }
    once: dict[str, Any] = {"names": [one.a, one.b]}
    bounds: dict[str, Any] = {}
    for name, values in outcomes.items():
        found = ab_verdict(values, arms, _users(pages), names=(one.a, one.b))
        once |= {"pages": list(found.pages)}
        once[name] = {
            "rates": list(found.means),
            "difference": found.difference,
            "low": found.fixed_low,
            "high": found.fixed_high,
        }
        bounds[name] = {"p_value": found.p_value, "low": found.low, "high": found.high}
    first = once["clicked"]
    once["winner"] = one.a if first["low"] > 0 else one.b if first["high"] < 0 else None
    bounds["decided"] = bounds["clicked"]["low"] > 0 or bounds["clicked"]["high"] < 0
    return once, bounds


def _users(pages: Sequence[ExperimentPage]) -> list[str]:
    """Who saw each page; a page without a user is its own."""
    return [page.user or page.page_id for page in pages]


def _by_user(differences: Any, users: Sequence[str]) -> Any:
    """One outcome per person, in the order of first pages: pages of a person are not independent."""
    place: dict[str, int] = {}
    at = [place.setdefault(user, len(place)) for user in users]
    return np.sign(np.bincount(at, differences, minlength=len(place)))
