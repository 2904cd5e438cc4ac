"""A pipeline in one file: how it retrieves, what it describes, the model, and what it was fitted on."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._atomic import replacing
from rankloop._names import one_of
from rankloop.search.bm25 import BM25
from rankloop.search.bm25f import BM25F
from rankloop.search.candidates import Candidates
from rankloop.search.collapse import collapse
from rankloop.search.features.click_history import ClickHistory
from rankloop.search.features.features import Features
from rankloop.search.index.index import Index
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.pipeline import Pipeline, StageLike, first
from rankloop.search.ranked import Ranked
from rankloop.search.retriever import Retriever

__all__ = ["fingerprint", "load_pipeline", "save"]

FORMAT = 1
_MODELS = {"BM25": BM25, "BM25F": BM25F}
_OPTIONS = ("k", "match", "typos", "filters", "fusion", "weights", "words")
_DATE = (1980, 1, 1, 0, 0, 0)  # the same pipeline gives the same bytes


def fingerprint(search: Pipeline) -> str:
    """A hash of the index generation, the feature set and the model."""
    return _hash(_parts(search))


def save(search: Pipeline, path: str | Path) -> None:
    """Write the pipeline to `path`, whole or not at all. The index stays where it is."""
    parts = _parts(search)
    members: dict[str, bytes] = {}
    stages = [_saved(stage, at, members) for at, stage in enumerate(search.stages)]
    about = {"format": FORMAT, "stages": stages, "parts": parts, "fingerprint": _hash(parts)}
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, content in {
            "manifest.json": json.dumps(about, indent=1, default=_plain).encode(),
            **members,
        }.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content)
    with replacing(path) as beside:
        beside.write_bytes(whole.getvalue())


def load_pipeline(
    path: str | Path,
    index: Index,
    *,
    functions: Iterable[Callable[[Candidates], ArrayLike]] = (),
    encoders: Mapping[str, Callable[[str], ArrayLike]] | None = None,
    history: ClickHistory | None = None,
    exact: bool = False,
) -> Pipeline:
    """The pipeline in a file, over an index with the same fields.

    Features of your own (`functions`), `encoders` and the `history` of clicks are code and data beside the
    file: give them again. A feature whose arithmetic has changed since is an error. A newer generation of
    the index is what commits are for; `exact=True` refuses it, for scores equal to the last bit.
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no pipeline file {source}")
    try:
        with zipfile.ZipFile(source) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        about = json.loads(members["manifest.json"])
        stages, told = about["stages"], about["parts"]
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{source} is damaged or not a saved pipeline ({error}); save it again") from error
    if about["format"] != FORMAT:
        raise ValueError(f"{source} has format {about['format']}, this version reads {FORMAT}; save it again")
    own = {one.__name__: one for one in functions}
    search = Pipeline(
        tuple(_restored(stage, index, members, own, dict(encoders or {}), history) for stage in stages)
    )
    now = _parts(search)
    for part, message in {
        "fields": "the index has other fields or another analyser than the one the pipeline was fitted on",
        "features": "the features are no longer computed as they were when the model was fitted",
    }.items():
        if now[part] != told[part]:
            raise ValueError(f"{source} does not fit: {message}; fit and save it again")
    if exact and now != told:
        raise ValueError(
            f"{source} was saved over another generation of the index; fit and save it again, "
            "or load with exact=False"
        )
    return search


def _parts(search: Pipeline) -> dict[str, str]:
    """Hashes of what a score depends on."""
    from rankloop.rankers.saving.load import dumps  # scikit-learn is slow to load, and not needed to search

    source = search.stages[0]
    if not isinstance(source, Retriever):
        raise ValueError(f"a pipeline is known by its index; start it with index.retriever(), not {source!r}")
    snapshot = source.index.snapshot
    manifest = snapshot.manifest
    fields = {name: field.to_dict() for name, field in manifest.fields.items()}
    return {
        "fields": _hash([fields, manifest.analyser.to_dict()]),
        "index": _hash(_contents(snapshot)),
        "features": search.features.version,
        "model": hashlib.blake2b(dumps(search._learned().ranker), digest_size=16).hexdigest(),
    }


def _contents(snapshot: Snapshot) -> list[Any]:
    """What tells one generation of one index from all others, without reading all of it."""
    return [
        snapshot.manifest.generation,
        [
            [part.digest, segment.name, segment.documents, segment.deleted.tolist()]
            for part, segment in zip(snapshot.manifest.parts, snapshot.segments, strict=True)
        ],
        [segment.total_lengths.tolist() for segment in snapshot.segments],
        [str(id) for id in snapshot.ids([0, snapshot.rows - 1])] if snapshot.rows else [],
    ]


def _saved(stage: StageLike, at: int, members: dict[str, bytes]) -> dict[str, Any]:
    from rankloop.rankers.saving.load import dumps

    if isinstance(stage, Retriever):
        options = {name: getattr(stage, name) for name in _OPTIONS}
        model = {"class": type(stage.model).__name__, **asdict(stage.model)}
        return {"retriever": options, "model": model, "vectors": list(stage.vectors or {})}
    if isinstance(stage, Features):
        return {"features": stage.names, "own": [one.__name__ for one in stage.declared if callable(one)]}
    if isinstance(stage, Ranked):
        members[f"model-{at}.zip"] = dumps(stage.ranker)
        return {"ranker": f"model-{at}.zip"}
    if isinstance(stage, collapse):
        return {"collapse": stage.threshold}
    if isinstance(stage, first):
        return {"first": stage.n}
    raise ValueError(
        f"{stage!r} cannot be saved: a file holds a retriever, features, a ranker, collapse() and first(n); "
        "join the rest after loading"
    )


def _restored(
    saved: Mapping[str, Any],
    index: Index,
    members: Mapping[str, bytes],
    own: Mapping[str, Callable[[Candidates], ArrayLike]],
    encoders: dict[str, Callable[[str], ArrayLike]],
    history: ClickHistory | None,
) -> StageLike:
    from rankloop.rankers.saving.load import loads

    if "retriever" in saved:
        model = dict(saved["model"])
        kind = _MODELS[one_of("model", model.pop("class"), _MODELS)]
        vectors = {name: encoders.get(name) for name in saved["vectors"]} or None
        return index.retriever(**saved["retriever"], model=kind(**model), vectors=vectors)
    if "features" in saved:
        missing = [name for name in saved["own"] if name not in own]
        if missing:
            raise ValueError(f"the pipeline has a feature of your own: load it with functions=[{missing[0]}]")
        declared = [own[name] if name in saved["own"] else name for name in saved["features"]]
        return Features(declared, encoders=encoders, history=history)
    if "ranker" in saved:
        return Ranked(loads(members[saved["ranker"]]))
    if "collapse" in saved:
        return collapse(saved["collapse"])
    return first(saved["first"])


def _plain(wanted: Any) -> Any:
    """The values of a filter that JSON has no word for."""
    if isinstance(wanted, date):
        return wanted.isoformat()
    if isinstance(wanted, set | frozenset):
        return sorted(wanted)
    if isinstance(wanted, np.generic):
        return wanted.item()
    raise ValueError(f"the filter value {wanted!r} cannot be saved; give text, numbers or dates")


def _hash(told: Any) -> str:
    return hashlib.blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=16).hexdigest()
