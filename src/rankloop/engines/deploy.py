"""A ranker as a model inside an engine, checked there before it is trusted."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Singles
from rankloop.engines.engine import Engine
from rankloop.engines.engine_away import EngineAway
from rankloop.engines.open import open as open_engine
from rankloop.engines.opensearch import OpenSearch
from rankloop.engines.solr import Solr
from rankloop.engines.unsupported import Unsupported

__all__ = ["Deployed", "deploy"]

SAMPLED = 5  # queries made of one of the engine's documents
DOCUMENTS = 50  # of each query


class Scorer(Protocol):
    """A ranker, as far as its scores go."""

    def predict(self, X: Any) -> Any: ...


class Deployed(NamedTuple):
    """A model that is in an engine: where, from which features, and how its scores were checked.

    `difference` is the largest between the engine's scores and ours, as a share of their size.
    """

    name: str
    engine: str
    version: str
    features: tuple[str, ...]
    queries: int
    documents: int
    difference: float

    def __repr__(self) -> str:
        return (
            f"model {self.name!r} is in {self.engine} ({self.version}): {len(self.features)} features; "
            f"{self.documents:,} documents of {self.queries} queries score there as here (largest "
            f"difference {self.difference:.1e} of their size)"
        )

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return self._asdict()


def deploy(
    ranker: Scorer,
    to: Engine | str,
    export: Callable[..., str],
    *,
    name: str,
    store: str | None = None,
    features: Sequence[str] | None = None,
    queries: Iterable[str] = (),
    resource: str | None = None,
    tolerance: float = 1e-5,
) -> Deployed:
    """Put a ranker into OpenSearch or Solr, and remove it again if its scores there differ from those here.

    `export` writes it for the engine: `rankers.to_solr` or `rankers.to_opensearch`. The features, named as in
    the training data, are declared in the feature store, or, with OpenSearch, in a feature set of the model's
    name; one that is in Solr's store already under a name of yours is used as it is, with the query's words
    in `${text}`. The sample is what `queries` find; without them, queries of words of a document there.
    Scores are equal if they differ by at most `tolerance` of their size, a sum in float32.

    A name that is taken is refused. `engine.models.remove(name)` takes a model out again; the ones before it
    are still there. `resource` is for Solr's models above 1 MB, see `SolrModels.deploy`.
    """
    engine = open_engine(to) if isinstance(to, str) else to
    if not isinstance(engine, OpenSearch | Solr):
        raise Unsupported("models go into OpenSearch or Solr; over the embedded index, rankloop serves them")
    _check_name(name)
    engine.models.check()
    place = engine.models.store if store is None else store
    if engine.models.has(name, place):
        raise ValueError(f"{engine.address} has a model {name!r} already; choose another name")
    columns = _columns(ranker, features)
    sample = _sample(engine, [text for text in queries if text.strip()])
    try:
        _put(engine, ranker, export, name, place, columns, resource)
    except EngineAway:
        with suppress(EngineAway, LookupError):  # it may have come in nevertheless
            engine.models.remove(name, place)
        raise
    try:
        difference, documents = _compare(engine, ranker, name, place, columns, sample)
        if difference > tolerance:
            raise ValueError(
                f"{engine.address} gives {name!r} other scores than this ranker: they differ by "
                f"{difference:.1e} of their size, and {tolerance:.1e} is allowed; the model was removed. "
                "Look at the warnings of the export, and at features that are missing there"
            )
    except BaseException:
        engine.models.remove(name, place)
        raise
    version = engine.health().version
    return Deployed(name, str(engine.address), version, tuple(columns), len(sample), documents, difference)


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name):
        raise ValueError(f"a model is named with letters, digits, '_', '.' and '-', got {name!r}")


def _columns(ranker: Scorer, features: Sequence[str] | None) -> list[str]:
    given: Any = getattr(ranker, "feature_names_in_", None) if features is None else features
    if given is None:
        raise ValueError(
            "this ranker was trained without names of features; give them: features=[...] (--features FILE)"
        )
    return [str(one) for one in given]


def _put(
    engine: OpenSearch | Solr,
    ranker: Scorer,
    export: Callable[..., str],
    name: str,
    store: str,
    columns: list[str],
    resource: str | None,
) -> None:
    of_store = {"store": store} if isinstance(engine, Solr) else {}
    model: Mapping[str, Any] = json.loads(export(ranker, name=name, features=columns, **of_store))
    try:
        if isinstance(engine, Solr):
            engine.models.put(model, columns, engine.schema, store=store, resource=resource)
        elif resource is not None:
            raise ValueError("OpenSearch takes models of any size; leave resource out")
        else:
            engine.models.put(model, columns, engine.schema, store=store, lengths=engine.lengths)
    except Unsupported:
        raise
    except ValueError as error:
        if not str(error).startswith(str(engine.address)) or " already" in str(error):
            raise
        raise ValueError(
            f"{error} ({engine.health().version} refused the model); if it does not know where missing "
            "values go, and none is ever missing, export with complete=True (--complete)"
        ) from None


def _sample(engine: OpenSearch | Solr, queries: list[str]) -> list[tuple[str, list[str]]]:
    """Queries with the documents that they find."""
    sample = []
    for text in queries or _queries(engine):
        ids = engine.retrieve(text, DOCUMENTS).ids
        if ids:
            sample.append((text, list(ids)))
    if not sample:
        raise ValueError(
            f"{engine.address} finds nothing to compare scores on; add documents, or give queries that find "
            "some"
        )
    return sample


def _queries(engine: OpenSearch | Solr) -> list[str]:
    """Pairs of words of one of the documents."""
    texts = [name for name, field in engine.fields.items() if field.kind == "text"]
    one = engine.any_document() or {}
    words = re.findall(r"\w+", " ".join(str(one.get(name, "")) for name in texts))
    return list(dict.fromkeys(map(" ".join, pairwise(words))))[:SAMPLED]


def _compare(
    engine: OpenSearch | Solr,
    ranker: Scorer,
    name: str,
    store: str,
    columns: list[str],
    sample: list[tuple[str, list[str]]],
) -> tuple[float, int]:
    """The largest difference of scores as a share of their size, and the number of documents.

    Both score the features that the engine logs. A constant that all scores share does not count.
    """
    scores: list[Floats] = []
    logged: list[Singles] = []
    for text, ids in sample:
        theirs, values = engine.models.scored(
            name, text, ids, columns, store=store, key=engine.schema.id_field
        )
        scores.append(theirs)
        logged.append(values)
    theirs = np.concatenate(scores)
    ours = _predicted(ranker, np.concatenate(logged))
    if len(theirs) > 1 and np.ptp(ours) == 0:
        raise ValueError(
            f"all {len(ours)} documents of the sample have the same score, which checks nothing; give "
            "queries whose documents differ (--queries FILE)"
        )
    gap = theirs - ours
    size = max(float(np.ptp(ours)), float(np.abs(theirs).max()), float(np.finfo(np.float32).tiny))
    return float(np.abs(gap - np.median(gap)).max()) / size, len(theirs)


def _predicted(ranker: Scorer, values: ArrayLike) -> Floats:
    return np.asarray(ranker.predict(values), np.float64)
