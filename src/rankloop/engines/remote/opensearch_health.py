"""How an OpenSearch cluster says it is."""

from collections.abc import Iterable
from urllib.parse import quote

from rankloop.engines.health import Health
from rankloop.engines.remote.opensearch_client import OpenSearchClient

__all__ = ["health_of"]


def health_of(client: OpenSearchClient, documents: int, troubles: Iterable[str | None]) -> Health:
    """The cluster's colour, release and nodes, with troubles known already (None for none)."""
    about = client.call("GET", "/")
    cluster = client.call("GET", f"/_cluster/health/{quote(client.address.name, safe='')}")
    version = about.get("version", {})
    known = [one for one in troubles if one]
    if cluster["status"] != "green":
        missing = cluster["unassigned_shards"] + cluster["initializing_shards"]
        known.append(f"{client.address} is {cluster['status']}: {missing} copies of shards are not there")
    name = f"{version.get('distribution', 'elasticsearch')} {version.get('number', '')}"
    return Health(cluster["status"], name, documents, cluster["number_of_nodes"], tuple(known))
