"""The click log that User Behavior Insights keeps, in OpenSearch or in files."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.cli.options.logs import asked, report_skipped

if TYPE_CHECKING:
    from rankloop.clicks import ClickLog

__all__ = ["ubi_files", "ubi_log"]

EVENTS, QUERIES = "ubi_events", "ubi_queries"


def ubi_log(address: str, on_error: str | None = None) -> "ClickLog":
    """The log of `opensearch://host:9200/ubi_events`, with the queries in `ubi_queries` beside it."""
    from rankloop.clicks import read_ubi
    from rankloop.engines.remote.address import Address
    from rankloop.engines.remote.opensearch_client import OpenSearchClient
    from rankloop.engines.remote.opensearch_scroll import every_document

    events = Address.parse(address)
    if events.kind == "solr" or not events.name.endswith(EVENTS):
        raise ValueError(
            f"a log in an engine is its index of UBI events, as in opensearch://host:9200/{EVENTS}, got "
            f"{address}"
        )
    queries = replace(events, name=events.name.removesuffix(EVENTS) + QUERIES)
    skipped: Counter[str] = Counter()
    try:
        log = read_ubi(
            every_document(OpenSearchClient(queries)),
            every_document(OpenSearchClient(events)),
            on_error=asked(on_error, default="skip"),
            skipped=skipped,
        )
    except LookupError as error:
        raise ValueError(f"{error}; UBI keeps its log in {queries.name} and {events.name}") from None
    report_skipped(skipped, address)
    return log


def ubi_files(folder: Path, on_error: str | None = None) -> "ClickLog":
    """The log in a folder with a file of queries and one of events, as the service keeps them in `ubi`."""
    from rankloop.clicks import read_ubi

    if not folder.is_dir():
        raise ValueError(f"a log in the format ubi is a folder with ubi_queries and ubi_events, got {folder}")
    skipped: Counter[str] = Counter()
    files = _only(folder, "queries"), _only(folder, "events")
    log = read_ubi(*files, on_error=asked(on_error, default="skip"), skipped=skipped)
    report_skipped(skipped, folder)
    return log


def _only(folder: Path, what: str) -> Path:
    """The one file whose name, up to its endings, ends in `queries` or `events`."""
    found = [
        one for one in sorted(folder.iterdir()) if one.is_file() and one.name.split(".")[0].endswith(what)
    ]
    if len(found) != 1:
        raise ValueError(
            f"{folder} has {len(found)} files of {what}; a log in the format ubi has one, such as "
            f"ubi_{what}.jsonl"
        )
    return found[0]
