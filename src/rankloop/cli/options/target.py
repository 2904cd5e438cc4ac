"""Where documents go: an index on this machine, or an engine."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankloop.engines import Engine
    from rankloop.search import Analyser, Index

__all__ = ["local_index", "remote_engine"]

Declared = Callable[[], Mapping[str, str]]


@contextmanager
def local_index(
    out: Path, declared: Declared, analyser: "Analyser", id: str, encoder: str | None = None
) -> "Iterator[Index]":
    """The index in a folder; a new one is made beside it, and takes its place if the block succeeds."""
    from rankloop._atomic import replacing_folder
    from rankloop.search import Index

    if (out / "manifest.json").exists():
        index = Index.open(out)
        if encoder and encoder not in [one.made.name for one in index.encoders.values()]:
            raise ValueError(f"{out} was made without the encoder {encoder}; choose another --out")
        with index:
            yield index
        return
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is not an empty folder; choose another --out")
    fields = declared()
    with (
        replacing_folder(out) as folder,
        Index.create(folder, fields, id=id, analyser=analyser, encoder=encoder) as index,
    ):
        yield index


def remote_engine(out: str, declared: Declared, analyser: "Analyser", id: str) -> "Engine":
    """The engine at an address; its index and the local one that the address names are created if absent."""
    from rankloop.engines import OpenSearch, Unsupported
    from rankloop.engines import open as open_engine
    from rankloop.engines.remote.address import Address
    from rankloop.search import Index

    address = Address.parse(out)
    here = Address(address.kind, address.hosts, address.name, {**address.options, "local": ""})
    try:
        there = open_engine(here)
    except FileNotFoundError:
        if address.kind == "solr":
            raise Unsupported(
                f"{address} has no such collection; create it first, as its config set is yours to choose"
            ) from None
        there = OpenSearch.create(here, declared(), analyser=analyser, id=id)
    if address.local is None:
        return there
    if not (address.local / "manifest.json").exists():
        manifest = there.snapshot.manifest
        Index.create(address.local, there.fields, id=manifest.id_field, analyser=manifest.analyser)
    return open_engine(out)
