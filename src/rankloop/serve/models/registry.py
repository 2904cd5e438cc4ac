"""The model registry: versions with their lineage and roles."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, RowMapping, func, insert, select, update

from rankloop._names import unknown
from rankloop.serve.events.store import Store
from rankloop.serve.events.tables import models, roles
from rankloop.serve.events.writing import insert_new
from rankloop.serve.json_value import json_value
from rankloop.serve.models.files import add_file, checked_file
from rankloop.serve.models.shared_files import SharedFiles

if TYPE_CHECKING:
    from rankloop.search import Searchable
    from rankloop.search.pipeline import Pipeline

__all__ = ["Registry", "Roles", "Version", "withdraw"]


@dataclass(frozen=True, slots=True)
class Version:
    """A model: its lineage, the hash of its file, and its role now."""

    version: str
    time: float
    lineage: Mapping[str, Any]
    sha256: str
    role: str | None


@dataclass(frozen=True, slots=True)
class Roles:
    """Who serves: `canary` a `share` of the users, `shadow` nobody; `previous` returns with a rollback."""

    production: str | None = None
    previous: str | None = None
    shadow: str | None = None
    canary: str | None = None
    share: float = 0.0

    def of(self, version: str) -> str | None:
        """The role of a version now."""
        names = ("production", "canary", "shadow", "previous")
        return next((name for name in names if getattr(self, name) == version), None)


class Registry:
    """Versions "v1", "v2", ...: their files are in `folder` under their hash, their rows in the store.

    A file is written beside and renamed before its row, which has its hash, is inserted: a version that is
    listed is whole. Every change of roles is one transaction, so that all workers agree. Where the store is a
    server, it has the files too, and a service that has not seen a version fetches it from there.
    """

    def __init__(self, store: Store, folder: str | Path) -> None:
        self.store, self.folder = store, Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._files = SharedFiles(store, self.folder)

    def register(self, search: "Pipeline | str | Path", *, lineage: Mapping[str, Any]) -> str:
        """Add a pipeline (or the file of one) as a new version; it serves nobody until it is promoted."""
        text = json.dumps(json_value(lineage, strict=True))
        digest = add_file(search, self.folder)
        with self.store.writing() as connection:
            _one_at_a_time(connection)
            return self._insert(connection, digest, text)

    def begin(self, search: "Pipeline", *, lineage: Mapping[str, Any]) -> str:
        """The version in production; where there is none, the pipeline is registered and promoted.

        Of services that begin together one registers it, and the others serve what it registered.
        """
        known = self.roles().production
        if known is not None:
            return known
        digest = add_file(search, self.folder)
        with self.store.writing() as connection:
            _one_at_a_time(connection)
            known = _roles(connection).production
            if known is None:
                known = self._insert(connection, digest, json.dumps(json_value(lineage, strict=True)))
                _change(connection, production=known)
        return known

    def _insert(self, connection: Connection, digest: str, lineage: str) -> str:
        """A row for a file of the folder; the caller holds the lock."""
        self._files.put(f"{digest}.zip", connection)
        number = (connection.execute(select(func.max(models.c.number))).scalar() or 0) + 1
        row = {"number": number, "version": f"v{number}", "time": time.time(), "sha256": digest}
        connection.execute(insert(models), {**row, "lineage": lineage})
        return f"v{number}"

    def share(self) -> None:
        """Put files into the store that only this folder has, as an earlier rankloop left them."""
        self._files.put_all(f"{one.sha256}.zip" for one in self.versions())

    def versions(self) -> list[Version]:
        """All versions, oldest first."""
        with self.store.reading() as connection:
            now = _roles(connection)
            rows = connection.execute(select(models).order_by(models.c.number)).mappings().all()
        return [_version(row, now) for row in rows]

    def version(self, version: str) -> Version:
        """One version by name."""
        with self.store.reading() as connection:
            return _version(_row(connection, version), _roles(connection))

    def load(self, version: str, index: "Searchable", **options: Any) -> "Pipeline":
        """The pipeline of a version, if its file is what was registered; `options` as of `load_pipeline`."""
        from rankloop.search import load_pipeline

        digest = self.version(version).sha256
        self._files.get(f"{digest}.zip")
        try:
            file = checked_file(digest, self.folder, version)
        except ValueError:  # a damaged copy
            self._files.get(f"{digest}.zip", again=True)
            file = checked_file(digest, self.folder, version)
        return load_pipeline(file, index, **options)

    def path(self, version: str) -> Path:
        """The file of a version."""
        return self._files.get(f"{self.version(version).sha256}.zip")

    def note(self, version: str, results: Mapping[str, Any]) -> None:
        """Add results (offline, counterfactual, interleaved) to the lineage of a version."""
        with self.store.writing() as connection:
            _one_at_a_time(connection)
            lineage = {**json.loads(_row(connection, version)["lineage"]), **results}
            change = update(models).where(models.c.version == version)
            connection.execute(change.values(lineage=json.dumps(json_value(lineage, strict=True))))

    def roles(self) -> Roles:
        """Which versions serve now."""
        with self.store.reading() as connection:
            return _roles(connection)

    def promote(self, version: str) -> None:
        """Let a version serve everybody; the one before it can be rolled back to."""
        with self.store.writing() as connection:
            history = _one_at_a_time(connection)
            _row(connection, version)
            now = _roles(connection)
            if now.production == version:
                return
            if now.production is not None:
                history.append(now.production)
            _change(connection, production=version, history=json.dumps(history), **_freed(now, version))

    def roll_back(self) -> str:
        """Let the version before serve again; gives its name."""
        with self.store.writing() as connection:
            history = _one_at_a_time(connection)
            if not history:
                raise ValueError("there is no version to roll back to; promote one by name")
            version = history.pop()
            now = _roles(connection)
            _change(connection, production=version, history=json.dumps(history), **_freed(now, version))
        return version

    def shadow(self, version: str | None) -> None:
        """Let a version rank pages that are not shown; None ends it."""
        self._assign("shadow", version)

    def canary(self, version: str | None, share: float = 0.05) -> None:
        """Let a version serve a share of the users; None ends it."""
        if version is not None and not 0 < share <= 1:
            raise ValueError(f"the share of a canary lies in (0, 1], got {share}")
        self._assign("canary", version, share=0.0 if version is None else share)

    def _assign(self, role: str, version: str | None, **others: Any) -> None:
        with self.store.writing() as connection:
            _one_at_a_time(connection)
            if version is not None:
                _row(connection, version)
                if _roles(connection).production == version:
                    raise ValueError(f"{version} is in production; choose another version as {role}")
            _change(connection, **{role: version}, **others)


def withdraw(connection: Connection, version: str, floor: str) -> str | None:
    """Let another version serve where this one does, in the caller's transaction; gives production before."""
    history = [one for one in _one_at_a_time(connection) if one != version]
    now = _roles(connection)
    if now.production == version:
        while history and history[-1] == floor:
            history.pop()
        _change(connection, production=floor, history=json.dumps(history))
    if version in (now.shadow, now.canary):
        _change(connection, **_freed(now, version))
    return now.production


def _one_at_a_time(connection: Connection) -> list[str]:
    """Lock the row of roles until the transaction ends; gives the earlier versions in production."""
    empty = {"row": 1, "history": "[]", "share": 0.0, "changed": time.time()}
    insert_new(connection, roles, [empty])
    history: list[str] = json.loads(
        connection.execute(select(roles.c.history).where(roles.c.row == 1).with_for_update()).scalar_one()
    )
    return history


def _roles(connection: Connection) -> Roles:
    row = connection.execute(select(roles).where(roles.c.row == 1)).mappings().first()
    if row is None:
        return Roles()
    history = json.loads(row["history"])
    previous = history[-1] if history else None
    return Roles(row["production"], previous, row["shadow"], row["canary"], row["share"])


def _row(connection: Connection, version: str) -> RowMapping:
    row = connection.execute(select(models).where(models.c.version == version)).mappings().first()
    if row is None:
        known = connection.execute(select(models.c.version)).scalars().all()
        raise unknown("version", version, known)
    return row


def _version(row: RowMapping, now: Roles) -> Version:
    version = row["version"]
    return Version(version, row["time"], json.loads(row["lineage"]), row["sha256"], now.of(version))


def _freed(now: Roles, version: str) -> dict[str, Any]:
    """What ends for a version that serves everybody: being shadow or canary."""
    freed: dict[str, Any] = {"shadow": None} if now.shadow == version else {}
    return freed | ({"canary": None, "share": 0.0} if now.canary == version else {})


def _change(connection: Connection, **values: Any) -> None:
    connection.execute(update(roles).where(roles.c.row == 1).values(**values, changed=time.time()))
