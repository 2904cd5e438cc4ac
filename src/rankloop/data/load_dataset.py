"""Data sets on disk: a folder of arrays that is memory-mapped, so it opens at once at any size."""

from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from rankloop._arrays import Array
from rankloop._atomic import replacing_folder
from rankloop._checksums import damaged_at, file_sums, signed_json
from rankloop.data.columns import check
from rankloop.data.files.manifest import parse_manifest
from rankloop.data.files.npy_stream import mapped
from rankloop.data.fingerprint import fingerprint
from rankloop.data.pairs import Pairs
from rankloop.data.ranking_dataset import RankingDataset

__all__ = ["FORMAT", "check_target", "is_saved", "load_dataset", "save_dataset", "write_manifest"]

FORMAT = 1
_MANIFEST = "manifest.json"
_NEEDED = ("X", "y", "offsets", "qid")
_OPTIONAL = ("docid", "query_text", "query_weight", "item_weight", "position")
_PAIRS = ("better", "worse", "probability", "weight")
_FILES = {f"{name}.npy" for name in (*_NEEDED, *_OPTIONAL, *(f"pairs_{one}" for one in _PAIRS))}
_DTYPES = {"X": "f4", "y": "f4", "offsets": "i8", "query_weight": "f4", "item_weight": "f4", "position": "i4"}
_DTYPES |= {"pairs_better": "i8", "pairs_worse": "i8", "pairs_probability": "f4", "pairs_weight": "f4"}
_KIND = "rankloop.RankingDataset"
_AT_ONCE = 1 << 30  # bytes that are compared with their checksums in about a second
_AGAIN = "save the data set again"


def save_dataset(dataset: RankingDataset, path: str | Path) -> None:
    """Write a folder of `.npy` files and a manifest; it appears whole or not at all.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "set"
    >>> save_dataset(RankingDataset([[1.0], [2.0]], [0, 1], ["a", "a"]), folder)
    >>> load_dataset(folder)
    RankingDataset(1 queries, 2 documents, 1 features)
    """
    check_target(Path(path))
    with replacing_folder(path) as folder:
        for name in (*_NEEDED, *_OPTIONAL):
            values = getattr(dataset, name)
            if values is not None:
                np.save(folder / f"{name}.npy", np.ascontiguousarray(values), allow_pickle=False)
        if dataset.pairs is not None:
            for name in _PAIRS:
                np.save(folder / f"pairs_{name}.npy", getattr(dataset.pairs, name), allow_pickle=False)
        write_manifest(folder, dataset)


def write_manifest(folder: Path, dataset: RankingDataset) -> None:
    """Describe the arrays of `dataset`, which are in `folder`."""
    manifest = {
        "format": FORMAT,
        "kind": _KIND,
        "n_queries": dataset.n_queries,
        "n_documents": dataset.n_documents,
        "n_features": dataset.n_features,
        "fingerprint": fingerprint(dataset),
        "feature_names": dataset.feature_names,
        "files": {item.name: item.stat().st_size for item in sorted(folder.glob("*.npy"))},
        "checksums": {item.name: file_sums(item) for item in sorted(folder.glob("*.npy"))},
    }
    (folder / _MANIFEST).write_text(signed_json(manifest), encoding="utf-8", newline="")


def is_saved(path: str | Path) -> bool:
    """Whether a folder looks like what `save_dataset` writes."""
    return (Path(path) / _MANIFEST).is_file()


def load_dataset(path: str | Path, *, mmap: bool = True, verify: bool | None = None) -> RankingDataset:
    """Open what `save_dataset` wrote; memory-mapped, so that only the rows in use take memory.

    Sizes and shapes are checked at once, and files that have together less than a gigabyte are compared with
    their checksums. `verify` does that for larger ones too and compares the fingerprint; False compares
    nothing.
    """
    folder = Path(path)
    manifest = _manifest(folder)
    arrays = {name: _array(folder, name, manifest, mmap) for name in (*_NEEDED, *_OPTIONAL)}
    missing = [name for name in _NEEDED if arrays[name] is None]
    if missing:
        raise ValueError(f"{folder / missing[0]}.npy is missing; {_AGAIN}")
    rows, queries = manifest["n_documents"], manifest["n_queries"]
    wanted = {"X": (rows, manifest["n_features"]), "offsets": (queries + 1,)}
    wanted |= dict.fromkeys(("qid", "query_text", "query_weight"), (queries,))
    for name, values in arrays.items():
        if values is not None and values.shape != wanted.get(name, (rows,)):
            raise ValueError(
                f"{folder / name}.npy has shape {values.shape} where the manifest has "
                f"{wanted.get(name, (rows,))}: the files do not belong together; {_AGAIN}"
            )
    if verify or (verify is None and sum(manifest["files"].values()) <= _AT_ONCE):
        _compare(folder, manifest)
    offsets = np.asarray(arrays["offsets"])
    if offsets[0] != 0 or offsets[-1] != rows or np.any(np.diff(offsets) < 1):
        raise ValueError(f"{folder}/offsets.npy does not match the {rows} rows; {_AGAIN}")
    names = manifest.get("feature_names")
    if not isinstance(names, list | None) or (names and not all(isinstance(one, str) for one in names)):
        raise ValueError(f"{folder / _MANIFEST} is damaged: its feature names are not texts; {_AGAIN}")
    dataset = RankingDataset._trusted(
        **{**arrays, "offsets": offsets},
        pairs=_pairs(folder, manifest),
        feature_names=None if names is None else check.names(names, manifest["n_features"]),
    )
    if verify and fingerprint(dataset) != manifest["fingerprint"]:
        raise ValueError(f"{folder} does not match its fingerprint: the files were changed; {_AGAIN}")
    return dataset


def _manifest(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise FileNotFoundError(
            f"there is no folder {folder}; save_dataset() makes one, read_svmlight() reads text"
        )
    if not is_saved(folder):
        raise ValueError(f"{folder} has no manifest.json; it is not a saved data set")
    return parse_manifest(
        (folder / _MANIFEST).read_bytes(),
        str(folder / _MANIFEST),
        "saved data set",
        kind=_KIND,
        format=FORMAT,
        fields={"files": dict, "n_documents": int, "n_queries": int, "n_features": int, "fingerprint": str},
        again=_AGAIN,
    )


def _compare(folder: Path, manifest: dict[str, Any]) -> None:
    """Refuse a file that was changed; folders from before there were checksums have none."""
    checksums = manifest.get("checksums", {})
    if not isinstance(checksums, dict) or not {*checksums} <= _FILES:
        raise ValueError(f"{folder / _MANIFEST} is damaged: it has checksums of other files; {_AGAIN}")
    for name, sums in checksums.items():
        path = folder / name
        at = damaged_at(path, sums) if path.is_file() else None
        if at is not None:
            raise ValueError(f"{path} is damaged from byte {at} on: it was cut short or changed; {_AGAIN}")


def _array(folder: Path, name: str, manifest: dict[str, Any], mmap: bool) -> Array | None:
    path = folder / f"{name}.npy"
    size = manifest["files"].get(path.name)
    if size is None:
        return None
    if not path.is_file():
        raise ValueError(f"{path} is missing; {_AGAIN}")
    if path.stat().st_size != size:
        raise ValueError(
            f"{path} has {path.stat().st_size} bytes where {size} were saved: it was cut short or changed; "
            f"{_AGAIN}"
        )
    try:
        values: Array = mapped(path) if mmap else np.load(path)
    except (ValueError, EOFError, OSError, SyntaxError, TokenError, TypeError, OverflowError) as error:
        raise ValueError(f"{path} is damaged or cut short ({error}); {_AGAIN}") from None
    dtype = _DTYPES.get(name)
    if (dtype and values.dtype != np.dtype(f"<{dtype}")) or (not dtype and values.dtype.kind not in "iU"):
        raise ValueError(f"{path} holds {values.dtype}, which {name} cannot be; {_AGAIN}")
    return values


def _pairs(folder: Path, manifest: dict[str, Any]) -> Pairs | None:
    if "pairs_better.npy" not in manifest["files"]:
        return None
    columns = [_array(folder, f"pairs_{name}", manifest, mmap=False) for name in _PAIRS]
    if any(column is None for column in columns):
        raise ValueError(f"{folder / _MANIFEST} names only some files of its pairs; {_AGAIN}")
    return Pairs(*columns)  # type: ignore[arg-type] # none is None


def check_target(path: Path) -> None:
    """An error unless the path is free, an empty folder, or a saved data set, which may be replaced."""
    if path.exists() and not is_saved(path) and not (path.is_dir() and not any(path.iterdir())):
        raise ValueError(f"{path} exists and is not a saved data set; remove it or choose another name")
