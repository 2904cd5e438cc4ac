"""The feature and model stores of a Solr collection."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop.engines.remote.solr_client import SolrClient
from rankloop.engines.requests.solr_features import STORE, TEXT, computes, feature_store, read_features
from rankloop.engines.requests.solr_query import ids_query, quoted
from rankloop.engines.unsupported import Unsupported
from rankloop.search.index.snapshot import Manifest

__all__ = ["SolrModels"]

MOST = 1_000_000  # bytes of a model that ZooKeeper holds
WRITING = 60.0  # seconds: each copy of each shard reads all models again
WRAPPER = "org.apache.solr.ltr.model.DefaultWrapperModel"


class SolrModels:
    """Features and models of Solr's learning to rank; the collection is reloaded after each change."""

    store = STORE

    def __init__(self, client: SolrClient) -> None:
        self.client = client
        self._features = client.collection("/schema/feature-store")
        self._models = client.collection("/schema/model-store")

    def check(self) -> None:
        """An error that says what is missing if the collection has no learning to rank."""
        try:
            self.names()
        except LookupError:
            raise Unsupported(
                f"{self.client.address} has no learning to rank; its config set needs the query parser "
                "LTRQParserPlugin and the transformer LTRFeatureLoggerTransformerFactory of solr-ltr, or "
                "leave the model in rankloop: rankloop serve ranks what this engine finds, and POST /rank "
                "what you send"
            ) from None

    def features(self, store: str) -> dict[str, Mapping[str, Any]]:
        """The features of a store by name."""
        found = self.client.call("GET", f"{self._features}/{quote(store, safe='')}")
        return {str(one["name"]): one for one in found.get("features", [])}

    def declare(self, features: Sequence[Mapping[str, Any]]) -> None:
        """Put features into their stores; a name that means something else there is an error."""
        there = {store: self.features(store) for store in {str(one["store"]) for one in features}}
        fresh = []
        for one in features:
            known = there[str(one["store"])].get(str(one["name"]))
            if known is None:
                fresh.append(dict(one))
            elif (known["class"], known.get("params", {})) != (one["class"], one.get("params", {})):
                raise ValueError(
                    f"{self.client.address} has another feature {one['name']!r} in the store "
                    f"{one['store']!r}; choose another store, or delete that one"
                )
        if fresh:
            self.client.call("PUT", self._features, fresh, timeout=WRITING)
            self.reload()

    def names(self, store: str = STORE) -> list[str]:
        """The names of the models; they are one space for all stores."""
        return [str(one["name"]) for one in self.client.call("GET", self._models)["models"]]

    def has(self, name: str, store: str = STORE) -> bool:
        """Whether there is a model of this name, in any store."""
        return name in self.names()

    def deploy(
        self,
        model: Mapping[str, Any],
        features: Sequence[Mapping[str, Any]] = (),
        *,
        resource: str | None = None,
    ) -> str:
        """Put a model and the features it needs into the collection; gives the model's name.

        A model of the same name is an error: pages that it ranked must stay what they were. ZooKeeper
        holds no model above 1 MB: its JSON goes into a folder on each node that the config set names with
        `<lib>`, and `resource` is the name of that file.
        """
        name = str(model["name"])
        if self.has(name):
            raise ValueError(f"{self.client.address} has a model {name!r} already; choose another name")
        size = len(json.dumps(model))
        if size > MOST and resource is None:
            raise ValueError(
                f"model {name!r} has {size:,} bytes, and ZooKeeper holds {MOST:,}: put its JSON as a file on "
                "each node, in a folder that solrconfig.xml names with <lib>, and give resource= its name"
            )
        self.declare(features)
        stored = dict(model)
        if resource is not None:
            stored = {
                "store": model["store"],
                "name": name,
                "class": WRAPPER,
                "params": {"resource": resource},
            }
        self.client.call("PUT", self._models, stored, timeout=WRITING)
        self.reload()
        return name

    def put(
        self,
        model: Mapping[str, Any],
        names: Sequence[str],
        schema: Manifest,
        *,
        store: str = STORE,
        resource: str | None = None,
    ) -> None:
        """Put a model and its features into a store; one of yours that is there is used as it is."""
        there = self.features(store)
        ours = [name for name in names if _is_ours(name, schema)]
        lacking = [name for name in names if name not in ours and name not in there]
        if lacking:
            raise Unsupported.features(lacking)
        self.deploy(model, feature_store(ours, schema, store), resource=resource)

    def scored(
        self, model: str, text: str, ids: Sequence[str], names: Sequence[str], *, store: str, key: str
    ) -> tuple[Floats, Singles]:
        """The model's score of each document, and the features it comes from."""
        words = f"efi.{TEXT}={quoted(text)}"
        body = {
            "query": ids_query(key, list(ids)),
            "limit": len(ids),
            "fields": [key, "score", f"[features store={store} {words}]"],
            "params": {"rq": f"{{!ltr model={quoted(model)} reRankDocs={max(len(ids), 1)} {words}}}"},
        }
        found = self.client.call("POST", self.client.collection("/select"), body)["response"]["docs"]
        shown = [str(one[key]) for one in found]
        scores = np.array([one["score"] for one in found], np.float64)
        return scores, read_features(found, key, shown, names)

    def remove(self, name: str, store: str = STORE) -> None:
        """Remove a model."""
        if not self.has(name):
            raise LookupError(f"{self.client.address} has no model {name!r}")
        self.client.call("DELETE", f"{self._models}/{quote(name, safe='')}", timeout=WRITING)
        self.reload()

    def reload(self) -> None:
        """Reload the collection, without which Solr does not see new features and models."""
        named = {"action": "RELOAD", "name": self.client.address.name}
        self.client.call("GET", "/solr/admin/collections", timeout=WRITING, **named)


def _is_ours(name: str, schema: Manifest) -> bool:
    """Whether a name is one of rankloop's features that Solr computes."""
    try:
        return bool(computes([name], schema))
    except ValueError:
        return False
