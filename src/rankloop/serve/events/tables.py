"""The tables of the event store: pages, events, judgments, versions, experiments, learning runs, people."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Boolean, Column, Double, Index, Integer, LargeBinary, MetaData, Table, Text

__all__ = [
    "SCHEMA",
    "acts",
    "clicks",
    "ended_logins",
    "events",
    "experiments",
    "feature_sets",
    "following_pages",
    "forgotten",
    "forgotten_pages",
    "interventions",
    "judgments",
    "keyed_requests",
    "learning",
    "metadata",
    "models",
    "page_features",
    "pages",
    "query_sets",
    "required",
    "roles",
    "schema_version",
    "shared_files",
    "signing_key",
    "snapshots",
    "users",
]

SCHEMA = 6
metadata = MetaData()


def required(kind: type[Any], *names: str) -> Iterator[Column[Any]]:
    """Columns of one type that are never null."""
    return (Column(name, kind, nullable=False) for name in names)


schema_version = Table("schema_version", metadata, Column("version", Integer, primary_key=True))

pages = Table(
    "pages",
    metadata,
    Column("page_id", Text, primary_key=True),
    Column("time", Double, nullable=False),
    Column("day", Integer, nullable=False),  # whole UTC days since 1970
    Column("query", Text, nullable=False),  # as it was understood and ranked by
    Column("user", Text),
    Column("ranker", Text, nullable=False),
    Column("layout", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("experiment", Text),
    Column("randomness", Text),  # JSON: what was drawn at random
    Column("generation", Integer, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("features", Text, nullable=False),  # the key of a feature set
    Column("documents", Text, nullable=False),  # JSON list, from the top
    Column("scores", LargeBinary, nullable=False),  # float64, one per document
    Column("shown", Integer, nullable=False),
    Column("found", Integer, nullable=False),
    Column("stages", Text, nullable=False),  # JSON: seconds by stage
    Column("seconds", Double, nullable=False),
    Column("bot", Boolean, nullable=False),
    Column("origin", Text),  # a keyed hash of the address range
    Column("typed", Text),  # the query as it was typed, where that differs
    Index("pages_by_time", "time", "bot", "layout", "ranker", "shown", "day", "seconds"),
    Index("pages_by_query", "query", "time", "bot", "seconds"),
    Index("pages_by_user", "user", "time", "query", "bot"),
    Index("pages_by_experiment", "experiment", "time"),
)

page_features = Table(
    "page_features",
    metadata,
    Column("page_id", Text, primary_key=True),
    Column("time", Double, nullable=False, index=True),
    Column("matrix", LargeBinary, nullable=False),  # float32, documents x names of the feature set
)

# Results from a lower rank on that wait for the page they belong to, or for those between.
following_pages = Table(
    "following_pages",
    metadata,
    Column("page_id", Text, primary_key=True),
    Column("first", Integer, primary_key=True, autoincrement=False),  # the rank of its first document
    Column("shown", Integer, primary_key=True, autoincrement=False),
    Column("time", Double, nullable=False, index=True),
    *required(Text, "query", "ranker"),
    Column("user", Text),
    *required(Text, "features", "documents"),  # as in pages
    *required(LargeBinary, "scores", "matrix"),
)

feature_sets = Table(
    "feature_sets",
    metadata,
    Column("features", Text, primary_key=True),
    Column("names", Text, nullable=False),  # JSON list
)

events = Table(
    "events",
    metadata,
    Column("page_id", Text, primary_key=True),
    Column("event_id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("position", Integer),
    Column("value", Double),
    Column("time", Double, nullable=False, index=True),
    sqlite_with_rowid=False,
)

# The first click on each document of each page, with columns of its page: sums need no join.
clicks = Table(
    "clicks",
    metadata,
    Column("page_id", Text, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    *required(Text, "document"),
    *required(Double, "clicked", "time"),  # of the click, of the page
    *required(Integer, "day"),
    *required(Text, "query", "ranker", "layout"),
    Column("experiment", Text),
    *required(Boolean, "bot"),
    Index("clicks_by_time", "time", "bot", "layout", "ranker", "position"),
    Index("clicks_by_query", "query", "page_id", "time", "bot"),
    Index("clicks_by_experiment", "experiment", "page_id"),
    sqlite_with_rowid=False,
)

# Who was forgotten, and the number of that forgetting: pages of theirs that still waited in a spool are not
# stored, nor events of pages that were deleted.
forgotten = Table(
    "forgotten",
    metadata,
    Column("user", Text, primary_key=True),
    *required(Double, "time"),
    Column("epoch", Integer, nullable=False, server_default="0"),
)

forgotten_pages = Table("forgotten_pages", metadata, Column("page_id", Text, primary_key=True))

ended_logins = Table(
    "ended_logins", metadata, Column("login", Text, primary_key=True), Column("until", Double, nullable=False)
)

# Requests with an Idempotency-Key, and their answers once there are some.
keyed_requests = Table(
    "keyed_requests",
    metadata,
    Column("key", Text, primary_key=True),
    Column("content", Text, nullable=False),  # a hash of what was asked
    Column("time", Double, nullable=False, index=True),
    Column("answer", Text),
)

# Judgments of raters, in order of time: the last one of a rater on a document counts.
judgments = Table(
    "judgments",
    metadata,
    Column("rater", Text, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    *required(Text, "query", "document"),
    Column("grade", Double),  # null: unsure
    *required(Text, "reason", "source"),
    *required(Double, "time"),
    Index("judgments_by_query", "query", "document", "rater", "number"),
)

query_sets = Table(
    "query_sets",
    metadata,
    Column("name", Text, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    *required(Double, "time"),
    *required(Text, "author", "made", "queries"),  # queries is JSON: text, weight, stratum of each
)

# Comparisons that were kept as they were on a day.
snapshots = Table(
    "snapshots",
    metadata,
    Column("id", Text, primary_key=True),
    *required(Double, "time"),
    *required(Text, "author", "title", "content"),  # content is JSON
)

users = Table(
    "users",
    metadata,
    Column("name", Text, primary_key=True),
    *required(Text, "role", "token"),  # the token as a hash
    *required(Double, "time"),
)

# Who changed what, and when; rows are only added.
acts = Table(
    "acts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("time", Double, nullable=False, index=True),
    *required(Text, "who", "act", "detail"),
)

interventions = Table(
    "interventions",
    metadata,
    Column("id", Text, primary_key=True),
    *required(Text, "kind", "pattern", "document"),
    Column("value", Double),  # the rank of a pin, the factor of a boost
    *required(Double, "time", "until"),
    *required(Text, "who", "reason"),
    Column("field", Text, nullable=False, server_default=""),  # a rule for documents by the value of a field
    Column("wanted", Text, nullable=False, server_default=""),
)

models = Table(
    "models",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("version", Text, nullable=False, unique=True),
    *required(Double, "time"),
    *required(Text, "sha256", "lineage"),  # lineage is JSON
)

roles = Table(
    "roles",
    metadata,
    Column("row", Integer, primary_key=True, autoincrement=False),  # there is one, row 1
    Column("production", Text),
    Column("history", Text, nullable=False),  # JSON list: earlier versions in production, the latest last
    Column("shadow", Text),
    Column("canary", Text),
    *required(Double, "share", "changed"),
)

experiments = Table(
    "experiments",
    metadata,
    Column("id", Text, primary_key=True),
    *required(Text, "kind", "a", "b", "method", "note"),
    *required(Integer, "seed"),
    *required(Double, "share", "started"),
    Column("ended", Double),
    Column("planned", Integer),  # people
)

learning = Table(
    "learning",
    metadata,
    Column("id", Text, primary_key=True),
    *required(Double, "started"),
    Column("ended", Double),
    *required(Text, "state", "record"),  # record is JSON: window, checks, candidates, gate
    Column("version", Text),
    Column("report", Text),
)

# What services on several machines share where the database is a server: files of models and reports, and
# the key of signatures (its hash alone where the key is in the environment).
shared_files = Table(
    "shared_files",
    metadata,
    Column("name", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

signing_key = Table(
    "signing_key",
    metadata,
    Column("row", Integer, primary_key=True, autoincrement=False),  # there is one, row 1
    Column("sha256", Text, nullable=False),
    Column("secret", Text),
)
