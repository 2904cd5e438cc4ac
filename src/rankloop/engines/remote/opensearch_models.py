"""Feature sets and models of OpenSearch's learning-to-rank plugin."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop.engines.engine_features import EngineFeatures, declared_names
from rankloop.engines.remote.opensearch_client import OpenSearchClient
from rankloop.engines.requests.opensearch_sltr import (
    feature_set,
    features_request,
    logged_request,
    read_logged,
)
from rankloop.engines.unsupported import Unsupported
from rankloop.search.index.snapshot import Manifest

__all__ = ["OpenSearchModels"]

LARGE = 60.0  # seconds for a model
SET = "rankloop"  # the feature set of features declared by rankloop


class OpenSearchModels:
    """Models of a cluster with the plugin; each has a feature set of its own name.

    `store` names one of the plugin's stores of features and models; the default one has no name.
    """

    store = ""

    def __init__(self, client: OpenSearchClient) -> None:
        self.client = client

    def check(self) -> None:
        """An error that says what is missing if the cluster has no learning to rank."""
        try:
            self.client.call("GET", "/_ltr")
        except (LookupError, ValueError):
            raise Unsupported(
                f"{self.client.address} has no learning to rank; install the plugin "
                "opensearch-learning-to-rank-base on each node, or leave the model in rankloop: rankloop "
                "serve ranks what this engine finds, and POST /rank what you send"
            ) from None

    def names(self, store: str = "") -> list[str]:
        """The names of the models; one that came or went in the last second may be wrong."""
        found = self.client.call("GET", f"{_base(store)}/_model", absent={}, size=1000)
        return [str(one["_source"]["name"]) for one in found.get("hits", {}).get("hits", [])]

    def has(self, name: str, store: str = "") -> bool:
        """Whether there is a model of this name."""
        path = f"{_base(store)}/_model/{quote(name, safe='')}"
        return bool(self.client.call("GET", path, absent={}).get("found"))

    def put(
        self,
        model: Mapping[str, Any],
        names: Sequence[str],
        schema: Manifest,
        *,
        store: str = "",
        lengths: bool = True,
    ) -> None:
        """Put a model and the set of its features into a store, which is made if it is not there."""
        name = str(model["model"]["name"])
        made = feature_set(names, schema, lengths=lengths)
        known = {one["name"] for one in made}
        lacking = [name for name in names if name not in known]
        if lacking:
            raise Unsupported.features(lacking)
        self._make(store)
        of_set = _set(name, store)
        if self.client.call("GET", of_set, absent={}):
            raise ValueError(
                f"{self.client.address} has a feature set {name!r} already; choose another name for the model"
            )
        self.client.call("PUT", of_set, {"featureset": {"features": made}})
        try:
            self.client.call("POST", f"{of_set}/_createmodel", model, timeout=LARGE)
        except ValueError:
            self.client.call("DELETE", of_set)
            raise

    def declare(self, names: Sequence[str], schema: Manifest, *, lengths: bool = True) -> tuple[str, ...]:
        """Put features into the set `rankloop`, which `features` logs; gives those that the plugin computes.

        Those that are in the set already stay there; one that means something else there is an error.
        """
        self.check()
        made = feature_set(names, schema, lengths=lengths)
        self._make("")
        there = {str(one["name"]): one for one in self._declared()}
        for one in made:
            known = there.get(str(one["name"]))
            if known is not None and _template(known) != _template(one):
                raise ValueError(
                    f"{self.client.address} has another feature {one['name']!r} in the set {SET!r}; delete "
                    "that set, or choose another name"
                )
        fresh = [one for one in made if str(one["name"]) not in there]
        if fresh and there:
            self.client.call("POST", f"{_set(SET)}/_addfeatures", {"features": fresh})
        elif fresh:
            self.client.call("PUT", _set(SET), {"featureset": {"features": fresh}})
        return tuple(str(one["name"]) for one in made)

    def features(self, text: str, ids: Sequence[str], names: Sequence[str] | None = None) -> EngineFeatures:
        """Declared features of documents, by default all; nan for documents that are not there.

        The plugin logs BM25 with the idf of the shard, whatever the type of the search.
        """
        declared = [str(one["name"]) for one in self._declared()]
        columns = declared_names(names, declared, f"feature set {SET!r}", "the plugin")
        found = self.client.call("POST", self.client.index("/_search"), features_request(SET, text, ids))
        out = np.full((len(ids), len(columns)), np.nan, np.float32)
        rows = {id: at for at, id in enumerate(ids)}
        at = [rows[str(hit["_id"])] for hit in found["hits"]["hits"]]
        if at:
            out[at] = read_logged(found, columns)
        return EngineFeatures(tuple(ids), columns, out)

    def _declared(self) -> list[Mapping[str, Any]]:
        found = self.client.call("GET", _set(SET), absent={})
        declared: list[Mapping[str, Any]] = found.get("_source", {}).get("featureset", {}).get("features", [])
        return declared

    def _make(self, store: str) -> None:
        """Make a store of features and models, if it is not there."""
        if (store or "_default_") not in self.client.call("GET", "/_ltr")["stores"]:
            self.client.call("PUT", _base(store))

    def remove(self, name: str, store: str = "") -> None:
        """Remove a model and its feature set."""
        base, part = _base(store), quote(name, safe="")
        if not self.has(name, store):
            raise LookupError(f"{self.client.address} has no model {name!r}")
        self.client.call("DELETE", f"{base}/_model/{part}")
        self.client.call("DELETE", f"{base}/_featureset/{part}", absent={})

    def scored(
        self, model: str, text: str, ids: Sequence[str], names: Sequence[str], *, store: str, key: str
    ) -> tuple[Floats, Singles]:
        """The model's score of each document, and the features it comes from."""
        body = logged_request(model, text, ids, store)
        found = self.client.call("POST", self.client.index("/_search"), body)
        scores = [hit["_score"] for hit in found["hits"]["hits"]]
        return np.array(scores, np.float64), read_logged(found, names)


def _template(feature: Mapping[str, Any]) -> Any:
    """The query of a feature; the plugin gives it back as it was given, or as text."""
    found = feature["template"]
    return json.loads(found) if isinstance(found, str) else found


def _set(name: str, store: str = "") -> str:
    return f"{_base(store)}/_featureset/{quote(name, safe='')}"


def _base(store: str) -> str:
    return f"/_ltr/{quote(store, safe='')}" if store else "/_ltr"
