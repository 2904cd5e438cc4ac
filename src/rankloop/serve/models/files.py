"""Files of models, named by the hash of their content; damaged ones are refused."""

import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop import _archive
from rankloop._atomic import replacing
from rankloop._checksums import file_hash

if TYPE_CHECKING:
    from rankloop.search.pipeline import Pipeline

__all__ = ["add_file", "checked_file"]


def add_file(search: "Pipeline | str | Path", folder: Path) -> str:
    """Put a pipeline, or the file of one, into a folder, whole or not at all; gives its hash."""
    beside = folder / f".{os.getpid()}-{time.time_ns()}.part"
    try:
        if isinstance(search, str | Path):
            shutil.copyfile(search, beside)
        else:
            search.save(beside)
        if not _is_pipeline(beside):
            raise ValueError(f"{search} is damaged or not a saved pipeline; save it again")
        digest = file_hash(beside)
        with replacing(folder / f"{digest}.zip") as whole:
            os.replace(beside, whole)
    finally:
        beside.unlink(missing_ok=True)
    return digest


def checked_file(digest: str, folder: Path, name: str) -> Path:
    """The file with this hash, if its content still has it."""
    path = folder / f"{digest}.zip"
    if not path.is_file():
        raise ValueError(f"the file of {name} is missing from {folder}; register the model again")
    if file_hash(path) != digest:
        raise ValueError(
            f"the file of {name} is damaged: its hash is not the registered one; register it again"
        )
    return path


def _is_pipeline(path: Path) -> bool:
    try:
        _archive.read(path, "pipeline", again="save it again")
    except ValueError:
        return False
    return True
