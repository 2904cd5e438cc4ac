"""A backup put back: checked first, and only where nothing is."""

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rankloop._atomic import replacing_folder
from rankloop._checksums import checked_json, file_hash
from rankloop.search import Index
from rankloop.serve.backup.make import HOME, INDEX, KIND, LIST, TABLES, index_folder
from rankloop.serve.backup.tables import has_rows, read_tables
from rankloop.serve.config import Config
from rankloop.serve.events.store import Store
from rankloop.serve.events.tables import SCHEMA

__all__ = ["check_backup", "restore_backup"]


def restore_backup(folder: Path, config: Config) -> dict[str, int]:
    """Write the service of a backup to where a config says; all of it, or nothing after an error.

    Its folder, index and database must be empty.
    """
    content = check_backup(folder)
    files: list[str] = list(content["files"])
    where = index_folder(config) if any(name.startswith(f"{INDEX}/") for name in files) else None
    for path in filter(None, (config.home, where)):
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ValueError(f"{path} is not empty; restore a backup to a new place")
    inside = config.database == f"sqlite:///{config.home / 'events.db'}"
    with ExitStack() as stack:
        if where is not None:
            beside = stack.enter_context(replacing_folder(where))
            _copy(folder, files, INDEX, beside)
            Index.open(beside).check()
        home = stack.enter_context(replacing_folder(config.home))
        _copy(folder, files, HOME, home)
        database = f"sqlite:///{home / 'events.db'}" if inside else config.database
        with Store.open(database) as store:
            if has_rows(store):
                raise ValueError(f"{store.name} is not empty; restore a backup to a new place")
            counts = read_tables(store, folder / TABLES)
        if counts != {name: content["rows"].get(name, 0) for name in counts}:
            raise ValueError(f"{folder} does not have the rows of its list; make another backup")
    if (config.home / "secret").exists():
        os.chmod(config.home / "secret", 0o600)
    return {"files": len(content["files"]), "pages": counts["pages"], "models": counts["models"]}


def check_backup(folder: Path) -> Mapping[str, Any]:
    """The list of a backup, if every file is as it was written; an error names the one that is not."""
    try:
        content: Mapping[str, Any] = checked_json((folder / LIST).read_text("utf-8"), signed=True)
        kind, schema = content["kind"], int(content["schema"])
        files = {name: (one["bytes"], one["sha256"]) for name, one in content["files"].items()}
        dict(content["rows"])
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(f"{folder} is not a backup: it has no {LIST}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{folder / LIST} is damaged ({error}); use another backup") from None
    if kind != KIND:
        raise ValueError(f"{folder} is not a backup of rankloop; it says {kind!r}")
    if schema > SCHEMA:
        raise ValueError(
            f"{folder} was made by rankloop {content['rankloop']}, a newer one; upgrade rankloop"
        )
    present = _plain_files(folder)
    for name, (size, digest) in files.items():
        path = folder / name
        if name not in present:
            raise ValueError(f"{path} is missing from the backup; use another backup")
        if path.stat().st_size != size or file_hash(path) != digest:
            raise ValueError(f"{path} is damaged: its checksum differs; use another backup")
    return content


def _plain_files(folder: Path) -> set[str]:
    """The names of the files below a folder; a link, which may lead anywhere, is an error."""
    found = set()
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            if path.is_symlink():
                raise ValueError(f"{path} is a link, and a backup has none; use another backup")
            if path.is_file():
                found.add(path.relative_to(folder).as_posix())
    return found


def _copy(folder: Path, files: Iterable[str], part: str, target: Path) -> None:
    """The files of one part of a backup, as they are listed."""
    for name in files:
        if name.startswith(f"{part}/"):
            path = target / name.removeprefix(f"{part}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / name, path)
