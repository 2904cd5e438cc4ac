"""Versions that learn while they serve: their state in the store, shared by all processes, and the alarm."""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, insert, select, update

from rankloop.interleaving import ABVerdict, ab_verdict
from rankloop.search import Pipeline
from rankloop.search.ranked import Ranked
from rankloop.serve.events.desk_tables import learned_pages, learners
from rankloop.serve.events.tables import acts
from rankloop.serve.events.writing import insert_new
from rankloop.serve.experiments.people import people_of
from rankloop.serve.models.live import Model
from rankloop.serve.models.registry import withdraw
from rankloop.serve.online.explore import bandit_of, pages_of, warm
from rankloop.serve.online.reading import taught_pages
from rankloop.serve.online.steps import first_state, learned, with_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.serve.config import InfluenceSettings
    from rankloop.serve.events.store import Store
    from rankloop.serve.models.live import Learning, Live

__all__ = ["Learners"]

BATCH = 500  # pages of one transaction
LOOK = 10.0  # seconds between two looks of the alarm, and at least `COST` times what a look takes
COST = 20.0
ALARM = "alarm"  # who rolls back, in the audit trail


class Learners:
    """The state of every learner is one row: a step of learning changes it together with the pages learned.

    So a page teaches once, whichever process learns from it, and a process that is killed leaves the state
    before or after a step.
    """

    def __init__(self, store: "Store", influence: "InfluenceSettings") -> None:
        self.store, self._most = store, influence.person
        self._bound = influence.origin > 0
        self._made: dict[str, Model] = {}
        self._verdicts: dict[str, tuple[float, ABVerdict | None]] = {}

    def now(self, model: Model, best: "Callable[[str], Model]") -> Model:
        """A version with what it has learned; `best` gives the version that a bandit prefers."""
        if model.learning is None:
            return model
        with self.store.reading() as connection:
            row = _row(connection, model.version)
        known = self._made.get(model.version)
        key = (0, 0) if row is None else (row["run"], row["number"])
        if known is None or known.learning is None or known.learning.key != key:
            known = self._made[model.version] = self._with(model, row, best)
        return known

    def applied(self, live: "Live", before: "Live | None", best: "Callable[[str], Model]") -> "Live":
        """The live versions, with what was learned so far; a version without news stays the same object."""
        models = dict(live.models)
        for version, model in live.models.items():
            if model.learning is None:
                continue
            with self.store.reading() as connection:
                row = _row(connection, version)
            known = before.models.get(version) if before is not None and row is not None else None
            key = known.learning.key if known is not None and known.learning is not None else None
            if known is None or row is None or key != (row["run"], row["number"]):
                known = self._with(model, row, best)
            models[version] = known
        return replace(live, models=models)

    def look(self, live: "Live") -> bool:
        """Learn from the pages that have settled, and stop what fell below its floor; True after a change."""
        changed = False
        for version in dict.fromkeys((live.roles.production, live.roles.canary)):
            model = live.models.get(str(version))
            if model is not None and model.learning is not None:
                changed |= self._begin(model)
                changed |= self._learn(model)
                changed |= self._check(model)
        return changed

    def verdict(self, model: Model) -> ABVerdict | None:
        """The pages of the learner against those of the floor at the same time; None without pages.

        A verdict is reused for a while.
        """
        if model.learning is None:
            return None
        group = pages_of(model.version, model.learning.run)
        until, known = self._verdicts.get(group, (0.0, None))
        start = time.monotonic()
        if start < until:
            return known
        found = self._compared(model.learning, group)
        end = time.monotonic()
        self._verdicts[group] = end + max(LOOK, COST * (end - start)), found
        return found

    def _compared(self, learning: "Learning", group: str) -> ABVerdict | None:
        settled = time.time() - learning.settings.settle
        every = self.store.credits(group)
        pages = [one for one in every if one.time <= settled]
        if not pages:
            return None
        arms = ["floor" if one.randomness["online"]["control"] else "learner" for one in pages]
        return ab_verdict(
            [bool(one.clicked) for one in pages],
            arms,
            people_of(pages, arms, bound=self._bound),
            share=1 - learning.settings.control,
            names=("learner", "floor"),
        )

    def stop(self, model: Model, reason: str) -> bool:
        """End a run: the floor serves again, and the learner is as it was at the start; all at once."""
        assert model.learning is not None
        start, floor = first_state(model.learning), model.learning.settings.floor
        with self.store.writing() as connection:
            served = withdraw(connection, model.version, floor)
            found = _locked(connection, model)
            if found["run"] != model.learning.run or found["stopped"] is not None:
                return False
            values = {"stopped": time.time(), "reason": reason, "number": found["number"] + 1}
            _change(connection, model.version, state=json.dumps(start), **values)
            detail = {"version": model.version, "reason": reason, "before": served, "after": floor}
            row = {"id": secrets.token_hex(8), "time": time.time(), "who": ALARM, "act": "roll back"}
            connection.execute(insert(acts), {**row, "detail": json.dumps(detail)})
        return True

    def _with(self, model: Model, row: Mapping[str, Any] | None, best: "Callable[[str], Model]") -> Model:
        assert model.learning is not None
        if row is None:
            row = {"run": 0, "number": 0, "state": json.dumps(first_state(model.learning))}
        now = _at(model.learning, row)
        if now.settings.chooses:
            return Model(model.version, best(bandit_of(now).best).pipeline, now)
        warm()
        return Model(model.version, _ranked_by(model.pipeline, now.ranker), now)

    def _begin(self, model: Model) -> bool:
        """A new run for a version that serves for the first time, or again after it was stopped."""
        assert model.learning is not None
        with self.store.reading() as connection:
            row = _row(connection, model.version)
        if row is not None and row["run"] > 0 and row["stopped"] is None:
            return False
        with self.store.writing() as connection:
            found = _locked(connection, model)
            if found["run"] == 0 or found["stopped"] is not None:
                values = {
                    "run": found["run"] + 1,
                    "number": found["number"] + 1,
                    "stopped": None,
                    "reason": "",
                }
                state = json.dumps(first_state(model.learning))
                _change(connection, model.version, state=state, started=time.time(), **values)
        return True

    def _learn(self, model: Model) -> bool:
        assert model.learning is not None
        names = model.pipeline.features.names
        until = time.time() - model.learning.settings.settle
        with self.store.reading() as connection:
            row = _row(connection, model.version)
            if row is None or not taught_pages(connection, row, until, names, 1):
                return False
        with self.store.writing() as connection:
            found = _locked(connection, model)
            pages = taught_pages(connection, found, until, names, BATCH, most=self._most)
            after = learned(_at(model.learning, found), [one for one in pages if one.counts])
            _change(connection, model.version, state=json.dumps(after), number=found["number"] + 1)
            rows = [
                {"page_id": one.page_id, "version": model.version, "person": one.person, "time": one.time}
                for one in pages
            ]
            insert_new(connection, learned_pages, rows)
        return True

    def _check(self, model: Model) -> bool:
        """The alarm: stops a version whose pages people like less than those of the floor."""
        found = self.verdict(model)
        if found is None or found.winner != "floor":
            return False
        low, high = -100 * found.high, -100 * found.low
        floor = model.learning.settings.floor  # type: ignore[union-attr]  # it learns: it has a verdict
        reason = (
            f"{-100 * found.difference:.1f} % more pages of {floor} had a click "
            f"({low:.1f} to {high:.1f} %, {sum(found.people):,} people)"
        )
        return self.stop(model, reason)


def _at(learning: "Learning", row: Mapping[str, Any]) -> "Learning":
    """A learner in the state of a row."""
    state = json.loads(row["state"])
    ranker = None if learning.settings.chooses else with_weights(learning.first, state["weights"])
    return replace(learning, run=row["run"], number=row["number"], state=state, ranker=ranker)


def _ranked_by(pipeline: Pipeline, ranker: Any) -> Pipeline:
    """The same stages with another ranker."""
    return Pipeline(tuple(Ranked(ranker) if isinstance(one, Ranked) else one for one in pipeline.stages))


def _row(connection: Connection, version: str) -> Mapping[str, Any] | None:
    row = connection.execute(select(learners).where(learners.c.version == version)).mappings().first()
    return None if row is None else dict(row)


def _locked(connection: Connection, model: Model) -> Mapping[str, Any]:
    """The row of a learner, locked until the transaction ends; made where there is none."""
    assert model.learning is not None
    now = time.time()
    new = {"version": model.version, "run": 0, "number": 0, "state": json.dumps(first_state(model.learning))}
    insert_new(connection, learners, [{**new, "started": now, "time": now, "stopped": None, "reason": ""}])
    wanted = select(learners).where(learners.c.version == model.version).with_for_update()
    return dict(connection.execute(wanted).mappings().one())


def _change(connection: Connection, version: str, **values: Any) -> None:
    connection.execute(
        update(learners).where(learners.c.version == version).values(**values, time=time.time())
    )
