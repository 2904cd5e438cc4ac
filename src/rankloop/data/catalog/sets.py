"""Find, download, check and read the sets of the catalogue."""

import os
from pathlib import Path
from typing import Any

from rankloop._names import one_of, unknown
from rankloop.data.catalog.entries import ENTRIES, Entry
from rankloop.data.catalog.readers import READERS

__all__ = ["entry", "find", "get", "load", "names", "verify"]


def names() -> list[str]:
    """The names that the other functions take.

    >>> "cranfield" in names()
    True
    """
    return list(ENTRIES)


def entry(name: str) -> Entry:
    """The entry of a set: licence, origin, checksums, how to get it.

    >>> entry("cranfield").kind
    'text'
    """
    if name not in ENTRIES:
        raise unknown("data set", name, ENTRIES)
    return ENTRIES[name]


def find(name: str) -> Path | None:
    """The folder of a set on this machine: under RANKLOOP_DATA, then where `get` puts it; or None."""
    wanted = entry(name)
    for root in _roots():
        folder = root / wanted.folder
        if folder.is_dir() and all((folder / file).is_file() for file in wanted.checksums):
            return folder
    return None


def get(name: str) -> Path:
    """The folder of a set, which is downloaded and checked if it is not on this machine.

    Downloads go to RANKLOOP_DATA, or to the user's cache where that cannot be written. Sets whose owners
    want a form or an agreement are not downloaded: the error says where to go.
    """
    wanted = entry(name)
    there = find(name)
    if there is not None:
        return there
    if not wanted.downloads:
        raise ValueError(f"{name} cannot be downloaded automatically ({wanted.licence}): {wanted.how}")
    from rankloop.data.catalog.fetch import fetch  # imports urllib, which readers do not need

    return fetch(wanted, next((root for root in _roots() if _writable(root)), _roots()[-1]))


def verify(name: str) -> None:
    """Compare the files of a set on this machine with the checksums of the catalogue."""
    from rankloop.data.catalog.fetch import check_files

    check_files(entry(name), _folder(name))


def load(name: str, part: str | None = None, *, fold: int = 1) -> Any:
    """Read a set that is on this machine; nothing is downloaded.

    Sets with features give a `RankingDataset`, text collections a `Corpus`, clicks a dict with the
    columns of a click log. `part` is one of the entry's parts (the first by default); `fold` is for
    sets that come in folds.
    """
    wanted = entry(name)
    chosen = one_of(f"part of {name}", part or wanted.parts[0], wanted.parts)
    if not 1 <= fold <= 5:
        raise ValueError(f"fold is 1 to 5, got {fold}")
    return READERS[wanted.reader](_folder(name), chosen, fold)


def _folder(name: str) -> Path:
    folder = find(name)
    if folder is None:
        wanted = entry(name)
        way = f"run: rankloop datasets get {name}" if wanted.downloads else wanted.how
        raise FileNotFoundError(f"{name} is not on this machine (looked in {_places()}); {way}")
    return folder


def _roots() -> list[Path]:
    """The folders of sets: RANKLOOP_DATA first, then the user's cache."""
    given = os.environ.get("RANKLOOP_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rankloop" / "data"
    return [Path(given).expanduser(), cache] if given else [cache]


def _writable(root: Path) -> bool:
    there = next(folder for folder in (root, *root.parents) if folder.exists())
    return os.access(there, os.W_OK)


def _places() -> str:
    return " and ".join(str(root) for root in _roots())
