"""Learning in the service: from the clicks of a window to a version, promoted only past a gate."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.clicks import ClickLog, check
from rankloop.metrics import Comparison, compare
from rankloop.search import Pipeline, Query, Searchable
from rankloop.search.index.lock import IndexLocked, WriterLock
from rankloop.serve.config import Config
from rankloop.serve.desk.acts import note_act
from rankloop.serve.events.store import Store, StoreAway
from rankloop.serve.learning.against_production import Compared, Rivals, compare_with_production
from rankloop.serve.learning.due import clicked_pages, last_look
from rankloop.serve.learning.gate import JUDGED, at_every_look, decide, judged_worse
from rankloop.serve.learning.influential import gain_of_a_few
from rankloop.serve.learning.lineage import judged_difference, lineage_of, saved_curves
from rankloop.serve.learning.record import (
    UNDER_WAY,
    LearningRun,
    begin,
    finish,
    newest,
    note_stage,
    runs,
    stop_unfinished,
)
from rankloop.serve.learning.remembering import voices_of
from rankloop.serve.learning.report import report_of_run
from rankloop.serve.learning.ubi_window import came_since, ubi_origins, with_ubi
from rankloop.serve.learning.window import Window, curves_of, read_window, searched
from rankloop.serve.models.live import ensure_production, logged_features
from rankloop.serve.models.registry import Registry
from rankloop.serve.models.shared_files import SharedFiles
from rankloop.serve.open_searchable import open_searchable

if TYPE_CHECKING:
    from rankloop.serve.service import Service

__all__ = ["LearningRun", "learn_once", "runs"]

METRIC = "ndcg@10"  # of judgments
DAY = 86_400.0
CANDIDATES = 3  # of which the gate sees the best: trees and weights with the bias corrected, and memory
LEAST_CLICKS, LEAST_QUERIES = 100, 20  # clicks, and queries with a click, below which nothing is learned


def learn_once(
    served: "Service | Config | str | Path",
    *,
    again: bool = False,
    clicked: int = 0,
    seed: int = 0,
    now: float | None = None,
) -> LearningRun:
    """Read new clicks, learn candidates, compare them with production, register the best, and promote it
    if the gate of the config opens.

    Nothing is done where nobody searched since the last run, or people clicked on fewer than `clicked` pages,
    unless `again` is set. Runs never overlap; one that is killed leaves its row, perhaps a version that does
    not serve, and nothing else.
    """
    with _opened(served) as at:
        lock = WriterLock(at.config.home / "learning.lock")
        try:
            lock.acquire()
        except IndexLocked:
            raise ValueError(f"{UNDER_WAY}; wait until it has ended") from None
        try:
            with at.store.alone("learning"):
                return _run(at, again, clicked, seed, time.time() if now is None else now)
        finally:
            lock.release()


@dataclass(frozen=True, eq=False)
class _Parts:
    """What a run reads and writes."""

    config: Config
    index: Searchable
    store: Store
    registry: Registry


@contextmanager
def _opened(served: "Service | Config | str | Path") -> Iterator[_Parts]:
    if not isinstance(served, Config | str | Path):
        yield _Parts(served.config, served.index, served.store, served.registry)
        return
    config = served if isinstance(served, Config) else Config.read(served)
    config.home.mkdir(parents=True, exist_ok=True)
    with Store.open(config.database) as store:
        yield _Parts(config, open_searchable(config), store, Registry(store, config.home / "models"))


def _run(at: _Parts, again: bool, clicked: int, seed: int, now: float) -> LearningRun:
    stop_unfinished(at.store, now)
    before = newest(at.store)
    if before is not None and not again:
        since, why = float(before.record.get("window", {}).get("until", before.started)), ""
        if not searched(at.store, since=since, until=now) and not came_since(at.config.home, since):
            why = "nobody searched since the last run"
        elif clicked and clicked_pages(at.store, last_look(at.store, at.registry)) < clicked:
            why = f"people clicked on fewer than {clicked} pages since the last run"
        if why:
            return LearningRun("-", now, now, "nothing new", record={"message": why})
    run = begin(at.store, now)
    try:
        return _learn(at, run, seed, now)
    except BaseException as error:
        failure = {"message": f"{type(error).__name__}: {error}"}
        with suppress(StoreAway):  # then the next run marks it as stopped
            finish(at.store, run, time.time(), state="failed", record=failure)
        raise


def _learn(at: _Parts, run: LearningRun, seed: int, now: float) -> LearningRun:
    since = now - DAY * at.config.window_days if at.config.window_days > 0 else None
    production = ensure_production(at.registry, at.index, at.config)
    pipeline = at.registry.load(production, at.index)
    gate = at_every_look(at.config.gate, _looks(at, production), CANDIDATES)
    having = pipeline.features.names
    note_stage(at.store, run, "reading clicks")
    part: dict[str, Any] = {"since": since, "until": now, "depth": at.config.swap_top, "seed": seed}
    part["influence"] = at.config.influence
    window = read_window(at.store, having=having, **part)
    window = with_ubi(window, at.config.home, at.index, logged_features(at.index, at.config), **part)
    if window is None or window.clicks < LEAST_CLICKS or window.clicked_queries < LEAST_QUERIES:
        message = (
            f"learning needs {LEAST_CLICKS} clicks on {LEAST_QUERIES} queries, there are "
            f"{window.clicks if window else 0} on {window.clicked_queries if window else 0}"
        )
        return finish(at.store, run, time.time(), state="too little", record={"message": message})
    note_stage(at.store, run, "estimating the bias of ranks")
    curves, log = curves_of(window.log, seed=seed)
    record: dict[str, Any] = {
        "window": window.to_dict(),
        "dropped": at.store.dropped(since=since, until=now, influence=at.config.influence, seed=seed)
        | {"features": window.others},
        "log": asdict(check(log).facts),
        "production": production,
    }
    note_stage(at.store, run, "learning rankers and comparing them with production")
    try:
        rivals = _rivals(at, production, pipeline, log)
        compared = compare_with_production(rivals, window, log, curves, gate, seed=seed)
    except ValueError as error:  # too few queries, no clicks, features that are no longer logged
        message = f"nothing can be learned from the window: {error}"
        return finish(at.store, run, time.time(), state="too little", record={**record, "message": message})
    note_stage(at.store, run, "deciding at the gate")
    name, made, found, candidate = compared.chosen, compared.made, compared.found, compared.pipeline
    judged = _judged(at, pipeline, candidate)
    alarms = (*curves.alarms, *judged_worse(judged, METRIC), *_changes_by_people(at, production))
    decision = decide(gate, log.n_pages, found[name], alarms)
    if decision.opens:
        rests = _rests_on_a_few(at, window, log, compared, seed)
        decision = decide(gate, log.n_pages, found[name], (*alarms, *rests))
    record |= {
        "curves": saved_curves(curves, made),
        "candidates": {one: result.to_dict() for one, result in found.items()},
        "best": name,
        "judged": None if judged is None else judged_difference(judged, METRIC),
        "gate": decision.to_dict(),
        "message": str(decision),
        "found": made.learned.summary,
        "warnings": [*curves.notes, *compared.warnings],
    }
    report = f"learning-{run.id}.html"
    (at.config.home / "reports").mkdir(parents=True, exist_ok=True)
    report_of_run(run, record, window, made, judged).save(at.config.home / "reports" / report)
    SharedFiles(at.store, at.config.home / "reports").put(report)
    lineage = lineage_of(name, made, found, judged, record, report, gate.metric, METRIC)
    version = at.registry.register(candidate, lineage=lineage)
    if decision.opens:
        at.registry.load(version, at.index)  # a version that cannot be loaded must not serve
        at.registry.promote(version)
        note_act(at.store, "learning", "promote", version=version, before=production, after=version)
    state = "promoted" if decision.opens else "registered"
    return finish(at.store, run, time.time(), state=state, version=version, report=report, record=record)


def _looks(at: _Parts, production: str) -> int:
    """The number of runs that compared candidates with this version, and this one."""
    seen = (one for one in runs(at.store, n=10_000) if one.record.get("production") == production)
    return 1 + sum("gate" in one.record for one in seen)


def _changes_by_people(at: _Parts, production: str) -> list[str]:
    """Changes of roles by people, which a promotion must not undo."""
    roles = at.registry.roles()
    alarms = []
    if roles.production != production:
        alarms.append(f"{roles.production} was promoted during the run")
    if roles.canary is not None:
        alarms.append(f"{roles.canary} is a canary; end that first")
    return alarms


def _rivals(at: _Parts, production: str, pipeline: Pipeline, log: ClickLog) -> Rivals:
    """The version that serves, what it remembers, and whose clicks may be remembered."""
    voices = None
    if at.config.remember:
        voices = voices_of(log, _origins(at, None, None), at.config.influence.voices)
    until = None
    if pipeline.remembered is not None:
        lineage = at.registry.version(production).lineage
        until = float(lineage.get("window", {}).get("until", np.inf))
    return Rivals(at.index, pipeline, at.config.k, at.config.learn_budget, voices, until)


def _rests_on_a_few(at: _Parts, window: Window, log: ClickLog, compared: Compared, seed: int) -> list[str]:
    """Reasons to keep the gate shut that a second look finds, without the most influential people."""
    gate = at.config.gate
    origins = None
    if at.config.influence.origin > 0:
        known = _origins(at, window.since, window.until)
        origins = [known.get(page) for page in log.sessions.tolist()]
    return gain_of_a_few(
        log,
        window.data,
        compared.made.curve,
        compared.production,
        compared.made.candidates[compared.chosen].scores,
        compared.again,
        origins=origins,
        bar=gate.gain,
        metric=gate.metric,
        seed=seed,
    )


def _origins(at: _Parts, since: float | None, until: float | None) -> dict[str, str]:
    """The address range of each page, of the service and of other front ends; none where that is off."""
    if at.config.influence.origin <= 0:
        return {}
    return at.store.origins(since=since, until=until) | ubi_origins(at.config.home)


def _judged(at: _Parts, production: Pipeline, candidate: Pipeline) -> Comparison | None:
    """Both rankings compared on judgments, where there are enough."""
    judgments = at.store.judgments()
    if len(judgments.qid) < JUDGED:
        return None
    queries: dict[str, str | Query] = {str(query): str(query) for query in judgments.qid.tolist()}
    rankings = {"production": production.run(queries), "candidate": candidate.run(queries)}
    return compare(rankings, judgments, METRIC)
