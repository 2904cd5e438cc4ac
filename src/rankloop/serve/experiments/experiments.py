"""Two versions compared on people: interleaved on one page, or each on its own share of them."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sqlalchemy import insert, select, update

from rankloop.interleaving import ABVerdict, Page, ab_verdict, always_valid, method
from rankloop.interleaving.sequential.boundary import LEAST_PEOPLE
from rankloop.serve.config import InfluenceSettings
from rankloop.serve.events.connections import in_turn
from rankloop.serve.events.store import ExperimentPage, Store
from rankloop.serve.events.tables import experiments
from rankloop.serve.experiments.people import people_of

__all__ = ["Experiment", "Experiments", "Progress"]

KINDS = ("interleave", "ab")
_USUAL = InfluenceSettings()
CACHED = 10  # a verdict is reused for this many times the time it took to compute


@dataclass(frozen=True)
class Experiment:
    """A comparison of versions `a` and `b` on a share of all people.

    `planned` is the number of people after which an A/B experiment ends, if it was fixed at the start.
    """

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
    planned: int | None = None


@dataclass(frozen=True)
class Progress:
    """An experiment and its verdict so far, which holds at every look."""

    experiment: Experiment
    pages: int
    verdict: dict[str, Any] | None


class Experiments:
    """The experiments in a store: start, stop, and the verdict so far.

    Shares of running experiments are disjoint parts of all people, so they sum to 1 at most.
    """

    def __init__(self, store: Store, influence: InfluenceSettings = _USUAL) -> None:
        self.store, self._bound = store, influence.origin > 0
        self._known: dict[str, tuple[float, Progress]] = {}

    def start(
        self,
        a: str,
        b: str,
        *,
        kind: str,
        share: float = 1.0,
        how: str = "team_draft",
        planned: int | None = None,
        note: str = "",
    ) -> Experiment:
        """Begin; two versions on one page (`interleave`), or people divided between them (`ab`)."""
        if a == b:
            raise ValueError(f"an experiment compares two versions, got {a} twice")
        if kind not in KINDS:
            raise ValueError(f"an experiment is one of {', '.join(KINDS)}, got {kind!r}")
        if not 0 < share <= 1:
            raise ValueError(f"share is above 0 and at most 1, got {share}")
        if kind == "interleave":
            _check_method(how, planned)
        elif planned is not None and planned < LEAST_PEOPLE:
            raise ValueError(f"planned is a number of people, {LEAST_PEOPLE} or more, got {planned}")
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
            planned=planned,
        )
        with self.store.writing() as connection:
            in_turn(connection, "experiments")
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
            rows = connection.execute(
                select(experiments).order_by(experiments.c.started.desc(), experiments.c.id)
            ).mappings()
            return [Experiment(**row) for row in rows]

    def running(self) -> tuple[Experiment, ...]:
        """The experiments that have not ended, the oldest first."""
        return tuple(one for one in reversed(self.every()) if one.ended is None)

    def progress(self, one: Experiment) -> Progress:
        """The verdict so far, whose interval holds at every look.

        A verdict that took long to compute is reused for a while.
        """
        until, known = self._known.get(one.id, (0.0, None))
        if known is not None and known.experiment == one and time.monotonic() < until:
            return known
        start = time.monotonic()
        pages = self.store.credits(one.id)
        judge = self._compared if one.kind == "ab" else self._interleaved
        if not pages:
            return Progress(one, 0, None)
        found = Progress(one, len(pages), judge(one, pages))
        end = time.monotonic()
        self._known[one.id] = (end + CACHED * (end - start), found)
        return found

    def _compared(self, one: Experiment, pages: Sequence[ExperimentPage]) -> dict[str, Any]:
        """Pages with a click, and beside them, without a winner, pages with a click at rank 1."""
        arms = [one.a if page.ranker == one.a else one.b for page in pages]
        people = people_of(pages, arms, bound=self._bound)
        earlier = self.store.clicks_before(one.id, one.started)
        before = [earlier.get(page.user, np.nan) if page.user else np.nan for page in pages]

        def judged(values: Sequence[bool]) -> ABVerdict:
            return ab_verdict(values, arms, people, planned=one.planned, before=before, names=(one.a, one.b))

        top = judged([bool(page.clicked) and page.clicked[0] == page.documents[0] for page in pages])
        shown = {name: getattr(top, name) for name in ("means", "difference", "low", "high")}
        return judged([bool(page.clicked) for page in pages]).to_dict() | {"clicked_first": shown}

    def _interleaved(self, one: Experiment, pages: Sequence[ExperimentPage]) -> dict[str, Any]:
        """The verdict by credit, and beside it pages won, lost and tied."""
        how = method(one.method)
        credits = np.array([_credit(how, page) for page in pages])
        people = people_of(pages, bound=self._bound)
        found = always_valid(credits, users=people, names=(one.a, one.b))
        gap = credits[:, 0] - credits[:, 1]
        counts = {"wins": gap > 0, "losses": gap < 0, "ties": gap == 0}
        return found.to_dict() | {name: int(pages.sum()) for name, pages in counts.items()}


def _credit(how: Any, page: ExperimentPage) -> Any:
    """The credit of the clicks on the interleaved page itself; what follows it is of one ranker."""
    mixed = Page.from_dict(page.randomness)
    return how.credit(mixed, [document for document in page.clicked if document in mixed.documents])


def _check_method(how: str, planned: int | None) -> None:
    if fault := method(how).fault:
        raise ValueError(f"{fault}; use team_draft, probabilistic, optimized or pairwise_preference")
    if planned is not None:
        raise ValueError("planned is for A/B experiments (kind ab); interleaving may be looked at any time")
