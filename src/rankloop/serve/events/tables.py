"""The tables of the event store: pages, events, versions, experiments, learning runs."""

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

__all__ = [
    "SCHEMA",
    "clicks",
    "events",
    "experiments",
    "feature_sets",
    "forgotten",
    "judgments",
    "learning",
    "metadata",
    "models",
    "page_features",
    "pages",
    "roles",
    "schema_version",
]

SCHEMA = 2
metadata = MetaData()

schema_version = Table("schema_version", metadata, Column("version", Integer, primary_key=True))

pages = Table(
    "pages",
    metadata,
    Column("page_id", Text, primary_key=True),
    Column("time", Double, nullable=False),
    Column("day", Integer, nullable=False),  # whole UTC days since 1970
    Column("query", Text, nullable=False),
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
    Column("document", Text, nullable=False),
    Column("clicked", Double, nullable=False),
    Column("time", Double, nullable=False),  # of the page
    Column("day", Integer, nullable=False),
    Column("query", Text, nullable=False),
    Column("ranker", Text, nullable=False),
    Column("layout", Text, nullable=False),
    Column("experiment", Text),
    Column("bot", Boolean, nullable=False),
    Index("clicks_by_time", "time", "bot", "layout", "ranker", "position"),
    Index("clicks_by_query", "query", "page_id", "time", "bot"),
    Index("clicks_by_experiment", "experiment", "page_id"),
    sqlite_with_rowid=False,
)

# Who was forgotten, and when: pages of theirs that still waited in a spool are not stored.
forgotten = Table(
    "forgotten",
    metadata,
    Column("user", Text, primary_key=True),
    Column("time", Double, nullable=False),
)

judgments = Table(
    "judgments",
    metadata,
    Column("query", Text, primary_key=True),
    Column("document", Text, primary_key=True),
    Column("user", Text, primary_key=True),
    Column("grade", Double, nullable=False),
    Column("time", Double, nullable=False),
)

models = Table(
    "models",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("version", Text, nullable=False, unique=True),
    Column("time", Double, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("lineage", Text, nullable=False),  # JSON
)

roles = Table(
    "roles",
    metadata,
    Column("row", Integer, primary_key=True, autoincrement=False),  # there is one, row 1
    Column("production", Text),
    Column("history", Text, nullable=False),  # JSON list: earlier versions in production, the latest last
    Column("shadow", Text),
    Column("canary", Text),
    Column("share", Double, nullable=False),
    Column("changed", Double, nullable=False),
)

experiments = Table(
    "experiments",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("a", Text, nullable=False),
    Column("b", Text, nullable=False),
    Column("share", Double, nullable=False),
    Column("method", Text, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("started", Double, nullable=False),
    Column("ended", Double),
    Column("note", Text, nullable=False),
)

learning = Table(
    "learning",
    metadata,
    Column("id", Text, primary_key=True),
    Column("started", Double, nullable=False),
    Column("ended", Double),
    Column("state", Text, nullable=False),
    Column("version", Text),
    Column("report", Text),
    Column("record", Text, nullable=False),  # JSON: window, checks, candidates, gate
)
