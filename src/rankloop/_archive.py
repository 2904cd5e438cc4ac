"""The one file format of what was learned: a zip with a manifest, arrays, text and bytes; no pickle."""

import io
import json
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, NamedTuple

import numpy as np

import rankloop
from rankloop._arrays import Array
from rankloop._atomic import replacing

__all__ = [
    "FORMAT",
    "Archive",
    "Member",
    "at_most",
    "check",
    "pack",
    "read",
    "read_manifest",
    "unpack",
    "write",
]

Member = Array | str | bytes

FORMAT = 2
_MANIFEST = "manifest.json"
_SUFFIX = {"array": "npy", "text": "txt", "bytes": "bin"}
_DATE = (1980, 1, 1, 0, 0, 0)  # the same content gives the same bytes
# What zipfile, json and numpy raise on bytes that changed; RuntimeError is a member marked as encrypted,
# NotImplementedError one with an unknown compression.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    json.JSONDecodeError,
    UnicodeDecodeError,
    EOFError,
    KeyError,
    TypeError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    OSError,
    RecursionError,
    OverflowError,
    SyntaxError,
    TokenError,
)
_SIGNATURE = b"rankloop crc32 "
_START, _SHOWN = b"PK\x03\x04", 40  # the first bytes of every file; those of another that an error shows
_LARGEST, _RATIO = 64 << 20, 200  # bytes that any file may unpack to; times its size that a big one may
_GIVEN: ContextVar[int | None] = ContextVar("bytes that a file may unpack to", default=None)


class Archive(NamedTuple):
    """What a file holds: its description, and the members by name."""

    about: dict[str, Any]
    members: dict[str, Member]


def write(path: str | Path, kind: str, about: Mapping[str, Any], members: Mapping[str, Member]) -> None:
    """Write one archive, whole or not at all; `kind` is what it holds ("ranker", "click model")."""
    whole = pack(kind, about, members)
    with replacing(path) as beside:
        beside.write_bytes(whole)


@contextmanager
def at_most(largest: int | None) -> Iterator[None]:
    """Let files that are read inside, and archives within them, unpack to so many bytes (None: as usual)."""
    token = _GIVEN.set(largest)
    try:
        yield
    finally:
        _GIVEN.reset(token)


def read(
    path: str | Path, kind: str, *, again: str, largest: int | None = None, offer: bool = True
) -> Archive:
    """What `write` wrote to `path`; `again` says in an error how to make the file again.

    A file that unpacks to more than `largest` bytes is refused; by default that is 200 times its size, and at
    least 64 MB. A loader of archives within archives has its `largest` from its caller, and uses `at_most`.
    Without `offer` the error does not say that `largest` can be raised.

    >>> read("no-such-file", "ranker", again="train it again")
    Traceback (most recent call last):
    FileNotFoundError: there is no ranker file no-such-file
    """
    with _opened(path, kind) as file, at_most(_GIVEN.get() if largest is None else largest):
        return _read(file, str(path), kind, again, offer=offer)


def read_manifest(path: str | Path, kind: str, *, again: str) -> dict[str, Any]:
    """The description of a file; its members are not read."""
    with _opened(path, kind) as file:
        return _read(file, str(path), kind, again, members=False).about


def check(path: str | Path) -> str:
    """Compare a file of any kind with its checksums; gives the kind of what it holds."""
    again = "copy the file again, or write it again"
    with _opened(path, "saved") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                _check_size(archive, file, offer=False)
                kind = str(_mapping(json.loads(archive.read(_MANIFEST)))["kind"])
        except _DAMAGE as error:
            why = _reason(error)
            raise ValueError(f"{path} is damaged or not written by rankloop ({why}); {again}") from error
        _read(file, str(path), kind, again)
    return kind


def pack(kind: str, about: Mapping[str, Any], members: Mapping[str, Member]) -> bytes:
    """The archive as bytes, for one archive inside another.

    >>> whole = pack("note", {"of": "today"}, {"counts": np.arange(3), "text": "three"})
    >>> unpack(whole, "note", again="write it again").members["counts"]
    array([0, 1, 2])
    """
    manifest = {
        "format": FORMAT,
        "kind": kind,
        "rankloop": rankloop.__version__,
        "signed": True,
        "about": dict(about),
        "members": {name: _kind_of(value) for name, value in members.items()},
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _put(archive, _MANIFEST, json.dumps(manifest, indent=2).encode())
        for name, value in members.items():
            _put(archive, f"{name}.{_SUFFIX[_kind_of(value)]}", _to_bytes(value))
        archive.comment = _SIGNATURE + bytes(8)
    whole = buffer.getvalue()[:-8]
    return whole + b"%08x" % zlib.crc32(whole)


def unpack(whole: bytes, kind: str, *, again: str) -> Archive:
    """What is in the bytes that `pack` made."""
    return _read(io.BytesIO(whole), f"this {kind}", kind, again)


def _opened(path: str | Path, kind: str) -> IO[bytes]:
    source = Path(path)
    if not source.is_file():
        a_folder = ": it is a folder without one" if source.is_dir() else ""
        raise FileNotFoundError(f"there is no {kind} file {source}{a_folder}")
    return source.open("rb")


def _read(
    file: IO[bytes], name: str, kind: str, again: str, *, members: bool = True, offer: bool = True
) -> Archive:
    try:
        with zipfile.ZipFile(file) as archive:
            _check_size(archive, file, offer=offer)
            manifest = _mapping(json.loads(archive.read(_MANIFEST)))
            found, number = manifest.get("kind"), int(manifest.get("format", 0))
            if found == kind and number == FORMAT:
                listed = _mapping(manifest["members"]) if members else {}
                if members and (manifest.get("signed") or archive.comment):
                    _check_signature(file)
                return Archive(
                    _mapping(manifest["about"]),
                    {
                        key: _from_bytes(archive.read(f"{key}.{_SUFFIX[form]}"), form)
                        for key, form in listed.items()
                    },
                )
    except _DAMAGE as error:
        _refuse_text(file, name, kind, again)
        why = _reason(error)
        raise ValueError(f"{name} is damaged, cut short or not a saved {kind} ({why}); {again}") from error
    if number > FORMAT:
        raise ValueError(
            f"{name} has format {number}, written by rankloop {manifest.get('rankloop')}; this is rankloop "
            f"{rankloop.__version__}, which reads format {FORMAT}: upgrade rankloop"
        )
    if number < FORMAT:
        anew = again.removeprefix("copy the file again, or ")  # a copy would be as old
        raise ValueError(f"{name} was written by an older rankloop (format {number}); {anew}")
    raise ValueError(f"{name} holds a {found}, not a {kind}; {again}")


def _refuse_text(file: IO[bytes], name: str, kind: str, again: str) -> None:
    """The error for a file of text, which is another file than the one that was meant."""
    file.seek(0)
    start = file.read(_SHOWN)
    if _START.startswith(start[: len(_START)]):
        return
    text = start.decode(errors="replace").removesuffix("\ufffd").split("\n")[0].strip("\ufeff\r\t ")
    if text.replace("\t", " ").isprintable() and "\ufffd" not in text:
        other = "" if "name the file" in again else "name another file, or "
        raise ValueError(
            f"{name} is not a saved {kind}: expected a file that rankloop saved, got a text that begins with "
            f"{text!r}; {other}{again.removeprefix('copy the file again, or ')}"
        ) from None


def _reason(error: Exception) -> str:
    """What is wrong with the bytes, in words that do not need the format."""
    return "its start or its end is missing" if str(error) == "File is not a zip file" else str(error)


def _check_size(archive: zipfile.ZipFile, file: IO[bytes], *, offer: bool) -> None:
    """Refuse an archive that would fill the memory."""
    unpacked, largest = sum(entry.file_size for entry in archive.infolist()), _GIVEN.get()
    bound = max(_LARGEST, _RATIO * file.seek(0, io.SEEK_END)) if largest is None else largest
    if unpacked > bound:
        advice = f"; if you trust it, load it with largest={unpacked}" if offer else ""
        raise ValueError(f"it unpacks to {unpacked:,} bytes, where at most {bound:,} are expected{advice}")


def _check_signature(file: IO[bytes]) -> None:
    """Compare the whole file with the checksum at its end."""
    end = file.seek(0, io.SEEK_END) - 8
    file.seek(0)
    found = 0
    while part := file.read(min(1 << 20, end - file.tell())):
        found = zlib.crc32(part, found)
    if file.read() != b"%08x" % found:
        raise ValueError("its checksum differs")


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"the manifest has a {type(value).__name__} in place of a mapping")
    return value


def _kind_of(value: Member) -> str:
    if isinstance(value, str):
        return "text"
    return "bytes" if isinstance(value, bytes) else "array"


def _to_bytes(value: Member) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    buffer = io.BytesIO()
    np.save(buffer, value, allow_pickle=False)
    return buffer.getvalue()


def _from_bytes(whole: bytes, form: str) -> Member:
    if form == "text":
        return whole.decode()
    if form == "bytes":
        return whole
    return _array(whole)


def _array(whole: bytes) -> Array:
    """The array of a `.npy` file; one that promises more values than it has is refused before they are."""
    file = io.BytesIO(whole)
    major = np.lib.format.read_magic(file)[0]
    read = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    shape, by_column, dtype = read(file)
    values, given = math.prod(shape), len(whole) - file.tell()
    if dtype.hasobject or min(shape, default=0) < 0 or values * max(dtype.itemsize, 1) > max(given, 0):
        raise ValueError(f"an array of {dtype} and shape {shape} has {given} bytes")
    if values == 0:
        return np.zeros(shape, dtype)
    if values * dtype.itemsize != given:
        raise ValueError(f"an array of {dtype} and shape {shape} has {given} bytes")
    flat: Array = np.frombuffer(whole, dtype, values, file.tell())
    return flat.reshape(shape, order="F" if by_column else "C").copy("K")


def _put(archive: zipfile.ZipFile, name: str, whole: bytes) -> None:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, whole, compresslevel=3)
