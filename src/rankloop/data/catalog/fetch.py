"""Downloads that are checked, and complete or absent."""

import tarfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

from rankloop._atomic import replacing_folder
from rankloop._checksums import file_hash
from rankloop._progress import progress
from rankloop.data.catalog.entries import Entry

__all__ = ["check_files", "fetch"]

_BLOCK = 1 << 20


def fetch(entry: Entry, root: Path) -> Path:
    """Download and unpack a set beside its place in `root`, check it, and move it there."""
    target = root / entry.folder
    with replacing_folder(target) as beside:
        for name, url in entry.downloads.items():
            _download(url, beside / name)
            if name.endswith((".zip", ".tar.gz")):
                _unpack(beside / name, beside)
        inner = beside / entry.folder
        if inner.is_dir():  # the archive has a folder of this name
            for item in inner.iterdir():
                item.rename(beside / item.name)
            inner.rmdir()
        check_files(entry, beside)
    return target


def check_files(entry: Entry, folder: Path) -> None:
    """Compare the sha256 of each file that has one in the catalogue."""
    for name, wanted in entry.checksums.items():
        file = folder / name
        if not file.is_file():
            raise FileNotFoundError(f"{entry.name} lacks {file.name} in {folder}")
        if (got := file_hash(file)) != wanted:
            raise ValueError(
                f"{file.name} of {entry.name} has sha256 {got}, but {wanted} was expected; "
                "the file is damaged or was changed at its origin"
            )


def _download(url: str, path: Path) -> None:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer, open(path, "wb") as file:
            size = int(answer.headers.get("Content-Length") or 0)
            with progress(f"getting {path.name}", size or None) as advance:
                while block := answer.read(_BLOCK):
                    file.write(block)
                    advance(len(block))
    except (urllib.error.URLError, TimeoutError) as error:
        raise ValueError(
            f"could not download {url} ({error}); try again later, or download it yourself"
        ) from None
    if size and path.stat().st_size != size:
        raise ValueError(f"{url} ended after {path.stat().st_size:,} of {size:,} bytes; try again")


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack inside `folder` and nowhere else."""
    try:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(folder)  # drops absolute paths and ".."
        else:
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise ValueError(f"{archive.name} cannot be unpacked ({error}); download it again") from None
    archive.unlink()
