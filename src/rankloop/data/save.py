"""Data sets on disk: a folder of arrays that opens at once, however large it is."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._atomic import replacing_folder
from rankloop.data.files.npy_stream import mapped
from rankloop.data.fingerprint import fingerprint
from rankloop.data.pairs import Pairs
from rankloop.data.ranking_dataset import RankingDataset

__all__ = ["FORMAT", "check_target", "is_saved", "load_dataset", "save", "write_manifest"]

FORMAT = 1
_MANIFEST = "manifest.json"
_NEEDED = ("X", "y", "offsets", "qid")
_OPTIONAL = ("docid", "query_weight", "item_weight", "position")
_PAIRS = ("better", "worse", "probability", "weight")
_KINDS = {"X": "f4", "y": "f4", "offsets": "i8", "query_weight": "f4", "item_weight": "f4", "position": "i4"}


def save(dataset: RankingDataset, path: str | Path) -> None:
    """Write a folder of `.npy` files and a manifest; it appears whole or not at all.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "set"
    >>> save(RankingDataset([[1.0], [2.0]], [0, 1], ["a", "a"]), folder)
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
    """Describe the arrays of `dataset`, which lie in `folder`."""
    manifest = {
        "format": FORMAT,
        "kind": "rankloop.RankingDataset",
        "n_queries": dataset.n_queries,
        "n_documents": dataset.n_documents,
        "n_features": dataset.n_features,
        "fingerprint": fingerprint(dataset),
        "feature_names": dataset.feature_names,
        "files": {item.name: item.stat().st_size for item in sorted(folder.glob("*.npy"))},
    }
    (folder / _MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def is_saved(path: str | Path) -> bool:
    """Whether a folder looks like what `save` writes."""
    return (Path(path) / _MANIFEST).is_file()


def load_dataset(path: str | Path, *, mmap: bool = True, verify: bool = False) -> RankingDataset:
    """Open what `save` wrote; memory-mapped, so that only the rows in use take memory.

    Sizes and shapes are checked at once; `verify` also reads everything and compares the fingerprint.
    """
    folder = Path(path)
    manifest = _manifest(folder)
    arrays = {name: _array(folder, name, manifest, mmap) for name in (*_NEEDED, *_OPTIONAL)}
    missing = [name for name in _NEEDED if arrays[name] is None]
    if missing:
        raise ValueError(f"{folder} has no {missing[0]}.npy; the folder is not whole, save it again")
    rows, queries = manifest["n_documents"], manifest["n_queries"]
    wanted = {"X": (rows, manifest["n_features"]), "offsets": (queries + 1,)}
    wanted |= dict.fromkeys(("qid", "query_weight"), (queries,))
    for name, values in arrays.items():
        if values is not None and values.shape != wanted.get(name, (rows,)):
            raise ValueError(
                f"{folder / name}.npy has shape {values.shape} where the manifest says "
                f"{wanted.get(name, (rows,))}; the files do not belong together, save the set again"
            )
    offsets = np.asarray(arrays["offsets"])
    if offsets[0] != 0 or offsets[-1] != rows or np.any(np.diff(offsets) < 1):
        raise ValueError(f"{folder}/offsets.npy does not follow the {rows} rows; save the set again")
    names = manifest["feature_names"]
    dataset = RankingDataset._trusted(
        **{**arrays, "offsets": offsets},
        pairs=_pairs(folder, manifest),
        feature_names=None if names is None else tuple(names),
    )
    if verify and fingerprint(dataset) != manifest["fingerprint"]:
        raise ValueError(
            f"{folder} does not match its fingerprint: the files were changed; save the set again"
        )
    return dataset


def _manifest(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}; save() makes one, read_svmlight() reads text")
    if not is_saved(folder):
        raise ValueError(f"{folder} has no manifest.json; it is not a saved data set")
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{folder / _MANIFEST} is not whole ({error}); save the set again") from None
    if not isinstance(manifest, dict) or manifest.get("kind") != "rankloop.RankingDataset":
        raise ValueError(f"{folder / _MANIFEST} does not describe a data set; is it a model?")
    if not isinstance(manifest.get("format"), int) or manifest["format"] > FORMAT:
        raise ValueError(
            f"{folder} has format {manifest.get('format')}, and this rankloop reads up to {FORMAT}; "
            "upgrade rankloop"
        )
    kinds = {"files": dict, "n_documents": int, "n_queries": int, "n_features": int, "fingerprint": str}
    for name, kind in kinds.items():
        if not isinstance(manifest.get(name), kind):
            raise ValueError(f"{folder / _MANIFEST} has no {name}; save the set again")
    return manifest


def _array(folder: Path, name: str, manifest: dict[str, Any], mmap: bool) -> NDArray[Any] | None:
    path = folder / f"{name}.npy"
    size = manifest["files"].get(path.name)
    if size is None:
        return None
    if not path.is_file():
        raise ValueError(f"{path} is missing; the folder is not whole, save the set again")
    if path.stat().st_size != size:
        raise ValueError(
            f"{path} has {path.stat().st_size} bytes where {size} were saved; it was cut short or changed, "
            "save the set again"
        )
    try:
        values: NDArray[Any] = mapped(path) if mmap else np.load(path)
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path} is not a whole .npy file ({error}); save the set again") from None
    kind = _KINDS.get(name)
    if (kind and values.dtype != np.dtype(f"<{kind}")) or (not kind and values.dtype.kind not in "iU"):
        raise ValueError(f"{path} holds {values.dtype}, which a {name} is not; save the set again")
    return values


def _pairs(folder: Path, manifest: dict[str, Any]) -> Pairs | None:
    if "pairs_better.npy" not in manifest["files"]:
        return None
    columns = []
    for name in _PAIRS:
        path = folder / f"pairs_{name}.npy"
        if not path.is_file() or path.stat().st_size != manifest["files"].get(path.name):
            raise ValueError(f"{path} is missing or cut short; save the set again")
        columns.append(np.load(path))
    return Pairs(*columns)


def check_target(path: Path) -> None:
    """Only what `save` wrote may be replaced."""
    if path.exists() and not is_saved(path) and not (path.is_dir() and not any(path.iterdir())):
        raise ValueError(f"{path} is there and is not a saved data set; remove it or choose another name")
