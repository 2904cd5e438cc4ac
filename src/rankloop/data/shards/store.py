"""The files of a shard folder, on local disk or behind any `fsspec` address."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankloop._atomic import replacing
from rankloop._extras import require

__all__ = ["Store", "room"]

_FULL = (errno.ENOSPC, errno.EDQUOT)


class Store:
    """One folder with `read`, `write`, `claim`, `sizes` and `remove`; a write is atomic.

    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> store.write("a.bin", b"abc")
    >>> store.read("a.bin"), store.sizes()
    (b'abc', {'a.bin': 3})
    """

    def __init__(self, path: str | Path) -> None:
        remote = "://" in str(path)
        self.path = str(path) if remote else str(Path(path).absolute())  # workers start elsewhere
        self.files: Any = None
        self.root = self.path
        if remote:
            self.files, self.root = require("fsspec", "cluster").core.url_to_fs(self.path)

    def where(self, name: str) -> str:
        return f"{self.path.rstrip('/')}/{name}"

    def read(self, name: str) -> bytes:
        if self.files is None:
            return (Path(self.root) / name).read_bytes()
        content: bytes = self.files.cat_file(f"{self.root}/{name}")
        return content

    def write(self, name: str, content: bytes) -> None:
        with room(self.where(name), len(content)):
            if self.files is None:
                with replacing(Path(self.root) / name) as beside:
                    beside.write_bytes(content)
            else:  # object stores cannot rename: checksums and a manifest written last take its place
                self.files.makedirs(self.root, exist_ok=True)
                self.files.pipe_file(f"{self.root}/{name}", content)

    def claim(self, name: str, content: bytes) -> bool:
        """Write a file unless it exists; whether it was written."""
        with room(self.where(name), len(content)):
            if self.files is None:
                Path(self.root).mkdir(parents=True, exist_ok=True)
                try:
                    with open(Path(self.root) / name, "xb") as file:
                        file.write(content)
                except FileExistsError:
                    return False
                return True
            self.files.makedirs(self.root, exist_ok=True)
            if self.files.exists(f"{self.root}/{name}"):
                return False
            self.files.pipe_file(f"{self.root}/{name}", content)
            return True

    def sizes(self) -> dict[str, int]:
        """The files of the folder with their sizes in bytes; an absent folder has none."""
        if self.files is None:
            folder = Path(self.root)
            found = folder.iterdir() if folder.is_dir() else ()
            return {one.name: one.stat().st_size for one in found if one.is_file()}
        self.files.invalidate_cache()
        if not self.files.exists(self.root):
            return {}
        listed = self.files.ls(self.root, detail=True)
        return {one["name"].rpartition("/")[2]: int(one["size"]) for one in listed if one["type"] == "file"}

    def remove(self, name: str) -> None:
        if self.files is None:
            (Path(self.root) / name).unlink(missing_ok=True)
        elif self.files.exists(f"{self.root}/{name}"):
            self.files.rm_file(f"{self.root}/{name}")

    def remove_folder(self) -> None:
        """Remove the folder if it is empty."""
        if self.files is None and Path(self.root).is_dir() and not any(Path(self.root).iterdir()):
            Path(self.root).rmdir()


@contextmanager
def room(where: str, size: int) -> Iterator[None]:
    """A full disk is an error that says how much was needed and where."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise OSError(
            error.errno, f"no disk space for the {size:,} bytes of {where}; free some, or choose another one"
        ) from error
