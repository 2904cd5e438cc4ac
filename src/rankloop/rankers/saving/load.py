"""One file per ranker: a zip with a manifest, arrays and text; no pickle, no import of foreign code."""

import io
import json
import platform
import zipfile
import zlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

import numpy as np

import rankloop
from rankloop._atomic import replacing
from rankloop._names import unknown
from rankloop.rankers.base.ranker import Member, Ranker
from rankloop.rankers.saving.codec import decode, encode

__all__ = ["class_named", "dumps", "load", "loads", "manifest", "save", "versions"]

FORMAT = 1
_SUFFIX = {"array": "npy", "text": "txt", "bytes": "bin"}
# What zipfile, json and we raise on bytes that are not what they were; RuntimeError is an "encrypted" member.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    json.JSONDecodeError,
    UnicodeDecodeError,
    EOFError,
    KeyError,
    TypeError,
    RuntimeError,
)
_DATE = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes


def save(ranker: Ranker, path: str | Path) -> None:
    """Write `ranker` to `path`, whole or not at all."""
    whole = dumps(ranker)
    with replacing(path) as beside:
        beside.write_bytes(whole)


def load(path: str | Path) -> Ranker:
    """The ranker that `save` wrote to `path`.

    >>> load("no-such-model")
    Traceback (most recent call last):
    FileNotFoundError: there is no model file no-such-model
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no model file {source}")
    with source.open("rb") as file:
        return _read(file, str(source))


def manifest(path: str | Path) -> dict[str, Any]:
    """What a model file says about itself, without loading the model."""
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no model file {source}")
    with source.open("rb") as file:
        return _members(file, str(source))[0]


def dumps(ranker: Ranker) -> bytes:
    """The file as bytes: how a ranker of rankers keeps its parts."""
    ranker._check_fitted()
    members: dict[str, Member] = {f"state/{name}": value for name, value in ranker._state().items()}
    parameters = {
        name: encode(value, f"parameters/{name}", members)
        for name, value in ranker.get_params(deep=False).items()
        if name not in ranker._unsaved
    }
    names = getattr(ranker, "feature_names_in_", None)
    about = {
        "format": FORMAT,
        "class": type(ranker).__name__,
        "parameters": parameters,
        "features": {
            "number": ranker.n_features_in_,
            "names": None if names is None else names.tolist(),
        },
        "fingerprint": ranker.fingerprint_,
        "metrics": ranker.metrics_,
        "propensity": None if ranker.propensity_ is None else np.asarray(ranker.propensity_).tolist(),
        "versions": versions(ranker._libraries),
        "members": {name: _kind(value) for name, value in members.items()},
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _write(archive, "manifest.json", json.dumps(about, indent=2).encode())
        for name, value in members.items():
            _write(archive, f"{name}.{_SUFFIX[_kind(value)]}", _to_bytes(value))
    return buffer.getvalue()


def loads(whole: bytes) -> Ranker:
    """The ranker in the bytes that `dumps` gave."""
    return _read(io.BytesIO(whole), "this model")


def _read(file: IO[bytes], name: str) -> Ranker:
    about, members = _members(file, name)
    try:
        ranker = class_named(about["class"])(
            **{key: decode(value, members) for key, value in about["parameters"].items()}
        )
        ranker.n_features_in_ = int(about["features"]["number"])
        if about["features"]["names"] is not None:
            ranker.feature_names_in_ = np.array(about["features"]["names"], dtype=object)
        ranker.fingerprint_ = about["fingerprint"]
        ranker.metrics_ = about["metrics"]
        curve = about["propensity"]
        ranker.propensity_ = None if curve is None else np.array(curve, np.float64)
        ranker._restore({key[6:]: value for key, value in members.items() if key.startswith("state/")})
    except (KeyError, TypeError) as error:
        raise ValueError(f"{name} does not fit its class ({error}); save the ranker again") from error
    return ranker


def _members(file: IO[bytes], name: str) -> tuple[dict[str, Any], dict[str, Member]]:
    try:
        with zipfile.ZipFile(file) as archive:
            if "manifest.json" not in archive.namelist():
                raise ValueError(f"{name} is a zip file but not a saved ranker: it has no manifest.json")
            about: dict[str, Any] = json.loads(archive.read("manifest.json"))
            if about["format"] > FORMAT:
                raise ValueError(
                    f"{name} has format {about['format']}, written by rankloop "
                    f"{about['versions']['rankloop']}; this is rankloop {rankloop.__version__}, which "
                    f"reads formats up to {FORMAT}: upgrade rankloop"
                )
            members = {
                key: _from_bytes(archive.read(f"{key}.{_SUFFIX[kind]}"), kind)
                for key, kind in about["members"].items()
            }
    except _DAMAGE as error:
        raise ValueError(
            f"{name} is damaged, cut short or not a saved ranker ({error}); copy or save it again"
        ) from error
    return about, members


def class_named(name: str) -> type[Ranker]:
    """The ranker of that name, from `rankers.__all__` and nowhere else."""
    from rankloop import rankers

    found = getattr(rankers, name) if name in rankers.__all__ else None
    if not (isinstance(found, type) and issubclass(found, Ranker)):
        raise unknown("class of ranker", name, [known for known in rankers.__all__ if known[0].isupper()])
    return found


def _kind(value: Member) -> str:
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


def _from_bytes(whole: bytes, kind: str) -> Member:
    if kind == "text":
        return whole.decode()
    if kind == "bytes":
        return whole
    array: Member = np.load(io.BytesIO(whole), allow_pickle=False)
    return array


def _write(archive: zipfile.ZipFile, name: str, whole: bytes) -> None:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, whole, compresslevel=3)


def versions(libraries: tuple[str, ...]) -> dict[str, str | None]:
    """The versions of rankloop, Python and the libraries named; None where one is not installed."""
    found: dict[str, str | None] = {"rankloop": rankloop.__version__, "python": platform.python_version()}
    for library in libraries:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = None
    return found
