"""One file per ranker: a manifest, arrays and text in one archive; no pickle, no import of foreign code."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import rankloop
from rankloop import _archive
from rankloop._names import unknown
from rankloop.rankers.base.ranker import Member, Ranker
from rankloop.rankers.saving.codec import decode, encode

__all__ = ["MODEL", "class_named", "dumps", "load", "loads", "manifest", "save", "versions"]

MODEL = "model.rank"  # the name of the ranker in a run folder
_KIND = "ranker"
_AGAIN = "copy the file again, or train the ranker again and save it"
_STATE = "state/"


def save(ranker: Ranker, path: str | Path) -> None:
    """Write `ranker` to `path`, whole or not at all."""
    _archive.write(path, _KIND, *_parts(ranker))


def load(path: str | Path, *, largest: int | None = None) -> Ranker:
    """The ranker that `save` wrote to `path`, or that `rankloop train` wrote to a run folder.

    A file that unpacks to more than `largest` bytes is refused; by default that is 200 times its size, and at
    least 64 MB.

    >>> load("no-such-model")
    Traceback (most recent call last):
    FileNotFoundError: there is no ranker file no-such-model
    """
    inside = Path(path) / MODEL
    source = inside if inside.is_file() else path
    with _archive.at_most(largest):
        return _restored(_archive.read(source, _KIND, again=_AGAIN), str(path))


def manifest(path: str | Path) -> dict[str, Any]:
    """The manifest of a ranker file; the ranker is not loaded.

    `class`, `parameters`, `features`, `fingerprint` (of the training data), `metrics` (at training),
    `propensity` (the curve, or None) and `versions` (of the libraries).
    """
    return _archive.read_manifest(path, _KIND, again=_AGAIN)


def dumps(ranker: Ranker) -> bytes:
    """The file as bytes: how a ranker of rankers keeps its parts."""
    return _archive.pack(_KIND, *_parts(ranker))


def loads(whole: bytes) -> Ranker:
    """The ranker in the bytes that `dumps` gave."""
    return _restored(_archive.unpack(whole, _KIND, again=_AGAIN), "this ranker")


def class_named(name: str) -> type[Ranker]:
    """The ranker of that name, from `rankers.__all__` and nowhere else."""
    from rankloop import rankers

    found = getattr(rankers, name) if name in rankers.__all__ else None
    if not (isinstance(found, type) and issubclass(found, Ranker)):
        raise unknown("class of ranker", name, [known for known in rankers.__all__ if known[0].isupper()])
    return found


def versions(libraries: tuple[str, ...]) -> dict[str, str | None]:
    """The versions of rankloop, Python and the libraries named; None where one is not installed."""
    found: dict[str, str | None] = {"rankloop": rankloop.__version__, "python": platform.python_version()}
    for library in libraries:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = None
    return found


def _parts(ranker: Ranker) -> tuple[dict[str, Any], dict[str, Member]]:
    """The manifest and the members of the file."""
    ranker._check_fitted()
    members: dict[str, Member] = {_STATE + name: value for name, value in ranker._state().items()}
    names = getattr(ranker, "feature_names_in_", None)
    about = {
        "class": type(ranker).__name__,
        "parameters": {
            name: encode(value, f"parameters/{name}", members)
            for name, value in ranker.get_params(deep=False).items()
            if name not in ranker._unsaved
        },
        "features": {
            "number": ranker.n_features_in_,
            "names": None if names is None else names.tolist(),
            **({"categories": ranker.categories_} if hasattr(ranker, "categories_") else {}),
        },
        "fingerprint": ranker.fingerprint_,
        "metrics": ranker.metrics_,
        "propensity": None if ranker.propensity_ is None else np.asarray(ranker.propensity_).tolist(),
        "versions": versions(ranker._libraries),
    }
    return about, members


def _restored(archive: _archive.Archive, name: str) -> Ranker:
    about, members = archive
    try:
        ranker = class_named(about["class"])(
            **{key: decode(value, members) for key, value in about["parameters"].items()}
        )
        ranker.n_features_in_ = int(about["features"]["number"])
        if about["features"]["names"] is not None:
            ranker.feature_names_in_ = np.array(about["features"]["names"], dtype=object)
        if about["features"].get("categories"):
            ranker.categories_ = about["features"]["categories"]
        ranker.fingerprint_ = about["fingerprint"]
        ranker.metrics_ = about["metrics"]
        curve = about["propensity"]
        ranker.propensity_ = None if curve is None else np.array(curve, np.float64)
        state = {key.removeprefix(_STATE): value for key, value in members.items() if key.startswith(_STATE)}
        ranker._restore(state)
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, ImportError) as error:
        raise ValueError(f"{name} does not fit its class ({error}); {_AGAIN}") from error
    return ranker
