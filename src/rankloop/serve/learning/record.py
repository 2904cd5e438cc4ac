"""Records of learning runs: a row for each, written when it starts and when it ends."""

import json
import secrets
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select, update

from rankloop.serve.events.store import Store
from rankloop.serve.events.tables import learning

__all__ = ["UNDER_WAY", "LearningRun", "begin", "finish", "newest", "note_stage", "runs", "stop_unfinished"]

UNDER_WAY = "another run learns from these clicks"


@dataclass(frozen=True, slots=True, repr=False)
class LearningRun:
    """One run: "promoted", "registered" (the gate stayed shut), "too little", "nothing new" or "failed".

    A run that was killed is "running" until the next one finds it, and then "stopped". `record` holds the
    window, the checks, every candidate with its estimates, and the decision of the gate.
    """

    id: str
    started: float
    ended: float | None = None
    state: str = "running"
    version: str | None = None
    report: str | None = None
    record: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __repr__(self) -> str:
        when = datetime.fromtimestamp(self.started, UTC)
        lines = [f"learning run {self.id} of {when:%Y-%m-%d %H:%M} UTC: {self.state}"]
        if "window" in self.record:
            lines.append(
                "{pages:,} pages, {clicks:,} clicks, {queries:,} queries".format(**self.record["window"])
            )
        for name, found in self.record.get("candidates", {}).items():
            value, gain = found["value"], found["gain"]
            against = "" if name == "production" else "  gain {:+.4f} ({:+.4f} to {:+.4f})".format(*gain)
            lines.append(f"  {name:<18} {value[0]:.4f} ({value[1]:.4f} to {value[2]:.4f}){against}")
        lines += [f"warning: {one}" for one in self.record.get("warnings", ())]
        ends = {"": self.record.get("message"), "registered as ": self.version, "report: ": self.report}
        lines += [f"{label}{value}" for label, value in ends.items() if value]
        return "\n".join(lines)


def begin(store: Store, now: float) -> LearningRun:
    """A new row in the state "running"."""
    stamp = datetime.fromtimestamp(now, UTC)
    run = LearningRun(f"{stamp:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}", now)
    with store.writing() as connection:
        connection.execute(insert(learning), _row(run))
    return run


def finish(store: Store, run: LearningRun, now: float, **changes: Any) -> LearningRun:
    """The end of a run, in one transaction."""
    done = replace(run, ended=now, **changes)
    with store.writing() as connection:
        connection.execute(update(learning).where(learning.c.id == run.id).values(**_row(done)))
    return done


def note_stage(store: Store, run: LearningRun, stage: str) -> None:
    """What a run does now, for those who watch it."""
    with store.writing() as connection:
        unfinished = update(learning).where(learning.c.id == run.id, learning.c.state == "running")
        connection.execute(unfinished.values(record=json.dumps({"stage": stage})))


def stop_unfinished(store: Store, now: float) -> None:
    """Mark runs that were killed; the caller holds the lock, so none of them is still running."""
    with store.writing() as connection:
        unfinished = update(learning).where(learning.c.state == "running")
        connection.execute(unfinished.values(state="stopped", ended=now))


def runs(store: Store, n: int = 50) -> list[LearningRun]:
    """The last runs, newest first."""
    statement = select(learning).order_by(learning.c.started.desc(), learning.c.id.desc()).limit(n)
    with store.reading() as connection:
        rows = connection.execute(statement).mappings().all()
    return [LearningRun(**{**row, "record": json.loads(row["record"])}) for row in rows]


def newest(store: Store) -> LearningRun | None:
    """The last run that ended with a result."""
    done = ("promoted", "registered", "too little")
    return next((run for run in runs(store) if run.state in done), None)


def _row(run: LearningRun) -> dict[str, Any]:
    return {**asdict(run), "record": json.dumps(run.record)}
