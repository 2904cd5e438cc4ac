"""A pipeline in one file: retriever settings, features, the model, and hashes of what it was fitted on."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop import _archive
from rankloop._names import one_of
from rankloop.search.bm25 import BM25
from rankloop.search.bm25f import BM25F
from rankloop.search.candidates import Candidates
from rankloop.search.collapse import collapse
from rankloop.search.diversify import diversify
from rankloop.search.features.click_history import ClickHistory
from rankloop.search.features.features import Features
from rankloop.search.first import first
from rankloop.search.hybrid_weights import HybridWeights
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.late_interaction import LateInteraction
from rankloop.search.pipeline import Pipeline
from rankloop.search.ranked import Ranked
from rankloop.search.remembered import Remembered
from rankloop.search.rerank import rerank
from rankloop.search.retriever import Retriever
from rankloop.search.rm3 import rm3
from rankloop.search.searchable import Searchable
from rankloop.search.stage import StageLike

if TYPE_CHECKING:
    from rankloop.rankers import Ranker

__all__ = ["fingerprint", "load_pipeline", "save", "saved_ranker"]

_KIND = "pipeline"
_MODELS = {"BM25": BM25, "BM25F": BM25F}
_OPTIONS = ("k", "match", "typos", "filters", "fusion", "weights", "words", "clauses", "expansions", "sort")


def fingerprint(search: Pipeline) -> str:
    """A hash of the index generation, the feature set and the model."""
    return _hash(_parts(search))


def save(search: Pipeline, path: str | Path) -> None:
    """Write the pipeline to `path`, whole or not at all. The index stays where it is."""
    members: dict[str, _archive.Member] = {}
    stages = [_saved(stage, at, members) for at, stage in enumerate(search.stages)]
    _archive.write(path, _KIND, {"stages": stages, "parts": _parts(search)}, members)


def load_pipeline(
    path: str | Path,
    index: Searchable,
    *,
    functions: Iterable[Callable[[Candidates], ArrayLike]] = (),
    encoders: Mapping[str, Callable[[str], ArrayLike]] | None = None,
    history: ClickHistory | None = None,
    exact: bool = False,
    largest: int | None = None,
) -> Pipeline:
    """The pipeline in a file, over an index with the same fields.

    Features of your own (`functions`), `encoders` and the `history` of clicks are not in the file: give them
    again. A feature whose arithmetic has changed since is an error. The index may have newer commits;
    `exact=True` refuses them, for scores equal to the last bit. A file that unpacks to more than `largest`
    bytes is refused, by default 200 times its size or 64 MB.
    """
    own, given = {one.__name__: one for one in functions}, dict(encoders or {})
    with _archive.at_most(largest):
        about, members = _archive.read(
            path, _KIND, again="fit and save the pipeline again, or name the file of one"
        )
        stages = tuple(_restored(one, index, members, own, given, history) for one in about["stages"])
    search = Pipeline(stages)
    now, saved = _parts(search), about["parts"]
    for part, message in {
        "fields": "the index has other fields or another analyser than the one the pipeline was fitted on",
        "features": "the features are no longer computed as they were when the model was fitted",
    }.items():
        if now[part] != saved[part]:
            raise ValueError(f"{path} does not fit: {message}; fit and save it again")
    if exact and now != saved:
        raise ValueError(
            f"{path} was saved over another generation of the index; fit and save it again, "
            "or load with exact=False"
        )
    return search


def saved_ranker(path: str | Path) -> "Ranker":
    """The ranker by features of a saved pipeline, without an index: for an engine that has the features."""
    from rankloop.rankers.saving.load import loads

    about, members = _archive.read(
        path, _KIND, again="fit and save the pipeline again, or name the file of one"
    )
    names = [one["ranker"] for one in about["stages"] if "ranker" in one]
    if len(names) != 1:
        raise ValueError(f"{path} holds {len(names)} rankers by features; one is needed")
    model = members[names[0]]
    assert isinstance(model, bytes)
    return loads(model)


def _parts(search: Pipeline) -> dict[str, str]:
    """Hashes of all that a score depends on."""
    from rankloop.rankers.saving.load import dumps  # scikit-learn is slow to load, and not needed to search

    source = search.stages[0]
    feedback = [{"class": "rm3", **source.settings}] if isinstance(source, rm3) else []
    if isinstance(source, rm3):
        source = source.retriever
    if not isinstance(source, Retriever):
        raise ValueError(f"a saved pipeline starts with index.retriever() or rm3(), got {source!r}")
    rankers = [stage.ranker for stage in search.stages if isinstance(stage, Ranked)]
    others = [stage.fingerprint for stage in search.stages if isinstance(stage, LateInteraction)]
    others += [_digest(stage.to_bytes()) for stage in search.stages if isinstance(stage, HybridWeights)]
    others += [_hash(one) for one in feedback]
    remembered = [_digest(stage.to_bytes()) for stage in search.stages if isinstance(stage, Remembered)]
    by_text = isinstance(search._ranked, rerank) if len(rankers) == 1 else bool(others) and not rankers
    snapshot = source.index.snapshot
    manifest = snapshot.manifest
    fields = {name: field.to_dict() for name, field in manifest.fields.items()}
    return {
        "fields": _hash([fields, manifest.analyser.to_dict()]),
        "index": _hash(_contents(snapshot)),
        "features": "" if by_text else search.features.version,
        "model": _digest(
            b"".join(map(dumps, rankers if others else rankers or [search.ranker]))
            + "".join([*others, *remembered]).encode()
        ),
    }


def _contents(snapshot: Snapshot) -> list[Any]:
    """What identifies one generation of one index, without reading all of it."""
    return [
        snapshot.manifest.generation,
        [
            [part.digest, segment.name, segment.documents, segment.deleted.tolist()]
            for part, segment in zip(snapshot.manifest.parts, snapshot.segments, strict=True)
        ],
        [segment.total_lengths.tolist() for segment in snapshot.segments],
        [str(id) for id in snapshot.ids([0, snapshot.rows - 1])] if snapshot.rows else [],
    ]


def _saved(stage: StageLike, at: int, members: dict[str, _archive.Member]) -> dict[str, Any]:
    from rankloop.rankers.saving.load import dumps

    if isinstance(stage, Retriever):
        options = _as_json({name: getattr(stage, name) for name in _OPTIONS})
        model = {"class": type(stage.model).__name__, **asdict(stage.model)}
        return {"retriever": options, "model": model, "vectors": list(stage.vectors or {})}
    if isinstance(stage, rm3):
        return {"rm3": stage.settings, "over": _saved(stage.retriever, at, members)}
    if isinstance(stage, HybridWeights):
        members[f"hybrid-{at}"] = stage.to_bytes()
        return {"hybrid": f"hybrid-{at}"}
    if isinstance(stage, Remembered):
        members[f"remembered-{at}"] = stage.to_bytes()
        return {"remembered": f"remembered-{at}"}
    if isinstance(stage, Features):
        own = [one.__name__ for one in stage.declared if callable(one)]
        return {"features": stage.names, "own": own, "encoders": sorted(stage.encoders)}
    if isinstance(stage, rerank):
        members[f"model-{at}"] = dumps(stage.ranker)
        return {"rerank": f"model-{at}", "k": stage.k}
    if isinstance(stage, Ranked):
        members[f"model-{at}"] = dumps(stage.ranker)
        return {"ranker": f"model-{at}"}
    if isinstance(stage, LateInteraction):
        members[f"late-{at}"] = stage.to_bytes()
        return {"late": f"late-{at}"}
    if isinstance(stage, collapse):
        return {"collapse": stage.threshold}
    if isinstance(stage, diversify):
        return {"diversify": stage.by, "lambda_": stage.lambda_, "k": stage.k}
    if isinstance(stage, first):
        return {"first": stage.k}
    raise ValueError(
        f"{stage!r} cannot be saved: a file holds a retriever, rm3(), HybridWeights, features, rankers, "
        "Remembered, LateInteraction, collapse(), diversify() and first(k); join the rest after loading"
    )


def _restored(
    saved: Mapping[str, Any],
    index: Searchable,
    members: Mapping[str, _archive.Member],
    own: Mapping[str, Callable[[Candidates], ArrayLike]],
    encoders: dict[str, Callable[[str], ArrayLike]],
    history: ClickHistory | None,
) -> StageLike:
    from rankloop.rankers.saving.load import loads

    if "retriever" in saved:
        scorer = dict(saved["model"])
        kind = _MODELS[one_of("model", scorer.pop("class"), _MODELS)]
        known: dict[str, Callable[[str], ArrayLike]] = {**getattr(index, "encoders", {}), **encoders}
        vectors = {name: known.get(name) for name in saved["vectors"]}
        return index.retriever(**saved["retriever"], model=kind(**scorer), vectors=vectors)
    if "rm3" in saved:
        source = _restored(saved["over"], index, members, own, encoders, history)
        assert isinstance(source, Retriever)
        return rm3(source, **saved["rm3"])
    if "features" in saved:
        missing = [name for name in saved["own"] if name not in own]
        if missing:
            raise ValueError(f"the pipeline has a feature of your own: load it with functions=[{missing[0]}]")
        declared = [own[name] if name in saved["own"] else name for name in saved["features"]]
        theirs = saved.get("encoders", list(encoders))  # others are the retriever's
        used = {name: one for name, one in encoders.items() if name in theirs}
        return Features.over(index, declared, encoders=used, history=history)
    if "ranker" in saved or "rerank" in saved:
        model = members[saved.get("ranker") or saved["rerank"]]
        assert isinstance(model, bytes)
        return Ranked(loads(model)) if "ranker" in saved else rerank(loads(model), k=saved["k"])
    if "late" in saved:
        stored = members[saved["late"]]
        assert isinstance(stored, bytes)
        return LateInteraction.from_bytes(stored)
    if "hybrid" in saved:
        learned = members[saved["hybrid"]]
        assert isinstance(learned, bytes)
        return HybridWeights.from_bytes(learned)
    if "remembered" in saved:
        known_clicks = members[saved["remembered"]]
        assert isinstance(known_clicks, bytes)
        return Remembered.from_bytes(known_clicks)
    if "collapse" in saved:
        return collapse(saved["collapse"])
    if "diversify" in saved:
        return diversify(saved["diversify"], lambda_=saved["lambda_"], k=saved["k"])
    return first(saved["first"])


def _as_json(options: Mapping[str, Any]) -> Any:
    """Options as JSON has them; the values of filters may be dates, sets and numpy numbers."""
    return json.loads(json.dumps(options, default=_plain))


def _plain(wanted: Any) -> Any:
    if isinstance(wanted, date):
        return wanted.isoformat()
    if isinstance(wanted, set | frozenset):
        return sorted(wanted)
    if isinstance(wanted, np.generic):
        return wanted.item()
    raise ValueError(f"the filter value {wanted!r} cannot be saved; give text, numbers or dates")


def _hash(parts: Any) -> str:
    return _digest(json.dumps(parts, sort_keys=True).encode())


def _digest(whole: bytes) -> str:
    return hashlib.blake2b(whole, digest_size=16).hexdigest()
