"""A backup: the index, the models, the store and the secret of a service, in one folder."""

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from rankloop import __version__
from rankloop._atomic import replacing_folder
from rankloop._checksums import file_hash, signed_json
from rankloop.engines.remote.address import Address, is_address
from rankloop.search import Index
from rankloop.search.index.snapshot import MANIFEST, Manifest
from rankloop.serve.backup.tables import write_tables
from rankloop.serve.config import Config
from rankloop.serve.events.segments import SUFFIX
from rankloop.serve.events.store import Store
from rankloop.serve.events.tables import SCHEMA
from rankloop.serve.models.registry import Registry

__all__ = ["HOME", "INDEX", "KIND", "LIST", "TABLES", "index_folder", "make_backup"]

KIND = "rankloop backup"
LIST = "backup.json"
INDEX, HOME, TABLES = "index", "home", "store"  # the folders of a backup
TRIES = 10  # of copying an index that is committed to meanwhile
_ALONE = ("secret", "forgotten", "serving.json")


def make_backup(config: Config, target: Path) -> dict[str, int]:
    """Write a backup, whole or not at all, while the service runs; gives what is in it.

    The order keeps everything that was accepted before it began: what waits on disk is copied before the
    store that it moves to, and the store before the models that it names.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(f"{target} exists already; choose another --out")
    if not config.home.is_dir():
        raise FileNotFoundError(f"{config.home} does not exist: nothing was served from {config.index} yet")
    with replacing_folder(target) as folder:
        os.chmod(folder, 0o700)
        home = folder / HOME
        home.mkdir()
        _copy(config.home / "spool", home / "spool", f"*{SUFFIX}")
        (folder / TABLES).mkdir()
        with Store.open(config.database) as store:
            counts = write_tables(store, folder / TABLES)
            registered = {one.sha256 for one in Registry(store, config.home / "models").versions()}
        _copy(config.home / "models", home / "models", "*.zip")
        _check_models(home / "models", registered)
        _copy(config.home / "reports", home / "reports", "*")
        _copy(config.home / "ubi", home / "ubi", "*.jsonl")
        _copy(config.home / "ubi" / "apart", home / "ubi" / "apart", "*.jsonl")
        for name in _ALONE:
            if (config.home / name).is_file():
                shutil.copy2(config.home / name, home / name)
        where = index_folder(config)
        if where is not None:
            _copy_index(where, folder / INDEX)
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        sizes = {str(path.relative_to(folder)): path.stat().st_size for path in paths}
        files = {name: {"bytes": size, "sha256": file_hash(folder / name)} for name, size in sizes.items()}
        content = {
            "kind": KIND,
            "rankloop": __version__,
            "schema": SCHEMA,
            "time": time.time(),
            "name": config.name,
            "rows": counts,
            "files": files,
        }
        (folder / LIST).write_text(signed_json(content), encoding="utf-8", newline="")
    os.chmod(target, 0o700)
    return {
        "files": len(sizes),
        "bytes": sum(sizes.values()),
        "pages": counts["pages"],
        "models": len(registered),
    }


def index_folder(config: Config) -> Path | None:
    """The index on this machine: that of the service, or the local one of an engine; None where none is."""
    return Address.parse(str(config.index)).local if is_address(config.index) else Path(config.index)


def _copy(source: Path, target: Path, pattern: str) -> None:
    """The files of a folder; one that goes away meanwhile was moved on, and is not missed."""
    if not source.is_dir():
        return
    target.mkdir(parents=True)
    for path in sorted(source.glob(pattern)):
        with suppress(FileNotFoundError):
            if path.is_file() and not path.name.startswith("."):
                shutil.copy2(path, target / path.name)


def _check_models(folder: Path, registered: set[str]) -> None:
    for digest in sorted(registered):
        path = folder / f"{digest}.zip"
        if not path.is_file() or file_hash(path) != digest:
            raise ValueError(f"the model {digest[:12]}... is missing or damaged; see rankloop check")


def _copy_index(source: Path, target: Path) -> None:
    """One generation of an index: its manifest, and the files that it names."""
    for _ in range(TRIES):
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        Manifest.read(source)  # an error that names the source
        shutil.copy2(source / MANIFEST, target / MANIFEST)
        try:
            for part in Manifest.read(target).parts:
                for name in part.files:
                    shutil.copy2(source / name, target / name)
        except FileNotFoundError:
            continue  # a commit removed them
        Index.open(target).check()
        return
    raise ValueError(f"{source} was committed to {TRIES} times during the backup; make it at a quieter time")
