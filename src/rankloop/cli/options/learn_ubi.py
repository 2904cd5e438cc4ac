"""`rankloop learn opensearch://host:9200/ubi_events`: the log where it is, and the index it is about."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankloop.cli.options.learn_index import Taught, free_folder
from rankloop.cli.options.train_search import SEARCH
from rankloop.cli.options.ubi_log import EVENTS, QUERIES, ubi_log

if TYPE_CHECKING:
    from rankloop.clicks import ClickLog
    from rankloop.engines.remote.address import Address

__all__ = ["documents_of", "is_ubi", "learn_ubi"]

SAMPLE = 50  # documents of the log by which the index is found
K = 10  # results of the pipeline


def is_ubi(source: str) -> bool:
    """Whether a source is the address of UBI's events rather than of documents."""
    from rankloop.engines.remote.address import Address, is_address

    return is_address(source) and Address.parse(source).name.endswith(EVENTS)


def learn_ubi(
    source: str,
    out: Path | None,
    missing: str,
    as_json: bool,
    report: Path | None,
    on_error: str | None,
    **options: Any,
) -> None:
    """Describe what was shown by the features of its index, learn from the clicks, and save the pipeline."""
    from rankloop.engines import open as open_engine
    from rankloop.engines.remote.address import Address
    from rankloop.search import Features

    events = Address.parse(source)
    target = free_folder(out, events.name)
    log = ubi_log(source, on_error)
    about = documents_of(events, log)
    engine = open_engine(_written(about))
    taught = Taught(engine.retriever(), Features.standard(engine), K, target, missing, report, options)
    taught.learn(log, {"log": source, "documents": str(about)}, as_json, over=f" over {about}")
    if not as_json:
        typer.echo(f"written to {target}; try it: rankloop search {about} WORDS --pipeline {target / SEARCH}")


def documents_of(events: "Address", log: "ClickLog") -> "Address":
    """The index that has the documents of a log: `documents=` of the address, or the one that holds them.

    Where no index or several have them, that is an error that says what to add to the address.
    """
    from rankloop.engines.remote.opensearch_client import OpenSearchClient

    plain = {name: value for name, value in events.options.items() if name != "documents"}
    named = events.options.get("documents")
    if named:
        return replace(events, name=named, options=plain)
    some = list(dict.fromkeys(map(str, log.document.tolist())))[:SAMPLE]
    where = f"*,-.*,-*{EVENTS},-*{QUERIES}"
    body = {
        "size": 0,
        "query": {"ids": {"values": some}},
        "aggs": {"by": {"terms": {"field": "_index", "size": 10}}},
    }
    found = OpenSearchClient(events).call("POST", f"/{where}/_search", body, ignore_unavailable="true")
    counts = {
        one["key"]: one["doc_count"] for one in found.get("aggregations", {}).get("by", {}).get("buckets", [])
    }
    most = max(counts.values(), default=0)
    best = [name for name, count in counts.items() if count == most]
    advice = f"name it, as in {events}?documents=shop"
    if 2 * most < len(some):
        raise ValueError(
            f"no index of {events} has the documents of the log by their _id ({some[0]!r}, for instance); "
            f"{advice}"
        )
    if len(best) > 1:
        raise ValueError(f"the documents of the log are in {' and in '.join(sorted(best))}; {advice}")
    return replace(events, name=best[0], options=plain)


def _written(address: "Address") -> str:
    """An address with its options, as a text."""
    from urllib.parse import urlencode

    return f"{address}?{urlencode(address.options)}" if address.options else str(address)
