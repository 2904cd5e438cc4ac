"""Feature sets and models of OpenSearch's learning-to-rank plugin."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop.engines.remote.opensearch_client import OpenSearchClient
from rankloop.engines.requests.opensearch_sltr import feature_set, logged_request, read_logged
from rankloop.engines.unsupported import Unsupported
from rankloop.search.index.snapshot import Manifest

__all__ = ["OpenSearchModels"]

LARGE = 60.0  # seconds for a model


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
        name, base = str(model["model"]["name"]), _base(store)
        made = feature_set(names, schema, lengths=lengths)
        known = {one["name"] for one in made}
        lacking = [name for name in names if name not in known]
        if lacking:
            raise Unsupported.features(lacking)
        stores = self.client.call("GET", "/_ltr")["stores"]
        if (store or "_default_") not in stores:
            self.client.call("PUT", base)
        of_set = f"{base}/_featureset/{quote(name, safe='')}"
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


def _base(store: str) -> str:
    return f"/_ltr/{quote(store, safe='')}" if store else "/_ltr"
