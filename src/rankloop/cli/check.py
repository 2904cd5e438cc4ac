"""`rankloop check`: whether files are as they were written."""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["check"]


def check(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Indexes, models, run folders, data sets, logs; folder, database or backup of a service.",
            metavar="INDEX|MODEL|DATA|STORE",
        ),
    ],
) -> None:
    """Compare files with their checksums, and name those that are damaged.

    rankloop check shop.index ranker.model train-set shop.serve
    """
    wrong = 0
    for path in paths:
        try:
            typer.echo(f"{path}: {_checked(path)}")
        except (ValueError, OSError) as error:
            wrong += 1
            typer.echo(f"{path}: {error}", err=True)
    if wrong:
        typer.echo(
            f"rankloop: {wrong} of {len(paths)} {'is' if wrong == 1 else 'are'} damaged or missing", err=True
        )
        raise typer.Exit(1)


def _checked(path: Path) -> str:
    """What the path is and how much was compared; an error names the damaged file."""
    from rankloop.cli.options.runs import MODEL
    from rankloop.cli.options.train_search import SEARCH

    if path.is_dir() and (path / "backup.json").exists():
        from rankloop.serve.backup.restore import check_backup

        return f"backup, intact: {len(check_backup(path)['files'])} files"
    if path.is_dir() and ((path / "events.db").exists() or (path / "models").is_dir()):
        return _store(path)
    kept = [path / name for name in (MODEL, SEARCH) if (path / name).is_file()]
    if kept:
        return f"a run folder with {_archive(kept[0])}"
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(16)
        if head.startswith(b"SQLite format 3"):
            return _database(path)
        if head.startswith(b"PK\x03\x04"):
            return _archive(path)
    from rankloop.data.kind_of import kind_of

    kind = kind_of(path)
    return _READERS.get(kind, _dataset)(path)


def _archive(path: Path) -> str:
    from rankloop import _archive

    kind = _archive.check(path)
    if kind == "ranker":
        from rankloop import load

        load(path)
    return f"{kind}, intact"


def _index(path: Path) -> str:
    from rankloop import Index

    index = Index.open(path)
    return f"index, intact: {index.check()} files, {len(index):,} documents"


def _dataset(path: Path) -> str:
    from rankloop.data import load_dataset, open_dataset
    from rankloop.data.load_dataset import is_saved

    saved = is_saved(path)
    data = load_dataset(path, verify=True) if saved else open_dataset(path)
    what = "data set, intact" if saved else "data set, can be read (text has no checksums)"
    return f"{what}: {data.n_queries:,} queries, {data.n_documents:,} documents"


def _shards(path: Path) -> str:
    from rankloop.data.shards.shards import open_shards

    return f"shards, intact: {open_shards(path, verify=True)!r}"


def _clicks(path: Path) -> str:
    from rankloop import read_clicks

    return f"a click log that can be read: {len(read_clicks(path).query):,} rows"


def _qrels(path: Path) -> str:
    from rankloop import read_qrels

    return f"judgments, can be read: {len(read_qrels(path).docid):,} rows"


def _run(path: Path) -> str:
    from rankloop import read_run

    return f"run, can be read: {len(read_run(path).docid):,} rows"


def _text(path: Path) -> str:
    from rankloop.data.files.whole import read_whole

    return f"text, can be read: {len(read_whole(path)):,} bytes"


_READERS: dict[str, Callable[[Path], str]] = {
    "index": _index,
    "shards": _shards,
    "qrels": _qrels,
    "run": _run,
    "scores": _text,
    "clicks.parquet": _clicks,
    "clicks.csv": _clicks,
    "clicks.jsonl": _clicks,
}


def _store(folder: Path) -> str:
    """The folder of a service: its database, its models, and what waits on disk for the database."""

    from rankloop._checksums import file_hash
    from rankloop.serve.events.segments import SUFFIX, is_torn
    from rankloop.serve.secret import read_secret

    database = folder / "events.db"
    parts = [_database(database)] if database.exists() else []
    known = _Known.of(database) if parts else None
    if (folder / "secret").exists():
        key = read_secret(folder / "secret")
        if known is not None:
            known.compare_key(folder / "secret", key)
    if (folder / "serving.json").exists():
        parts += _serving(folder / "serving.json", known)
    models = sorted((folder / "models").glob("*.zip"))
    for model in models:
        if file_hash(model) != model.stem:
            raise ValueError(f"{model} is damaged: its hash is not its name; register the model again")
    waiting = sorted((folder / "spool").glob(f"*{SUFFIX}"))
    for path in waiting:
        if is_torn(path.read_bytes()):
            raise ValueError(
                f"{path} has a damaged or unfinished record, which is skipped; the others will be stored"
            )
    if known is not None:
        there = {model.stem for model in models}
        for version, name in known.versions.items():
            if name not in there:
                gone = folder / "models" / f"{name}.zip"
                raise ValueError(f"{gone}, the file of {version}, is missing; restore it from a backup")
    return ", ".join(
        [*parts, f"{len(models)} intact models", f"{len(waiting)} intact files that wait for the database"]
    )


_RACE = 2.0  # seconds: processes of a service follow a promotion within them


@dataclass(frozen=True)
class _Known:
    """What a store knows of the files beside it: of versions and of the key of signatures their hashes."""

    versions: dict[str, str]
    production: str | None
    changed: float
    key: str | None

    @classmethod
    def of(cls, path: Path) -> "_Known":
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            versions = dict(connection.execute("SELECT version, sha256 FROM models ORDER BY number"))
            roles = connection.execute("SELECT production, changed FROM roles").fetchone()
            production, changed = roles or (None, 0.0)
            key = None
            with suppress(sqlite3.OperationalError):  # older stores have no such table
                key = connection.execute("SELECT sha256 FROM signing_key").fetchone()
        except sqlite3.OperationalError as error:  # a file that was cut to nothing is a sound, empty database
            raise ValueError(
                f"{path} is not the store of a service ({error}); restore it from a backup"
            ) from None
        finally:
            connection.close()
        return cls(versions, production, changed, None if key is None else str(key[0]))

    def compare_key(self, path: Path, key: bytes) -> None:
        from rankloop.serve.secret import SWAPPED, hash_of_key

        if self.key is not None and hash_of_key(key) != self.key:
            raise ValueError(f"{path} {SWAPPED}")


def _serving(path: Path, known: _Known | None) -> list[str]:
    """The version to start with while the database is away: one of the store's, and that in production."""
    from rankloop._checksums import checked_json

    again = "delete it, it is written again"
    try:
        content = checked_json(path.read_text("utf-8"), signed=True)
        version, hashed = str(content["production"]), str(content["sha256"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}); {again}") from None
    if known is None or (version == known.production and hashed == known.versions.get(version)):
        return []
    if known.versions.get(version) != hashed:
        raise ValueError(f"{path} names {version} with another file than the store; {again}")
    if path.stat().st_mtime > known.changed + _RACE:
        raise ValueError(
            f"{path} names {version}, and {known.production} was in production when it was written; {again}"
        )
    return [f"{path.name} still names {version}, and production is {known.production}, until the next start"]


def _database(path: Path) -> str:
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(1)")]
    except sqlite3.DatabaseError as error:
        found = [str(error)]
    finally:
        connection.close()
    if found != ["ok"]:
        raise ValueError(f"{path} is damaged: {found[0]}; restore it from a backup")
    return "a database of sound structure (SQLite has no checksums of values)"
