"""The feature and model stores of a Solr collection."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from rankloop.engines.remote.solr_client import SolrClient

__all__ = ["SolrModels"]

MOST = 1_000_000  # bytes of a model that ZooKeeper holds
WRAPPER = "org.apache.solr.ltr.model.DefaultWrapperModel"


class SolrModels:
    """Features and models of Solr's learning to rank; the collection is reloaded after each change."""

    def __init__(self, client: SolrClient) -> None:
        self.client = client
        self._features = client.collection("/schema/feature-store")
        self._models = client.collection("/schema/model-store")

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
            self.client.call("PUT", self._features, fresh)
            self.reload()

    def names(self) -> list[str]:
        """The names of the models."""
        return [str(one["name"]) for one in self.client.call("GET", self._models)["models"]]

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
        if name in self.names():
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
        self.client.call("PUT", self._models, stored)
        self.reload()
        return name

    def remove(self, name: str) -> None:
        """Remove a model."""
        self.client.call("DELETE", f"{self._models}/{quote(name, safe='')}")
        self.reload()

    def reload(self) -> None:
        """Reload the collection, without which Solr does not see new features and models."""
        self.client.call("GET", "/solr/admin/collections", action="RELOAD", name=self.client.address.name)
