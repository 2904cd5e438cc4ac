"""All documents of an index of OpenSearch, page by page."""

from collections.abc import Iterator
from typing import Any

from rankloop.engines.remote.opensearch_client import OpenSearchClient

__all__ = ["every_document"]

PAGE = 1000
KEPT = "2m"  # how long the engine holds its place between two pages


def every_document(client: OpenSearchClient) -> Iterator[dict[str, Any]]:
    """The documents of the address as they are now; what is added meanwhile is not seen."""
    body = {"size": PAGE, "sort": ["_doc"], "query": {"match_all": {}}}
    found = client.call("POST", client.index("/_search"), body, scroll=KEPT)
    try:
        while found["hits"]["hits"]:
            yield from (hit["_source"] for hit in found["hits"]["hits"])
            found = client.call("POST", "/_search/scroll", {"scroll": KEPT, "scroll_id": found["_scroll_id"]})
    finally:
        client.call("DELETE", "/_search/scroll", {"scroll_id": found["_scroll_id"]}, absent={})
