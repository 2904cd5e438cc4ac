"""An engine by its address."""

from pathlib import Path

from rankloop._names import unknown
from rankloop.engines.embedded import Embedded
from rankloop.engines.engine import Engine
from rankloop.engines.remote.address import PORTS, Address, is_address

__all__ = ["open"]


def open(where: str | Path | Address) -> Engine:
    """The engine at an address, `opensearch://localhost:9200/shop`, or the index in a folder."""
    if not isinstance(where, Address) and not is_address(where):
        kind, scheme, _ = str(where).partition("://")
        if scheme:
            raise unknown("kind of engine", kind, PORTS)
        return Embedded(where)
    address = Address.of(where)
    if address.kind == "solr":
        from rankloop.engines.solr import Solr

        return Solr(address)
    from rankloop.engines.opensearch import OpenSearch

    return OpenSearch(address)
